package main

// soaked is what runs: all collectives, checkpoints and errors that are caught, over and over, for so many seconds.
// Which round is the last rank 0 says.
const soaked = `
n, me = world_size(), rank()
start = time()
evens = new_group(list(range(0, n, 2)))
ring = [(r, (r + 1) %% n) for r in range(n)]
mesh = init_device_mesh("cpu", (n,))
m = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
replicate(m, mesh)
opt = optim.Adam(m.parameters(), lr=0.01)
rounds = 0

def collectives(size):
    x = ones(size) * (me + 1)
    total = n * (n + 1) / 2
    assert.eq(all_reduce(x)[0].item(), total)
    assert.eq(all_reduce(x, exact=True)[0].item(), total)
    assert.eq(all_reduce(x, op="max")[-1].item(), n)
    assert.eq(all_gather(x).shape[0], n * size)
    assert.eq(broadcast(x, src=n - 1)[0].item(), n)
    scatter(ones(n * size), src=0)
    gather(x, dst=0)
    all_to_all(ones(n * size), 0, 0)
    reduce_scatter(ones(n * size))
    assert.eq(collective_permute(x, ring)[0].item(), (me - 1) %% n + 1)
    send(x, (me + 1) %% n)
    assert.eq(recv((me - 1) %% n)[0].item(), (me - 1) %% n + 1)
    late, work = all_reduce(x, async_op=True)
    barrier()
    work.wait()
    if me %% 2 == 0:
        all_reduce(x, group=evens)

def objects():
    assert.eq(all_gather_object({"rank": me})[-1]["rank"], n - 1)
    broadcast_object([1, "two"])

def step():
    opt.zero_grad()
    m(ones(4, 8)).sum().backward()
    opt.step()
    d = distribute_tensor(ones(n, 6), mesh, [Shard(0)])
    (d @ d.T).redistribute(placements=[Replicate()])

def save():
    save_checkpoint("state", {"model": m.state_dict(), "rounds": rounds})
    load_checkpoint("state", {"model": m.state_dict(), "rounds": 0})

def fails():
    assert.true(not attempt(lambda: all_reduce(ones(2 if me == 0 else 3))).ok)
    barrier()
    assert.true(not attempt(lambda: recv((me + 1) %% n, tag=9)).ok)
    barrier()
    assert.true(not attempt(lambda: fail("left out")).ok)
    barrier()

while True:
    for size in [1, 300, 20000, 300000]:
        collectives(size)
    objects()
    step()
    fails()
    if rounds %% 10 == 0:
        save()
    rounds += 1
    if broadcast_object(time() - start > %s):
        break

if me == 0:
    print("soak\trounds\t%%d" %% rounds)
`

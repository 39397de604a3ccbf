package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// kindScripts do with the numbers of ranks whatever a script may. Each is one function,
// of which the plan by kinds must be what it is with each rank by itself; kinds is how
// many kinds there are of 12 ranks, 0 for as many as come out.
var kindScripts = []struct {
	name, text string
	kinds      int
}{
	{"nothing", "all_reduce(ones(4))", 1},
	{"compare", "x = ones(4)\nif rank() == 0:\n    x = x + 1\nall_reduce(x)", 2},
	{"divide", "x = ones(8)\nfor _ in range(2 if rank() // 4 == 1 else 1):\n    x = x * 2\nall_reduce(x)", 2},
	{"modulo", "x = ones(8)\nif rank() % 3 < 2 and not rank() % 2:\n    x = x.exp()\nbarrier()", 2},
	{"only printed", "print('I am', rank(), 'of %d' % world_size(), '%d: %s' % (rank(), 'x'), f'{rank():03d}')\nall_reduce(ones(3))", 1},
	{"as a size", "x = ones(1 + rank() // 5)\nall_reduce(x.sum())", 0},
	{"as an element", "x = ones(3) + rank()\ny = tensor([rank(), 2 * rank()])\nall_reduce(x * y.sum() * float(rank()))", 1},
	{"in a list", "all_reduce(ones(2 if rank() in [1, 5, 7] else 2) * (1 if rank() in [3] else 2))", 0},
	{"lists compared", "x = ones(2)\nif [rank(), 1] == [4, 1]:\n    x = x + 1\nif (rank(), 1) < (2, 0):\n    x = x * 2\nall_reduce(x)", 0},
	{"a key", "d = {i: i % 2 for i in range(world_size())}\nx = ones(1 + d[rank()])\nbarrier()\nx + 1", 2},
	{"membership of a dict", "x = ones(1 if rank() in {2: 0, 3: 0} else 2)\nx + 1\nbarrier()", 0},
	{"an index", "sizes = [1, 1, 2, 2]\nx = ones(sizes[rank() % 4])\nx + 1\nbarrier()", 2},
	{"a bound", "x = ones(len(list(range(9))[:rank() % 2 + 1]))\nx + 1\nbarrier()", 2},
	{"text", "s = '%d' % (rank() % 2)\nx = ones(1 if s == '0' else 2)\ny = x + len(''.join(['a', str(rank() % 2)]))\nbarrier()", 2},
	{"numbers", "n = max(rank() // 6, 0) + abs(-rank() // 12) + int(rank() / 100.0) + min([rank(), 0])\nones(n + 1) + 1\nbarrier()", 0},
	{"a random seed", "x = with_seed(5 + rank(), lambda: randn(4))\nall_reduce(x)\nones(rng_state()['draws'] + 1) + 1", 1},
	{"power", "ones(2 ** (rank() % 2)) + 1\nbarrier()", 2},
	{"a ring", "x = ones(4)\nsend(x, (rank() + 1) % world_size())\nrecv((rank() - 1) % world_size())", 0},
	{"objects", "all = all_gather_object(rank() % 2)\nones(1 + all[0]) + 1", 1},
	{"objects of the first", "x = broadcast_object([1, 2], src = 0)\nones(x[1]) + 1", 1},
	{"groups of a rank", "g = new_group([rank()])\nall_reduce(ones(3), group = g)", 0},
	{"a group of some", "g = new_group([0, 2, 3])\nif g.rank() != None:\n    all_reduce(ones(3 if g.rank() == 0 else 3), group = g)\nbarrier()", 0},
	{"uneven gather", "n = 1 + rank() // 4\nx = all_gather(ones(n, 2), dim = 0)\nx + 1", 0},
	{"roots", "broadcast(ones(5), src = 3)\nreduce(ones(2), dst = 1)\nscatter(ones(world_size()), src = 0)\nx = gather(ones(2), dst = 2)\nif x != None:\n    x + 1", 0},
	{"uneven reduce_scatter", "reduce_scatter(ones(world_size() + 1, 3)) + 1", 3},
	{"permute", "collective_permute(ones(4), [(0, 1), (1, 2)]) + 1", 0},
	{"several exchanged", "xs = [ones(1 + i % 2) for i in range(world_size())]\nfor y in all_to_all(xs, 0, 0):\n    y + 1", 2},
	{"a list that a dict holds", "xs = [rank()]\nd = {}\nd.setdefault('xs', xs)\nxs.append(1)\nones(len(d['xs'])) + 1\nassert.eq(len(d['xs']), 2)", 0},
	{"a list in itself", "xs = [rank()]\nxs.append(xs)\nd = {}\nd.setdefault('xs', xs)\nones(len(xs[1])) + 1\nassert.eq(len(d['xs'][1]), 2)", 0},
	{"a list in itself of what does not vary", "xs = []\nxs.append(xs)\nlist(xs)\nbarrier()", 1},
	{"asynchronous", "y, w = all_reduce(ones(4), async_op = True)\nx = ones(3) + 1\nw.wait()\ny + 1", 1},
}

// meshScripts are scripts of 12 ranks on a mesh of "a", 3, and "b", 4.
var meshScripts = []struct {
	name, text string
	kinds      int
}{
	{"even", "x = distribute_tensor(ones(6, 8), m, [Shard(0), Shard(1)])\n(x @ x.T).redistribute(m, [Replicate(), Replicate()])", 0},
	{"uneven", "x = distribute_tensor(ones(7, 5), m, [Shard(0), Shard(1)])\n(x + 1).redistribute(m, [Replicate(), Shard(0)]).sum().full_tensor()", 0},
	{"another order", "x = distribute_tensor(ones(24, 8), m, [_StridedShard(0, split_factor=4), Shard(0)])\n(x + 1).redistribute(m, [Replicate(), Shard(0)]).sum().full_tensor()\nx.redistribute(m, [Shard(0), Shard(0)])", 0},
	{"another order, uneven", "x = distribute_tensor(ones(31, 5), m, [_StridedShard(0, split_factor=4), Shard(0)])\n(x * 2).redistribute(m, [Shard(0), Shard(1)])\nx.redistribute(m, [Replicate(), Shard(0)]).sum(0).full_tensor()\n(x + distribute_tensor(ones(31, 5), m, [Shard(0), Shard(0)])).full_tensor()", 0},
	{"lines", "all_reduce(ones(3), group = m['a'])\nall_gather(ones(2), group = m['b'])\nall_reduce(ones(2), group = m['a', 'b'].flatten())", 1},
	{"a line of uneven blocks", "x = DTensor.ones((6, 5), m['b'], [Shard(1)])\n(x * 2).full_tensor()", 0},
	{"coordinates", "c = m.get_coordinate()\nones(1 + c[0] // 2) + 1\nif m.get_local_rank('b') == 3:\n    ones(9) + 1\nbarrier()", 4},
	{"a part of what is alike", "x = ones(12).chunk(3)[m.get_local_rank('a')]\nall_reduce(x + 1, group = m['b'])", 1},
	{"a part of what is not", "x = ones(10).chunk(3)[m.get_local_rank('a')]\nall_reduce(x + 1, group = m['b'])", 2},
	{"a partial sum", "x = DTensor.from_local(ones(4), m['b'], [Partial()])\n(x + 1).full_tensor()", 0},
	{"ranks of a group", "if 5 in m['b'].get_group().ranks():\n    ones(3) + 1\nbarrier()", 2},
	{"a smaller mesh", "s = DeviceMesh('cpu', [[0, 1], [2, 3]])\nx = distribute_tensor(ones(4, 4), s, [Shard(0), Shard(1)])\nx + 1\nbarrier()", 0},
	{"one mesh to another", "x = distribute_tensor(ones(12), m['a'], [Shard(0)])\nx.redistribute(m['b'], [Shard(0)]) if hasattr(x, 'nothing') else x + 1", 0},
	{"tensor parallel", "p = parallelize_module(nn.Sequential(nn.Linear(6, 10), nn.ReLU(), nn.Linear(10, 6)), m['b'], {'0': ColwiseParallel(), '2': RowwiseParallel()})\n" +
		"replicate(p, m['a'])\no = optim.Adam(p.parameters(), lr = 0.1)\nfor _ in range(2):\n    p(ones(4, 6)).sum().backward()\n    o.step()\n    o.zero_grad()", 0},
	{"fully sharded", "p = nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 5))\nfully_shard(p, m['a'])\np(ones(4, 5)).sum().backward()", 0},
	{"fully sharded, in halves", "p = nn.Sequential(nn.Linear(5, 7), nn.Linear(7, 5))\nfully_shard(p, m['a'], mp_policy=MixedPrecisionPolicy(bfloat16, output_dtype=float32))\nno_sync(p, lambda: p(ones(4, 5)).sum().backward())\np(ones(4, 5)).sum().backward()", 0},
	{"an embedding", "e = parallelize_module(nn.Embedding(30, 6), m['b'], RowwiseParallel(input_layouts = Replicate()))\ny = e(zeros(4, dtype = int64))\ny + 1", 0},
	{"a slice", "x = distribute_tensor(ones(12, 4), m, [Shard(0), Replicate()])\nx[1] + 1\nx[2:5] + 1", 0},
}

// By kinds a plan of whatever a script does is what it is with each rank by itself.
func TestPlanTellsApart(t *testing.T) {
	run := func(name, text string, want int) {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "x.star")
			if err := os.WriteFile(script, []byte("def main():\n    "+strings.ReplaceAll(text, "\n", "\n    ")+"\n\nmain()\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			each, err := evaluate(context.Background(), question{Script: script, Ranks: 12, Each: true})
			if err != nil {
				t.Fatal(err)
			}
			e := &evaluation{question: question{Script: script, Ranks: 12, Limits: &limits{quiet: true}}}
			if err := e.alone(context.Background()); err != nil {
				t.Errorf("by kinds it fails, and is evaluated rank by rank: %v", err)
			} else if n := len(e.program.Kinds); want != 0 && n != want {
				t.Errorf("got %d kinds, want %d: told apart at %v", n, want, e.program.ToldApart)
			}
			compareKinds(t, script, nil, 12, each)
		})
	}
	for _, s := range kindScripts {
		run(s.name, s.text, s.kinds)
	}
	for _, s := range meshScripts {
		run(s.name, "m = init_device_mesh('cpu', (3, 4), mesh_dim_names = ('a', 'b'))\n"+s.text, s.kinds)
	}
}

// Which elements of a tensor a rank takes tells nobody apart, but how many.
func TestPlanSlices(t *testing.T) {
	for _, c := range []struct {
		text string
		want int // ranks that run, of 12
	}{
		{"y = x.narrow(0, rank(), 2)", 1},
		{"y = x.narrow(0, -13 + rank(), 1 + rank() // 6)", 2},
		{"y = x.select(0, rank())", 1},
		{"y = x.slice(0, rank(), rank() + 3)", 1},
		{"y = x.slice(0, rank() // 6, 11)", 2},
		{"y = x.narrow(rank() % 2, 0, 2)", 2},
		{"y = arange(rank() * 4, rank() * 4 + 4)", 1},
		{"y = arange(4.0 * rank(), dtype = float32)", 12},
		{"y = arange(0, 6, 1 + rank() // 6)", 2},
		{"y = x[rank() : rank() + 3]", 1},
		{"y = x[rank() // 6 :]", 2},
		{"y = x[rank() :: 12]", 2},
		{"y = x[-1 - rank() : -3 - rank() : -1]", 1},
		{"y = x[rank()]", 1},
		{"y = x[rank(), rank() % 4]", 1},
		{"y = x[..., None, rank() % 3 : rank() % 3 + 2]", 1},
		{"y = x[1:, rank() % 3 :]", 3},
		{"y = x.T[:, rank() * 2 : rank() * 2 + 2]", 2},
		{"y = ones(4)['abcdef'[rank() % 2 : 3].count('b') :]", 2},
		{"x.requires_grad_()\nall_reduce(x[rank() : rank() + 2]).sum().backward()\ny = x.grad", 1},
		{"x.requires_grad_()\nall_reduce(x.narrow(0, rank(), 2)).sum().backward()\ny = x.grad", 1},
	} {
		checkRan(t, "x = ones(14, 4)\n"+c.text+"\nall_reduce((y * 2).sum())\n", c.want)
	}
}

// checkRan checks how many of 12 ranks run in a plan of a program, and that it is the plan in which each does.
func checkRan(t *testing.T, text string, want int) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "x.star")
	if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	e := &evaluation{question: question{Script: script, Ranks: 12, Limits: &limits{quiet: true}}}
	if err := e.alone(context.Background()); err != nil || e.ran != want {
		t.Errorf("%s: %d ranks ran, want %d: %v", text, e.ran, want, err)
	}
	each, err := evaluate(context.Background(), question{Script: script, Ranks: 12, Each: true})
	if err != nil {
		t.Fatal(err)
	}
	compareKinds(t, script, nil, 12, each)
}

// Ranks that share a module run once for all, those whose values it has among them.
func TestPlanShares(t *testing.T) {
	for _, c := range []struct {
		text string
		want int // ranks that run, of 12
	}{
		{"replicate(p, m)", 1},
		{"fully_shard(p, m)", 1},
		{"fully_shard(p, init_device_mesh('cpu', (3, 4), mesh_dim_names = ('a', 'b'))['b'])", 1},
		{"pg = ProcessGroup(tp_degree = 4)\nw = ColoTensor(ones(12, 12), ColoTensorSpec(pg, ShardSpec([-1], [4])))\nall_reduce(w.to_local().sum() + pg.tp_local_rank(), group = pg)", 1},
	} {
		checkRan(t, "m = init_device_mesh('cpu', (12,))\np = nn.Linear(12, 24)\n"+c.text+"\np(ones(4, 12)).sum().backward()\no = optim.Adam(p.parameters(), lr = 0.1)\no.step()\n[p.state_dict(), o.state_dict()]\n", c.want)
	}
}

// What a plan says that state_dict moves of a module that is cut unevenly, a run moves.
func TestPlanMovesState(t *testing.T) {
	script := filepath.Join(t.TempDir(), "x.star")
	text := "p = nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7))\nfully_shard(p, init_device_mesh('cpu', (world_size(),)))\nfor v in p.state_dict().values():\n    v + 1\n"
	if err := os.WriteFile(script, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for n := range 5 {
		planAsRun(t, script, nil, n+1)
	}
}

// looking are programs that look at elements where there are some, and go on the same
// whatever they are.
var looking = []string{
	"assert.same_on_all_ranks([ones(3), {'loss': rand(2).sum().item()}])",
	"x = rand(4, 5)\nx[tensor([0, 1]), tensor([2, 3])]\nx[tensor([0, 1]), tensor([2, 3])] = all_reduce(ones(2))",
	"m = init_device_mesh('cpu', (world_size(),))\nsave_checkpoint(tmpdir(), {'w': DTensor.from_local(ones(3), m, [Partial()])})",
	"gradcheck(lambda x: all_reduce(x * x).sum(), rand(3))",
	"q = distribute_tensor(rand(1, 2, 12, 4), init_device_mesh('cpu', (world_size(),)), [Shard(2)]).requires_grad_()\n" +
		"F.scaled_dot_product_attention(q, q, q, is_causal = True).sum().backward()",
}

func TestPlanLooksAtNoElements(t *testing.T) {
	for _, text := range looking {
		script := filepath.Join(t.TempDir(), "x.star")
		if err := os.WriteFile(script, []byte(text+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		planAsRun(t, script, nil, 4)
	}
}

// alone evaluates by kinds, and in no other way.
func (e *evaluation) alone(ctx context.Context) error {
	p, err := readPlanned(e.question)
	if err != nil {
		return err
	}
	return e.byKinds(ctx, p, nil, false)
}

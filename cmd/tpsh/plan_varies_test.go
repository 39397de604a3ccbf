package main

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// varyingScripts do with what differs between ranks what programs do, and run each for as many of 12 ranks
// as it must: n is the number of ranks, r this one's.
var varyingScripts = []struct {
	text string
	want int // ranks that run, of 12
}{
	// Each rank's share of samples.
	{"x = zeros(2)\nfor i in range(r, 3 * n, n):\n    x = x + with_seed(i, lambda: randn(2)) * i\nall_reduce(x)", 1},
	{"x = zeros(2)\nfor i in range(r, 3 * n + 5, n):\n    x = x + i\nall_reduce(x)", 2},
	{"for i in range(2 * r, 2 * r + 2):\n    all_reduce(ones(3) * i)", 1},
	{"for i in range(3 * n - 1 - r, -1, -n):\n    all_reduce(ones(3) * i)", 1},
	{"for i in range(0, 24, 1 + r // 6):\n    ones(3) * i\nbarrier()", 2},
	{"for i in range(r):\n    ones(3) * i\nbarrier()", 12},
	{"d = ones(4 * n, 2)\nfor k, i in enumerate(range(r * 4, r * 4 + 4, 2)):\n    all_reduce(d[i : i + 2]) + k", 1},
	{"own = list(range(r, 3 * n, n))\nall_reduce(tensor(own))\nones(len(own) + own[0] // 6) + 1", 2},
	{"own = range(r, 3 * n, n)\nassert.eq(len(own), 3)\nones(2 if 5 in own else 3) + sum(own) + own[1] + own[-1]\nbarrier()", 2},
	{"own = range(r, 3 * n, n)\nfor i in own[1:]:\n    ones(2) * i\nones(2 if own == range(1, 3 * n, n) else 3) + 1\nbarrier()", 2},
	{"own = [i for i in range(3 * n) if i % n == r]\nall_reduce(ones(len(own)) * own[0])", 1},
	{"own = [i for i in range(3 * n + 2) if i % n == r]\nones(len(own)) + 1\nbarrier()", 2},
	{"lo, hi = 2 * r, 2 * r + 2\nown = [(i, 'x') for i in range(2 * n) if i >= lo and i < hi]\nall_reduce(ones(len(own)) * own[1][0])", 1},
	{"own = [i for i in range(r, 4 * n, n) if i % 2 == 0]\nones(1 + len(own)) + 1\nbarrier()", 0},
	{"x = ones(2 * n).chunk(n)\nfor y in [y for i, y in enumerate(x) if i != r]:\n    y + 1\nbarrier()", 1},
	{"rows = [[i] for i in range(n)]\nown = [row for i, row in enumerate(rows) if i == r]\nown[0].append(1)\nones(len(rows[0])) + 1\nbarrier()", 12},
	// Parts of lists, dicts and texts.
	{"paths = ['s%d' % i for i in range(3 * n)]\nfor k, p in enumerate(paths[r::n]):\n    ones(2) + k\n    print(p)\nbarrier()", 1},
	{"own = list(range(2 * n))[2 * r : 2 * r + 2]\nall_reduce(ones(len(own)) * own[0])", 1},
	{"own = list(range(2 * n + 1))[2 * r : 2 * r + 4]\nones(len(own)) + 1\nbarrier()", 2},
	{"parts = [(i, i + 2) for i in range(0, 2 * n, 2)]\nlo, hi = parts[r]\nall_reduce(ones(2 * n)[lo:hi])", 1},
	{"sizes = [(1, 'a'), (2, 'b')]\nk, name = sizes[r % 2]\nones(k) + len(name)\nbarrier()", 2},
	{"rows = [[1], [2, 3]]\nrow = rows[r // 6]\nrow.append(4)\nones(len(rows[0]) + len(row)) + 1\nbarrier()", 2},
	{"rows = [[r], [r, 3]]\nown = rows[r // 6:]\nown[-1].append(4)\nones(len(rows[1]) + len(own)) + 1\nbarrier()", 12},
	{"xs = [1, 'a']\nones(2 if type(xs[r % 2]) == 'int' else 3) + 1\nbarrier()", 2},
	{"roles = {i: 'ab'[i % 2] for i in range(n)}\nones(2 if roles[r] == 'a' else 3) + 1\nbarrier()", 2},
	{"seeds = {i: 7 * i for i in range(n)}\nall_reduce(with_seed(seeds[r], lambda: randn(3)))", 1},
	{"name = 'rank-{}'.format(r % 4)\ntag = '%s/%03d' % (name, r)\nall_reduce(ones(2) * len(tag))\nones(2 if name[-1] == '3' else 3) + len(name[5:])\nbarrier()", 2},
	{"a = sorted([r, 3])\nones(2 if a[0] == 3 else 3) + sum(a) + max(a)\nif any([r == 1, r == 2]):\n    ones(4) + 1\nbarrier()", 3},
	{"flags = [r < 5]\nok = True in flags\nflags.append(True)\nones(2 if ok else 3) + 1\nbarrier()", 2},
	{"ones(len(json.encode({'r': r})) + len(json.decode('[%d]' % r))) + 1\nbarrier()", 12},
	{"seeds = {i: 7 * i for i in range(n)}\nall_reduce(with_seed(seeds.get(r), lambda: randn(3)))\nones(2) * seeds.get(r + 1, 0)", 1},
	{"lists = {0: [1]}\nown = lists.get(r // 6, [2])\nown.append(r)\nones(len(lists[0]) + len(own)) + 1\nbarrier()", 2},
	{"ranks = [2 * i for i in range(n)]\nones(2) * ranks.index(2 * r)\nones(2 + 'abcabc'.find('abc'[r % 3])) + 1\nbarrier()", 3},
	{"rows = {0: r, 1: 2 * r}\nones(2) * rows.get(r % 2)\nones(2 if [r, 1].index(1) == 1 else 3) + 1\nbarrier()", 0},
	{"some = [0, 2, 5]\nok, no = r in some, r // 2 not in range(0, n, 2)\nsome.append(1)\nones(2 if ok else 3) + 1\nones(2 if no else 3) + 1\nbarrier()", 0},
	{"for i in range(0, n, 4):\n    some = list(range(i, min(i + 4, n)))\n    g = new_group(some)\n    if r in some:\n        all_reduce(ones(3), group = g)\nones(2 if r in {1: 0, 'a': 1} or r in (2, 3.0) else 3) + 1", 0},
	// Parts of tensors.
	{"t = zeros(n)\nt[r] = 1.0\nb = zeros(2 * n, 2)\nb[2 * r : 2 * r + 2] = ones(2, 2)\nb[r, r % 2] = 3.0\nb[2 * r :, 0] = 1.0\nall_reduce(t)", 12},
	{"t = zeros(n)\nt[r] = 1.0\nb = zeros(2 * n, 2)\nb[2 * r : 2 * r + 2] = ones(2, 2)\nb[r, r % 2] = 3.0\nall_reduce(t)", 1},
	{"xs = [0] * n\nxs[r] = 1\nxs[r : r + 1] = [2, 3]\nones(len(xs)) + 1\nbarrier()", 0},
	// Numbers on which nothing hangs but elements.
	{"x = ones(4, 8).tril(r) + ones(4, 8).triu(diagonal = 2 * r - 3)\nall_reduce(x.clamp(r, r + 3).clamp(max = 1.5 * r).roll(r, 1).roll(-r))", 1},
	{"x = arange(4).clamp(min = r / 2)\nall_reduce(x.to(float32))", 2},
	{"x = ones(4, 4).requires_grad_()\n(x.clamp(-r, r).tril(r - 1).roll(r, 0) * F.pad(ones(4, 3), (0, 1), value = r)).sum().backward()\nall_reduce(x.grad)", 1},
	{"m = init_device_mesh('cpu', (n,))\nx = distribute_tensor(ones(2 * n, 4), m, [Shard(0)]).clamp(r, n)\nx.to_local() + r\nbarrier()", 0},
	{"ones(4).tril(r) if r > n else barrier()", 1},
	// Meshes of tensors whose numbers the program has counted or listed.
	{"m = DeviceMesh('cpu', arange(n).reshape(-1, 1), mesh_dim_names = ('a', 'b'))\nx = DTensor.from_local(ones(2, 3), m, [Shard(0), Partial()])\nall_reduce(x.to_local() + m.get_local_rank(0))", 1},
	{"m = DeviceMesh('cpu', tensor([list(range(n - 1, -1, -1))], dtype = int32).T)\nDTensor.from_local(ones(2, 3), m, [Shard(0), Replicate()]).full_tensor()", 1},
	{"m = DeviceMesh('cpu', tensor([r, (r + 1) % n]))\nones(m.size() + arange(r, r + 3).numel()) + 1\nbarrier()", 12},
	{"m = DeviceMesh('cpu', arange(r // 4, r // 4 + 1))\nones(m.size()) + 1\nbarrier()", 0},
	// Where a rank's part of a tensor begins.
	{"m = init_device_mesh('cpu', (n,))\ns, at = compute_local_shape_and_global_offset((2 * n, 3), m, [Shard(0)])\nall_reduce(zeros(s) + arange(at[0], at[0] + s[0]).unsqueeze(1))", 1},
	{"m = init_device_mesh('cpu', (n,))\ns, at = compute_local_shape_and_global_offset((2 * n - 1, 3), m, [Shard(0)])\nones(s) + at[0]\nbarrier()", 2},
	{"m = init_device_mesh('cpu', (n // 2, 2) if n % 2 == 0 else (1, n))\ns, at = compute_local_shape_and_global_offset((3 * n + 1, 5), m, [Shard(0), Shard(1)])\nones(s) + at[0] + at[1]\nbarrier()", 0},
	{"m = DeviceMesh('cpu', [0, 1])\ns, at = compute_local_shape_and_global_offset((4, 3), m, [Shard(0)])\nones(4) + len(s) + (at[0] if at else 0)\nbarrier()", 2},
	{"m = init_device_mesh('cpu', (n // 2, 2) if n % 2 == 0 else (1, n))\nx = distribute_tensor(ones(2 * n, 4), m, [Shard(0), Replicate()])\nones(2) * compute_local_shape_and_global_offset(x.shape, x.device_mesh, x.placements)[1][0]\nbarrier()", 0},
	// Messages to and from members that ranks do not have in common.
	{"x = ones(4)\nsend(x, (r + 1) % n)\nall_reduce(x + recv((r - 1) % n))", 1},
	{"k, out = ones(8, 4), zeros(8, 8)\nfor i in range(n):\n    if i < n - 1:\n        send(k, (r + 1) % n)\n    out = out + k @ k.T\n    if i < n - 1:\n        k = recv((r - 1) % n)\nall_reduce(out)", 1},
	{"u = zeros(6, 4)\nfor _ in range(2):\n    if r > 0:\n        send(u[1], r - 1)\n    if r < n - 1:\n        send(u[-2], r + 1)\n    if r > 0:\n        u[0] = recv(r - 1)\n    if r < n - 1:\n        u[-1] = recv(r + 1)\n    u[1:-1] = (u[:-2] + u[2:]) / 2\nall_reduce(u.sum())", 3},
	{"x = ones(3)\nfor i in range(1, n):\n    send(x, (r + i) % n)\nfor i in range(1, n):\n    x = x + recv((r - i) % n)\nbarrier()", 1},
	{"send(ones(2), (r + 1) % n)\nsend(ones(3), (r - 1) % n)\nones(2) + recv((r - 1) % n).shape[0]\nrecv((r + 1) % n)", 0},
	{"send(ones(2), 0)\nsend(ones(3), r // 2)\nif r == 0:\n    for i in range(n):\n        recv(i) + 1\nfor i in range(2 * r, min(2 * r + 2, n)):\n    if r != 0 or i > 1:\n        recv(i) * 2\nif r == 0:\n    recv(0)\n    if n > 1:\n        recv(1)\nbarrier()", 0},
	{"x, d = ones(4), 1\nfor d in [1, 2]:\n    if n % 4 == 0:\n        send(x, r ^ d, tag = d)\n        x = x + recv(r ^ d, tag = d)\nall_reduce(x)", 1},
	{"x = ones(1 + r // 6)\nsend(x, (r + 1) % n)\nall_reduce(recv((r - 1) % n).sum())", 4},
	{"p = r // 2 * 2 + (1 - r % 2)\nif p < n:\n    if r % 2 == 0:\n        send(ones(5), p)\n    else:\n        recv(p) + 1\nbarrier()", 0},
	{"m = init_device_mesh('cpu', (n // 2, 2) if n % 2 == 0 else (n, 1))\ng, k = m.get_group(0), m.shape[0]\ni = m.get_local_rank(0)\nsend(ones(3), (i + 1) % k, group = g)\nall_reduce(recv((i - 1) % k, group = g) * 2)", 1},
	{"x = ones(4) if r == 0 else recv(r - 1)\nx = x * 2\nif r < n - 1:\n    send(x, r + 1)\nbarrier()", 0},
	{"g = ones(4) if r == n - 1 else recv(r + 1)\nif r > 0:\n    send(g * 2, r - 1)\nbarrier()", 0},
	// Each rank is the root in turn, or some ranks are ends of pairs.
	{"x = ones(5, 2)\nfor i in range(n):\n    x = x + broadcast(x, src = i)", 1},
	{"for i in range(n):\n    broadcast(ones(10001), src = i)\n    scatter(ones(2 * n), src = i) + 1", 1},
	{"m = init_device_mesh('cpu', (n // 2, 2) if n % 2 == 0 else (n, 1))\nfor i in range(m.shape[0]):\n    broadcast(ones(3), src = i, group = m.get_group(0))", 1},
	{"y, w = broadcast(ones(4), src = n - 1, async_op = True)\nones(3) + 1\nw.wait()\ny + 1", 1},
	{"y = collective_permute(ones(4), [(i, i + 1) for i in range(n - 1)])\ncollective_permute(y, [(0, n - 1)]) + 1", 1},
	{"broadcast_object(list(range(5)), src = n - 1)", 1},
	{"for i in range(n):\n    x = broadcast_object({'rank': r, 'all': [r, n]}, src = i)\n    ones(1 + x['rank']) + x['all'][0]", 1},
	{"for i in range(n):\n    if i == r:\n        ones(2) + 1\n    ones(len(broadcast_object('x' * (1 + r), src = i))) + 1", 12},
	{"x = broadcast_object([r, r // 2], src = n - 1)\nif r == 1:\n    ones(2) + 1\ny = broadcast_object('y' * x[0], src = 0)\nones(2 + len(y) + x[1]) + 1", 2},
	{"x = broadcast_object(7 if r == 0 else len)\nbroadcast_object(r if r > 0 else {2: 3}, src = 1)\nones(x) + 1", 2},
	{"m = init_device_mesh('cpu', (n // 2, 2) if n % 2 == 0 else (1, n))\nx = broadcast_object(r, group = m.get_group(1))\nones(1 + x) + 1\nbarrier()", 6},
	{"m = init_device_mesh('cpu', (n // 2, 2) if n % 2 == 0 else (1, n))\nx = broadcast_object('x' * (3 + r // 6), group = m.get_group(0))\nones(len(x)) + 1\nbroadcast_object(r % 2, src = 1, group = m.get_group(1))\nbarrier()", 0},
	{"m = init_device_mesh('cpu', (n // 2, 2) if n % 2 == 0 else (1, n))\nx = broadcast_object('x' * (r // 3), group = m.get_group(1))\nones(1 + len(x)) + 1\nbarrier()", 0},
	// Objects of which each rank has its own.
	{"all = all_gather_object({'rank': r % 8, 'host': 'h%d' % (r // 8)})\nones(1 + all[-1]['rank']) + 1", 1},
	{"all = all_gather_object('rank%d' % r)\nones(len(all[n - 1])) + 1\nall_gather_object([r, 'x' * 300])", 0},
	{"if r > 0:\n    ones(2) + 1\nall = all_gather_object((r % 3, n))\nif r > 1:\n    ones(3) + 1\nones(1 + all[1][0]) + 1", 3},
	{"m = init_device_mesh('cpu', (n // 2, 2) if n % 2 == 0 else (1, n))\nall = all_gather_object(r, group = m.get_group(1))\nones(1 + all[0]) + 1\nbarrier()", 6},
	{"x = [r, [ones(2).sum().item()]]\nall = all_gather_object(x)\nx.append(1)\nones(1 + len(all[0])) + 1", 1},
	// Each rank prints in turn, or does something else.
	{"for i in range(n):\n    if i == r:\n        print(f'{i} of {n}: {r:03d}', '%d/%d' % (r, n), 'x' + str(r))\n        print()\n    barrier()", 1},
	{"loss = all_reduce(ones(3)).sum().item()\nif r == n - 1:\n    print('loss', loss, '{}'.format(r))\nbarrier()", 1},
	{"for step in range(4):\n    loss = all_reduce(ones(3)).sum().item()\n    if r == 0 and step % 2 == 0:\n        print('loss', round(loss, 2), step / 4)\nbarrier()", 1},
	{"for step in range(4):\n    if step % 2 == 0 and r == n - 1 and not step // 2 == 0:\n        print(step, r)\n    barrier()", 1},
	{"for i in range(n):\n    print(i, r) if r == i else None\n    r == i and n > 2 and print(f'{r} of {n}')\nbarrier()", 1},
	{"x = ones(3)\nprint(x + 1) if r == 1 else None\nr == 2 and print(x.sum())\nbarrier()", 3},
	{"print(r) if r == 1 else ones(2) + 1\nbarrier()", 2},
	{"m = init_device_mesh('cpu', (1, n), mesh_dim_names = ('a', 'b'))\nm._flatten('ab')\nall_reduce(ones(2), group = m.get_group('ab'))\nprint(m._unflatten('b', (n, 1), ('c', 'd'))['a', 'c'].shape)", 1},
	{"y = print(r) if r == 1 else 2\nones(3 if y == 2 else 4) + 1\nbarrier()", 2},
	{"if r == 0 and rank() < n // 2 and n > 1:\n    print(r)\nbarrier()", 1},
	{"if r == 1 and all_reduce(ones(2), group = new_group([1])).numel() == 2:\n    print(r)\nbarrier()", 0},
	{"if r == 1:\n    y = 3\nif r == 1 and y == 3:\n    print(y)\nbarrier()", 2},
	{"x = 0 if r == 1 else None\nif r == 1 and x + 1 > 0:\n    print(x)\nbarrier()", 2},
	{"if r > 0 and 12 // r > 4:\n    print(r)\nbarrier()", 2},
	{"x = ones(3)\nif r == 1:\n    print(x + 1)\nif r == 1:\n    print(x.sum())\nbarrier()", 2},
	{"def f(x):\n    return ones(3) + x\nif r == 1:\n    print(str(f(r)))\nbarrier()", 2},
	{"if r == 1:\n    y = 3\nif r == 1:\n    print(y)\nbarrier()", 2},
	{"for i in range(n):\n    if i == r:\n        ones(3) * i\nbarrier()", 12},
	{"for i in range(n):\n    if i == r:\n        ones(3) * i\n    barrier()", 12},
	{"x = ones(3)\nfor i in range(n):\n    y = reduce(x, dst = i)\n    if i == r:\n        mine = y\nmine + 1", 12},
	{"x = ones(3)\nfor i in range(n):\n    x = x + broadcast(x if i == r else zeros(3), src = i)", 12},
	// What members of a group send each other.
	{"ys = all_to_all([ones(1 + (r + i) % 3, 2) for i in range(n)], 0, 0)\nall_to_all([y * 2 for y in ys], 0, 0)", 0},
	{"x = ones(3 * n, 2)\nall_to_all(list(x.split(3)), 0, 0)", 1},
	{"g = init_device_mesh('cpu', (n // 2, 2) if n % 2 == 0 else (1, n))\nk = g.shape[1]\nall_to_all([ones(1 + (i + r // k) % 2) for i in range(k)], 0, 0, group = g.get_group(1))", 0},
}

func TestPlanVaries(t *testing.T) {
	for _, s := range varyingScripts {
		checkVaries(t, s.text, s.want)
	}
}

// commSpecs are steps of a CommSpec c on a mesh of n / 2 and 2, of a tensor x [4, 8].
var commSpecs = []string{
	"GATHER_FWD_SPLIT_BWD, s, gather_dim = 0, logical_process_axis = %s",
	"SPLIT_FWD_GATHER_BWD, s, shard_dim = 1, logical_process_axis = %s",
	"ALL2ALL_FWD_ALL2ALL_BWD, s, gather_dim = 0, shard_dim = 1, logical_process_axis = %s",
	"ALLREDUCE_FWD_IDENTITY_BWD, s, logical_process_axis = %s",
	"IDENTITY_FWD_ALLREDUCE_BWD, s, logical_process_axis = %s",
}

// Ranks that carry out a CommSpec are told apart by nothing but the shapes of their blocks.
func TestPlanCommSpecs(t *testing.T) {
	begin := "m = DeviceMesh('cpu', [[i, i + n // 2] for i in range(n // 2)] if n % 2 == 0 else [list(range(n))])\ns = ShardingSpec(m, (24, 8), {0: [0]})\nx = ones(4, 8).requires_grad_()\n"
	for _, spec := range commSpecs {
		for _, axis := range []string{"1", "0", "[1, 0]"} {
			want := 1
			if strings.HasPrefix(spec, "SPLIT") && axis != "1" {
				want = 0 // eight columns do not divide evenly
			}
			if strings.HasPrefix(spec, "ALL2ALL") && axis != "1" {
				want = 0
			}
			checkVaries(t, begin+"c = CommSpec(CollectiveCommPattern."+strings.ReplaceAll(spec, "%s", axis)+")\nc.get_comm_cost()\ny = c.convert_spec_to_action(x)\n(y * 2).sum().backward()\nx.grad + 1", want)
		}
	}
	checkVaries(t, "m = DeviceMesh('cpu', [list(range(n))])\ns = ShardingSpec(m, (3 * n, 8), {0: [0, 1]})\nx = ones(3, 8).requires_grad_()\nc = CommSpec(CollectiveCommPattern.MIXGATHER_FWD_SPLIT_BWD, s)\n(c.convert_spec_to_action(x) * 2).sum().backward()\nx.grad + 1", 1)
}

// checkVaries checks how many of 12 ranks run in a plan of a program, 0 for as many as come out, and
// on several numbers of ranks that it is the plan in which each does, and moves what a run moves.
func checkVaries(t *testing.T, text string, want int) {
	t.Run(text, func(t *testing.T) {
		script := filepath.Join(t.TempDir(), "x.star")
		whole := "def main():\n    n, r = world_size(), rank()\n    " + strings.ReplaceAll(text, "\n", "\n    ") + "\n\nmain()\n"
		if err := os.WriteFile(script, []byte(whole), 0o666); err != nil {
			t.Fatal(err)
		}
		e := &evaluation{question: question{Script: script, Ranks: 12, Limits: &limits{quiet: true}}}
		if err := e.alone(context.Background()); err != nil || want != 0 && e.ran != want {
			t.Errorf("%d ranks ran, want %d: %v", e.ran, want, err)
		}
		for _, n := range []int{2, 5, 12} {
			planAsRun(t, script, nil, n)
		}
	})
}

// What fails on some ranks alone, which none of a kind has asked for, fails in a plan of kinds, too.
func TestPlanFailsAsRanksDo(t *testing.T) {
	for text, want := range map[string]string{
		"x = 1 // (rank() - 3)":                                                 "division by zero",
		"x = [1, 2][rank()]":                                                    "out of range",
		"x = ones(4).chunk(2)[rank()]":                                          "out of range",
		"x = {0: 1, 1: 2}[rank()]":                                              "not in dict",
		"x = [0, 1].index(rank())":                                              "value not in list",
		"x = {0: 1}.get([rank()])":                                              "unhashable",
		"x = int('1x'[: 1 + rank() // 30])":                                     "invalid literal",
		"x = 1 << (3 - rank())":                                                 "negative shift count",
		"if rank() == 2:\n        print('a' + rank())":                          "string + int",
		"for i in range(0, 3, 3 - rank()):\n    ones(1) * 2":                    "must not be zero",
		"m = DeviceMesh('cpu', arange(64).chunk(32)[rank()])":                   "no elements",
		"t = arange(world_size())\nt[0] = 0\nm = DeviceMesh('cpu', t)":          "no elements",
		"m = DeviceMesh('cpu', arange(world_size()) * ones(1).sum().to(int64))": "no elements",
		"x = zeros(20)\nx[rank()] = 1.0":                                        "want -20..19",
		"send(ones(1), rank() + 1)":                                             "a rank in the group",
		"recv(rank() - 1)":                                                      "a rank in the group",
		"recv((rank() - 1) % world_size())":                                     "recv",
		"if rank() == 0:\n    recv(1)\nelse:\n    recv(0)":                      "deadlock",
		"send(ones(1), (rank() + 1) % world_size())":                            "never received",
		"if rank() > 0:\n    recv(rank() - 1)\nbarrier()\nif rank() < 31:\n    send(ones(1), rank() + 1)": "barrier",
	} {
		script := filepath.Join(t.TempDir(), "x.star")
		if err := os.WriteFile(script, []byte("def main():\n    "+strings.ReplaceAll(text, "\n", "\n    ")+"\n    barrier()\n\nmain()\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		statuses := map[int]bool{}
		for _, each := range []bool{false, true} {
			_, err := evaluate(context.Background(), question{Script: script, Ranks: 32, Each: each})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, each by itself %v: got %v, want %q", text, each, err, want)
			}
			if r := new(refusal); errors.As(err, &r) {
				statuses[r.status] = true
			}
		}
		if len(statuses) != 1 {
			t.Errorf("%s: got exit statuses %v by kinds and by ranks, want one", text, slices.Sorted(maps.Keys(statuses)))
		}
	}
}

package main

import (
	"fmt"
	"slices"
)

// A benchCase is a loop in a script, and what a turn of it does.
type benchCase struct {
	suite, name string
	ranks       int
	before      string // runs once, in front of the loop
	body        string // a turn
	check       string // runs once, behind the loop; "" for nothing
	cost
}

// A cost says what a turn does at least, over all ranks. Zero is for what is no
// figure of the case.
type cost struct {
	bytes    int     // that a rank puts in
	bus      float64 // times bytes is what a rank must send or receive
	traffic  int     // bytes that are read or written in memory
	block    int     // of so many bytes each: a limit is measured with the same
	flops    float64 // floating-point operations
	bfloat16 bool    // whether these are products of bfloat16
	memory   int     // bytes that have to be kept
}

// suites are the names of the suites in their order.
var suites = []string{"collectives", "redistribution", "matmul", "vector", "images", "linalg", "dispatch", "step"}

// cases returns the cases in their order.
func (b *bench) cases() []*benchCase {
	all := slices.Concat(b.collectiveCases(), b.redistributionCases(), b.matmulCases(), b.vectorCases(), b.imageCases(), b.linalgCases(), b.dispatchCases(), b.stepCases())
	return slices.DeleteFunc(all, func(c *benchCase) bool { return c.bytes > int(b.maxBytes) })
}

// collectiveSizes are the bytes that a rank puts in.
var collectiveSizes = []int{8, 64 << 10, 1 << 20, 64 << 20}

func (b *bench) collectiveCases() []*benchCase {
	n, results := b.ranks, b.results()
	all := []*benchCase{{suite: "collectives", name: "barrier", ranks: n, body: "barrier()"}}
	for _, k := range []struct {
		name, body, check string
		bus               float64 // of a byte that a rank puts in
		traffic           int     // the same, over all ranks
	}{
		{"all_reduce", "all_reduce(x)", "assert.eq(all_reduce(x).max().item(), 1.0 * world_size())", 2 * float64(n-1) / float64(n), n + results},
		{"all_gather", "all_gather(x)", "assert.eq(all_gather(x).shape, (len(x) * world_size(),))", float64(n - 1), n + n*results},
		{"reduce_scatter", "reduce_scatter(x)", "assert.eq(all_reduce(reduce_scatter(x).sum()).item(), 1.0 * world_size() * len(x))", float64(n-1) / float64(n), n + 1},
		{"broadcast", "broadcast(x)", "assert.eq(broadcast(x).min().item(), 1.0)", 1, 2 * results},
		{"all_to_all", "all_to_all(x, 0, 0)", "assert.eq(all_to_all(x, 0, 0).min().item(), 1.0)", float64(n-1) / float64(n), 2 * n},
	} {
		for _, size := range collectiveSizes {
			all = append(all, &benchCase{
				suite: "collectives", name: k.name + "/" + sizeText(size), ranks: n,
				before: fmt.Sprintf("x = ones(%d)", size/4), body: k.body, check: k.check,
				cost: cost{bytes: size, bus: k.bus, traffic: k.traffic * size, block: size},
			})
		}
	}
	return all
}

// results returns how often a result is written that all ranks have alike: once if
// they share memory, since they then share it.
func (b *bench) results() int {
	if b.transport == "inproc" {
		return 1
	}
	return b.ranks
}

// lineMesh makes the mesh of all ranks.
const lineMesh = "mesh = DeviceMesh(\"cpu\", list(range(world_size())))\n"

func (b *bench) redistributionCases() []*benchCase {
	n := b.ranks
	var all []*benchCase
	for _, k := range []struct {
		name, from, to string
		traffic        float64 // of a byte of the whole
	}{
		{"S0-to-S1", "Shard(0)", "Shard(1)", 2},
		{"S0-to-R", "Shard(0)", "Replicate()", float64(2 * b.results())},
		{"P-to-R", "Partial()", "Replicate()", float64(n + b.results())},
		{"P-to-S0", "Partial()", "Shard(0)", float64(n + 1)},
	} {
		for _, side := range []int{512, 4096} {
			whole := 4 * side * side
			part := whole
			local := fmt.Sprintf("ones(%d, %d)", side, side)
			if k.from == "Shard(0)" {
				part = whole / n
				local = fmt.Sprintf("ones(compute_local_shape_and_global_offset((%d, %d), mesh, [Shard(0)])[0])", side, side)
			}
			all = append(all, &benchCase{
				suite: "redistribution", name: "redistribute/" + k.name + "/" + sizeText(whole), ranks: n,
				before: lineMesh + fmt.Sprintf("x = DTensor.from_local(%s, mesh, [%s], shape=(%d, %d))", local, k.from, side, side),
				body:   fmt.Sprintf("x.redistribute(placements=[%s])", k.to),
				cost:   cost{bytes: whole, traffic: int(k.traffic * float64(whole)), block: part},
			})
		}
	}
	return all
}

func (b *bench) matmulCases() []*benchCase {
	var all []*benchCase
	for _, k := range []struct {
		dtype   string
		m, k, n int
	}{
		{"float32", 8, 8, 8}, {"float32", 16, 16, 16}, {"float32", 32, 32, 32}, {"float32", 64, 64, 64}, {"float32", 128, 128, 128},
		{"float32", 512, 512, 512}, {"float32", 1024, 1024, 1024}, {"float32", 2048, 2048, 2048},
		{"float64", 512, 512, 512}, {"float64", 1024, 1024, 1024}, {"float64", 2048, 2048, 2048},
		{"float32", 1, 4096, 4096}, {"float32", 4, 4096, 4096}, {"float32", 16, 4096, 4096},
		{"bfloat16", 64, 64, 64}, {"bfloat16", 128, 128, 128}, {"bfloat16", 512, 512, 512}, {"bfloat16", 1024, 1024, 1024}, {"bfloat16", 2048, 2048, 2048},
		{"bfloat16", 1, 4096, 4096}, {"bfloat16", 16, 4096, 4096},
		{"float16", 64, 64, 64}, {"float16", 512, 512, 512}, {"float16", 1024, 1024, 1024}, {"float16", 16, 4096, 4096},
	} {
		item := map[string]int{"float32": 4, "float64": 8, "bfloat16": 2, "float16": 2}[k.dtype]
		for _, ranks := range onOneAnd(b.ranks) {
			all = append(all, &benchCase{
				suite: "matmul", name: fmt.Sprintf("matmul/%s/%dx%dx%d", k.dtype, k.m, k.k, k.n), ranks: ranks,
				before: fmt.Sprintf("x, y = ones(%d, %d, dtype=%s), ones(%d, %d, dtype=%s)", k.m, k.k, k.dtype, k.k, k.n, k.dtype),
				body:   "x.matmul(y)",
				check:  fmt.Sprintf("assert.eq(x.matmul(y).max().item(), %d.0)", k.k),
				cost:   cost{bytes: item * max(k.m*k.k, k.k*k.n), flops: 2 * float64(k.m) * float64(k.k) * float64(k.n) * float64(ranks), bfloat16: k.dtype == "bfloat16"},
			})
		}
	}
	return all
}

// onOneAnd returns the numbers of ranks of a case that is for one rank, too.
func onOneAnd(n int) []int {
	if n == 1 {
		return []int{1}
	}
	return []int{1, n}
}

// vectorCases are operations on 16 MiB, on one rank and on all at once.
func (b *bench) vectorCases() []*benchCase {
	const rows, cols = 4096, 1024
	table := fmt.Sprintf("x = rand(%d, %d)", rows, cols)
	var all []*benchCase
	for _, k := range []struct {
		name, before, body string
		passes             int // over so many bytes
	}{
		{"gelu", table, "F.gelu(x)", 2},
		{"softmax", table, "F.softmax(x, dim=-1)", 2},
		{"layer_norm", table, fmt.Sprintf("F.layer_norm(x, (%d,))", cols), 2},
		{"adam", table + "\nx.requires_grad_(True)\nx.grad = rand_like(x)\noptimizer = optim.Adam([x])", "optimizer.step()", 7},
	} {
		for _, ranks := range onOneAnd(b.ranks) {
			all = append(all, &benchCase{
				suite: "vector", name: "vector/" + k.name, ranks: ranks, before: k.before, body: k.body,
				cost: cost{bytes: 4 * rows * cols, traffic: ranks * k.passes * 4 * rows * cols, block: 4 * rows * cols},
			})
		}
	}
	return all
}

func (b *bench) dispatchCases() []*benchCase {
	const plain = "x, y = rand(8, 8), rand(8, 8)"
	const placed = lineMesh + "x, y = [distribute_tensor(rand(8, 8), mesh, [Shard(0)]) for _ in range(2)]"
	var all []*benchCase
	for _, k := range []struct{ name, before, body string }{
		{"empty", "", "pass"},
		{"add", plain, "x + y"},
		{"add-with-gradient", "x, y = rand(8, 8, requires_grad=True), rand(8, 8)", "x + y"},
		{"sum", plain, "x.sum()"},
		{"linear", plain, "F.linear(x, y)"},
		{"DTensor-add", placed, "x + y"},
		{"DTensor-linear", lineMesh + "x, y = distribute_tensor(rand(8, 8), mesh, [Replicate()]), distribute_tensor(rand(8, 8), mesh, [Shard(0)])", "F.linear(x, y)"},
	} {
		for _, ranks := range onOneAnd(b.ranks) {
			all = append(all, &benchCase{suite: "dispatch", name: "dispatch/" + k.name, ranks: ranks, before: k.before, body: k.body})
		}
	}
	return all
}

// sizeText returns a number of bytes in the largest unit that divides it.
func sizeText(n int) string {
	units := []string{"B", "KiB", "MiB", "GiB"}
	for len(units) > 1 && n >= 1<<10 && n%(1<<10) == 0 {
		n, units = n>>10, units[1:]
	}
	return fmt.Sprintf("%d%s", n, units[0])
}

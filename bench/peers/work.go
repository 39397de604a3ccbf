package main

import (
	"fmt"
	"slices"
	"strings"
)

// A work is something that tpsh and its peers do alike.
type work struct {
	name         string
	ranks, cores int
	bench        string   // the case of tpsh bench
	script       string   // instead: a script whose whole run is measured
	peer         []string // the arguments of the peers' scripts
	on           string   // the kind of work: see peer.kinds
	flops        float64  // if its rate is of interest
}

// A peer is what people use today.
type peer struct {
	name, module, script string
	launcher             string   // starts its ranks; "" if the script does
	kinds                []string // of works that its script knows
	single               bool     // on one rank only
}

var peers = []peer{
	{"OpenBLAS", "numpy", "openblas.py", "", []string{"matmul"}, true},
	{"NumPy", "numpy", "numpy_peer.py", "", []string{"linalg"}, true},
	{"PyTorch", "torch", "torch_peer.py", "", []string{"matmul", "half", "vector", "images", "linalg", "exponential", "adam", "add", "all_reduce", "step"}, false},
	{"PyTorch's DTensor", "torch", "dtensor_peer.py", "", []string{"placed", "step"}, false},
	{"JAX", "jax", "jax_peer.py", "", []string{"matmul", "half", "vector", "add", "all_reduce", "step"}, false},
	{"Open MPI", "mpi4py.MPI", "mpi.py", "mpirun", []string{"all_reduce"}, false},
}

// does reports whether the script of p knows w.
func (p peer) does(w work) bool {
	return slices.Contains(p.kinds, w.on) && !(p.single && w.ranks > 1)
}

// works returns the rows of the table.
func works() []work {
	var all []work
	for _, dtype := range []string{"float32", "float64"} {
		for _, n := range []int{512, 1024, 2048} {
			all = append(all, product(dtype, n, n, n, 1), product(dtype, n, n, n, 2))
		}
	}
	for _, n := range []int{8, 16, 32, 64, 128} {
		all = append(all, product("float32", n, n, n, 1))
	}
	for _, m := range []int{1, 4, 16} {
		all = append(all, product("float32", m, 4096, 4096, 1))
	}
	all = append(all, halves()...)
	for _, name := range []string{"gelu", "softmax", "layer_norm"} {
		all = append(all, work{name: name + " of 16 MiB", ranks: 1, cores: 1, bench: "vector/" + name, peer: []string{"vector", name}, on: "vector"})
	}
	all = append(all, convolutions()...)
	all = append(all, decompositions()...)
	all = append(all,
		work{name: "Adam on 16 MiB", ranks: 1, cores: 1, bench: "vector/adam", peer: []string{"vector", "adam"}, on: "adam"},
		work{name: "x + y of 8x8", ranks: 1, cores: 1, bench: "dispatch/add", peer: []string{"add"}, on: "add"},
		work{name: "x + y of 8x8, DTensor", ranks: 1, cores: 1, bench: "dispatch/DTensor-add", peer: []string{"placed_add"}, on: "placed"})
	for _, ranks := range []int{2, 4} {
		for _, size := range []struct {
			text  string
			bytes int
		}{{"8B", 8}, {"64KiB", 64 << 10}, {"1MiB", 1 << 20}, {"64MiB", 64 << 20}} {
			all = append(all, work{name: "all_reduce of " + size.text, ranks: ranks, cores: 2, bench: "all_reduce/" + size.text, peer: []string{"all_reduce", fmt.Sprint(size.bytes)}, on: "all_reduce"})
		}
	}
	for _, at := range [][2]int{{2, 2}, {4, 2}} {
		all = append(all, step(at[0], at[1], 32, 64, 256, 64))
	}
	for _, at := range [][2]int{{1, 1}, {1, 2}, {2, 2}, {4, 2}} {
		all = append(all, step(at[0], at[1], 256, 1024, 4096, 1024))
	}
	return append(all,
		work{name: "start, print on each, exit", ranks: 8, cores: 2, script: "print(\"hello from\", rank())\n"},
		work{name: "start, barrier, all_reduce of 1KiB, exit", ranks: 1000, cores: 2, script: "barrier()\nall_reduce(ones(256))\n"})
}

// convolutions are layers of ResNets and MobileNets on one and on eight images, alone
// and with both gradients.
func convolutions() []work {
	var all []work
	for _, c := range []struct{ in, out, window, stride, padding, groups, side int }{
		{3, 64, 7, 2, 3, 1, 224}, {64, 64, 3, 1, 1, 1, 56}, {64, 128, 3, 2, 1, 1, 56}, {512, 512, 3, 1, 1, 1, 7},
		{64, 256, 1, 1, 0, 1, 56}, {256, 64, 1, 1, 0, 1, 56}, {256, 512, 1, 2, 0, 1, 56}, {96, 96, 3, 1, 1, 96, 56}, {128, 128, 3, 1, 1, 32, 56},
	} {
		for _, images := range []int{1, 8} {
			size := fmt.Sprintf("%d-%d,%dx%d,s%d,g%d,%d/x%d", c.in, c.out, c.window, c.window, c.stride, c.groups, c.side, images)
			n := (c.side+2*c.padding-c.window)/c.stride + 1
			flops := 2 * float64(images*n*n*c.out) * float64(c.in/c.groups*c.window*c.window)
			sizes := strings.Fields(strings.Trim(fmt.Sprint([]int{c.in, c.out, c.window, c.stride, c.padding, c.groups, c.side, images}), "[]"))
			all = append(all,
				work{name: "conv2d " + size, ranks: 1, cores: 1, bench: "conv2d/" + size, peer: append([]string{"conv2d"}, sizes...), on: "images", flops: flops},
				work{name: "conv2d+grad " + size, ranks: 1, cores: 1, bench: "conv2d+grad/" + size, peer: append([]string{"conv2d_grad"}, sizes...), on: "images", flops: 3 * flops})
		}
	}
	return all
}

// decompositions are functions of linalg of matrices of 512 by 512.
func decompositions() []work {
	var all []work
	for _, name := range []string{"solve", "inv", "det", "slogdet", "cholesky", "qr", "lstsq", "pinv", "svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "matrix_exp", "matrix_power", "norm", "norm2", "cond"} {
		w := work{name: "linalg." + name + " float64 512x512", ranks: 1, cores: 1, bench: "linalg/" + name, peer: []string{"linalg", name, "512"}, on: "linalg"}
		if name == "matrix_exp" { // which NumPy lacks
			w.on = "exponential"
		}
		all = append(all, w)
	}
	return all
}

// product is a matrix product on one rank.
func product(dtype string, m, k, n, cores int) work {
	size := fmt.Sprintf("%dx%dx%d", m, k, n)
	return work{
		name: "matmul " + dtype + " " + size, ranks: 1, cores: cores, bench: "matmul/" + dtype + "/" + size,
		peer: append([]string{"matmul", dtype}, strings.Split(size, "x")...), on: "matmul",
		flops: 2 * float64(m) * float64(k) * float64(n),
	}
}

// halves are products of numbers of 16 bits, which NumPy has none of.
func halves() []work {
	var all []work
	for _, n := range []int{64, 128, 512} {
		all = append(all, product("bfloat16", n, n, n, 1))
	}
	for _, n := range []int{1024, 2048} {
		all = append(all, product("bfloat16", n, n, n, 1), product("bfloat16", n, n, n, 2))
	}
	all = append(all, product("bfloat16", 1, 4096, 4096, 1), product("bfloat16", 16, 4096, 4096, 1), product("float16", 64, 64, 64, 1),
		product("float16", 512, 512, 512, 1), product("float16", 1024, 1024, 1024, 1), product("float16", 16, 4096, 4096, 1))
	for i := range all {
		all[i].on = "half"
	}
	return all
}

// step is a training step of a network of two layers, split among the ranks.
func step(ranks, cores int, sizes ...int) work {
	words := strings.Fields(strings.Trim(fmt.Sprint(sizes), "[]"))
	size := strings.Join(words, "x")
	return work{name: "training step " + size, ranks: ranks, cores: cores, bench: "step/mlp/" + size, peer: append([]string{"step"}, words...), on: "step"}
}

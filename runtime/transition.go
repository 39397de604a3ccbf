package runtime

import (
	"fmt"

	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/spmdtype"
	"tpsh/runtime/tensor"
)

// Transit carries out the transition tr, from src to dst, on the plain tensor x along the axis whose ranks
// are g, and returns the result. S(i) is gathered and cut along dim i. V is gathered along a new dim 0 with an
// entry for each rank, and cut by taking this rank's entry. Transit neither reads the types of x nor sets
// those of the result.
func (r *Rank) Transit(g *comm.Group, tr spmdtype.Transition, src, dst spmdtype.Type, x *tensor.Tensor) (*tensor.Tensor, error) {
	if err := plainOnly(tr.Name, x); err != nil {
		return nil, err
	}
	defer r.Tape.Untyped()()
	t := &transit{r: r, g: g, fn: tr.Name}
	from, cutSrc := src.Block()
	to, cutDst := dst.Block()
	t.dim, t.stack = to, !cutDst
	if !cutDst && cutSrc {
		t.dim, t.stack = from, false
	}
	if err := t.check(tr.Do, x); err != nil {
		return nil, err
	}
	if tr.Do == spmdtype.AllToAll {
		return t.exchange(x, from, to)
	}
	switch [2]spmdtype.Act{tr.Do, tr.Back} {
	case [2]spmdtype.Act{spmdtype.AllReduce, spmdtype.AllReduce}, [2]spmdtype.Act{spmdtype.AllGather, spmdtype.ReduceScatter}, [2]spmdtype.Act{spmdtype.ReduceScatter, spmdtype.AllGather}:
		return t.act(tr.Do)(x) // whose gradients are those
	}
	return r.RecordPair(tr.Name, x, t.act(tr.Do), t.act(tr.Back))
}

// A transit is one call of Transit.
type transit struct {
	r     *Rank
	g     *comm.Group
	fn    string
	dim   int  // the dim that is cut
	stack bool // each rank has one entry of a dim 0 of the whole, and no block
	whole int  // the size of dim in the whole; 0 until it is known
}

// check returns an error if the act a cannot cut x.
func (t *transit) check(a spmdtype.Act, x *tensor.Tensor) error {
	if a != spmdtype.Slice && a != spmdtype.ReduceScatter {
		return nil
	}
	n := t.g.Size()
	if t.stack && (x.Ndim() == 0 || x.Shape()[0] != n) {
		return &op.ArgError{Func: t.fn, Param: "x", Got: op.Describe(x), Want: fmt.Sprintf("size %d in dim 0, an entry for each rank", n), Rule: "dst=spmd.S(dim) cuts a dim instead"}
	}
	if !t.stack {
		t.whole = x.Shape()[t.dim]
	}
	return nil
}

// act returns the function that carries out a.
func (t *transit) act(a spmdtype.Act) Action {
	return [...]Action{spmdtype.Keep: t.keep, spmdtype.FirstOnly: t.first, spmdtype.Slice: t.slice, spmdtype.Pad: t.pad,
		spmdtype.AllReduce: t.sum, spmdtype.AllGather: t.gather, spmdtype.ReduceScatter: t.reduceScatter, spmdtype.AllToAll: t.keep}[a]
}

// keep is x on the same storage.
func (t *transit) keep(x *tensor.Tensor) (*tensor.Tensor, error) { return x.Detach(), nil }

// first is x on the first rank of the axis, and zeros elsewhere.
func (t *transit) first(x *tensor.Tensor) (*tensor.Tensor, error) {
	return t.r.Do("where", []*tensor.Tensor{tensor.Number(t.g.Place() == 0), x, tensor.Number(0.0)})
}

// place returns this rank's place along the axis. In a plan, where one rank stands for several, it tells
// these apart if the blocks of n elements differ in size.
func (t *transit) place(n int) int {
	if n%t.g.Size() != 0 {
		return t.g.Rank()
	}
	return t.g.Place()
}

// slice is this rank's block of x, or its entry of dim 0.
func (t *transit) slice(x *tensor.Tensor) (*tensor.Tensor, error) {
	if t.stack {
		y, err := t.r.Do("select", []*tensor.Tensor{x}, op.Int1(0), op.Int1(t.g.Place()))
		if err != nil {
			return nil, err
		}
		return t.r.Do("clone", []*tensor.Tensor{y})
	}
	n := x.Shape()[t.dim]
	lo, hi := mesh.Block(n, t.g.Size(), t.place(n))
	y, err := t.r.Do("narrow", []*tensor.Tensor{x}, op.Int1(t.dim), op.Int1(lo), op.Int1(hi-lo))
	if err != nil {
		return nil, err
	}
	return t.r.Do("clone", []*tensor.Tensor{y})
}

// pad is x at its place in the whole, with zeros elsewhere.
func (t *transit) pad(x *tensor.Tensor) (*tensor.Tensor, error) {
	if t.stack {
		var err error
		if x, err = t.r.Do("unsqueeze", []*tensor.Tensor{x}, op.Int1(0)); err != nil {
			return nil, err
		}
	}
	parts, k := t.g.Size(), x.Shape()[t.dim]
	n := t.whole
	if n == 0 || t.stack {
		n = k * parts
	}
	lo, hi := mesh.Block(n, parts, t.place(n))
	if hi-lo != k {
		return nil, &op.ArgError{Func: t.fn, Param: "x", Got: op.Describe(x), Want: fmt.Sprintf("a block of size %d in dim %d", hi-lo, t.dim)}
	}
	zeros := func(size int) (*tensor.Tensor, error) {
		s := append([]int(nil), x.Shape()...)
		s[t.dim] = size
		return t.r.Do("full", []*tensor.Tensor{tensor.Number(0.0)}, op.IntsN(s...), op.Int1(int(x.DType())))
	}
	before, err := zeros(lo)
	if err != nil {
		return nil, err
	}
	after, err := zeros(n - hi)
	if err != nil {
		return nil, err
	}
	return t.r.Do("cat", []*tensor.Tensor{before, x, after}, op.Int1(t.dim))
}

// sum is the sum over the axis.
func (t *transit) sum(x *tensor.Tensor) (*tensor.Tensor, error) {
	return t.r.Run(t.g, Collective{Op: "all_reduce", Reduce: "sum"}, x)
}

// gather is the ranks' blocks, joined.
func (t *transit) gather(x *tensor.Tensor) (*tensor.Tensor, error) {
	if t.stack {
		var err error
		if x, err = t.r.Do("unsqueeze", []*tensor.Tensor{x}, op.Int1(0)); err != nil {
			return nil, err
		}
	}
	return t.r.Run(t.g, Collective{Op: "all_gather", Dim: t.dim}, x)
}

// reduceScatter is this rank's block of the sum over the axis.
func (t *transit) reduceScatter(x *tensor.Tensor) (*tensor.Tensor, error) {
	y, err := t.r.Run(t.g, Collective{Op: "reduce_scatter", Dim: t.dim, Reduce: "sum"}, x)
	if err != nil || !t.stack {
		return y, err
	}
	return t.r.Do("select", []*tensor.Tensor{y}, op.Int1(0), op.Int1(0))
}

// exchange turns blocks of dim from into blocks of dim to. Of a V, each rank gets the entries of dim 0
// that the others have for it.
func (t *transit) exchange(x *tensor.Tensor, from, to int) (*tensor.Tensor, error) {
	if t.stack {
		from, to = 0, 0
		if x.Ndim() == 0 || x.Shape()[0] != t.g.Size() {
			return nil, &op.ArgError{Func: t.fn, Param: "x", Got: op.Describe(x), Want: fmt.Sprintf("size %d in dim 0, an entry for each rank", t.g.Size()), Rule: "src=spmd.S(i), dst=spmd.S(j) have blocks of dims exchanged"}
		}
	}
	return t.r.Run(t.g, Collective{Op: "all_to_all", Dim: to, Concat: from}, x)
}

package shard

import (
	"fmt"
	"math"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A DivergenceError says that an operator gave something else on blocks than on
// the whole.
type DivergenceError struct {
	Op    string
	Lies  string // how the result lies
	Rank  int    // whose block it is in
	Index []int  // of the whole
	Got   float64
	Want  float64
	Where string
}

func (e *DivergenceError) Error() string {
	return fmt.Sprintf("%s: got %v at index %s of the result as %s, in the block of rank %d, want %v, which the operation gives on the whole (--verify, at %s)",
		e.Op, e.Got, mesh.Tuple(e.Index), e.Lies, e.Rank, e.Want, e.Where)
}

// Kind returns "other".
func (e *DivergenceError) Kind() string { return "other" }

// Function returns the name of the operator.
func (e *DivergenceError) Function() string { return e.Op }

// tolerance is by how much an element of a dtype may differ, relative to the
// greatest of the whole, and of the inputs where the result is a sum of terms:
// sums are added in another order, and the rest may be little.
func tolerance(dt dtype.DType) float64 {
	switch dt {
	case dtype.Float32:
		return 1e-4
	case dtype.Float64:
		return 1e-10
	case dtype.Float16:
		return 2e-2
	case dtype.BFloat16:
		return 1e-1
	}
	return 0
}

// verify runs c, which has been run on blocks, on the whole of its inputs,
// before those were moved, and compares the results. Every rank of the mesh calls it.
func (e *Engine) verify(c *op.Call, given []*tensor.Tensor) error {
	if c.Def.InPlace || c.Def.OfParts || c.ByValue() || len(c.Out) == 0 || !e.member(c.Out[0].Layout().Mesh()) {
		return nil
	}
	return e.host.Quietly(func() error {
		in, err := e.wholesOf(given)
		if err != nil {
			return err
		}
		seed, draws := e.host.RNG()
		if e.drew {
			e.host.SetRNG(seed, draws-1)
		}
		w, err := op.Apply(e.host.Ops(), c.Def, in, c.Args)
		e.host.SetRNG(seed, draws)
		if err != nil {
			return err
		}
		for i, y := range c.Out {
			if err := e.sameAs(c.Def.Name, given, in, y, w.Out[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// VerifyBlocks is Verify for an operator called name that fn runs, which
// has made y of blocks of in: fn is run on the whole of in, and its result compared.
// Without Verify, and on ranks outside the mesh, it does nothing.
func (e *Engine) VerifyBlocks(name string, in []*tensor.Tensor, y *tensor.Tensor, fn func(whole []*tensor.Tensor) (*tensor.Tensor, error)) error {
	if !e.Verify || !e.member(y.Layout().Mesh()) {
		return nil
	}
	defer e.tape.SetEnabled(false)()
	return e.host.Quietly(func() error {
		whole, err := e.wholesOf(in)
		if err != nil {
			return err
		}
		seed, draws := e.host.RNG()
		want, err := fn(whole)
		e.host.SetRNG(seed, draws)
		if err != nil {
			return err
		}
		if !want.Shape().Equal(y.Shape()) {
			return &op.ArgError{Func: name, Got: "a result of " + op.Describe(want) + " on the whole of the inputs", Want: fmt.Sprintf("shape %v", y.Shape()), Rule: "what the results on blocks make"}
		}
		return e.sameAs(name, in, whole, y, want)
	})
}

// wholesOf returns the whole of each of in.
func (e *Engine) wholesOf(in []*tensor.Tensor) ([]*tensor.Tensor, error) {
	out := make([]*tensor.Tensor, len(in))
	for i, x := range in {
		var err error
		if out[i], err = e.wholeOf(x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// wholeOf returns the whole of x, which may be nil or plain.
func (e *Engine) wholeOf(x *tensor.Tensor) (*tensor.Tensor, error) {
	if x == nil || !x.Placed() {
		return x, nil
	}
	return e.moveBlock(x, e.Replicated(x.Layout().Mesh(), x.Shape()))
}

// slack returns by how much an element of y, a result of an operator on given, may
// differ from that of want, its result on whole, the whole of given. Where the
// operator took summands the sum rounds as they do, and as the greatest of them.
func (e *Engine) slack(given, whole []*tensor.Tensor, y, want *tensor.Tensor) (float64, error) {
	if !want.DType().Differentiable() {
		return 0, nil
	}
	tol, scale := tolerance(want.DType().Real()), greatest(want)
	for i, x := range given {
		switch {
		case summed(x) && x.DType().IsComplex():
			tol, scale = max(tol, tolerance(x.DType().Real())), max(scale, greatest(whole[i]))
		case summed(x):
			terms, err := e.sizesOf(x)
			if err != nil {
				return 0, err
			}
			tol, scale = max(tol, tolerance(x.DType())), max(scale, greatest(terms))
		case y.Layout().IsPartial():
			scale = max(scale, greatest(whole[i]))
		}
	}
	return tol * scale, nil
}

// sizesOf returns the whole of the absolute values of the blocks of x.
func (e *Engine) sizesOf(x *tensor.Tensor) (*tensor.Tensor, error) {
	c, err := op.Apply(e.host.Ops(), op.Lookup("abs"), []*tensor.Tensor{x.Local()}, nil)
	if err != nil {
		return nil, err
	}
	return e.wholeOf(tensor.NewPlaced(x.Layout(), c.Out[0]))
}

// sameAs returns an error unless y, a result of an operator on given, is like want,
// its result on in, the whole of given.
func (e *Engine) sameAs(name string, given, in []*tensor.Tensor, y, want *tensor.Tensor) error {
	got, err := e.wholeOf(y)
	if err != nil {
		return err
	}
	tol, err := e.slack(given, in, y, want)
	if err != nil {
		return err
	}
	got, want = inParts(got), inParts(want)
	l, n := y.Layout(), want.Numel()
	a, b := make([]float64, n), make([]float64, n)
	for i := range n {
		a[i], b[i] = op.Float64At(got, i), op.Float64At(want, i)
	}
	for i := range a {
		same := a[i] == b[i] || math.IsNaN(a[i]) && math.IsNaN(b[i]) || math.Abs(a[i]-b[i]) <= tol
		if same {
			continue
		}
		at := indexOf(i, want.Shape())[:len(y.Shape())]
		return &DivergenceError{Op: name, Lies: mesh.List(l.Placements()), Rank: holderOf(l, at), Index: at, Got: a[i], Want: b[i], Where: e.host.Here()}
	}
	return nil
}

// inParts returns x, or a complex tensor as its parts, which are a last dim.
func inParts(x *tensor.Tensor) *tensor.Tensor {
	if !x.DType().IsComplex() {
		return x
	}
	strides := make([]int, 0, x.Ndim()+1)
	for _, n := range x.Strides() {
		strides = append(strides, 2*n)
	}
	return x.As(x.DType().Real(), append(slices.Clone(x.Shape()), 2), append(strides, 1), 2*x.Offset())
}

// greatest returns the greatest absolute value of the finite elements of x; 0 if
// there are none, or x is nil.
func greatest(x *tensor.Tensor) float64 {
	if x == nil {
		return 0
	}
	most := 0.0
	x = inParts(x)
	for i := range x.Numel() {
		if v := op.Float64At(x, i); !math.IsInf(v, 0) && !math.IsNaN(v) {
			most = max(most, math.Abs(v))
		}
	}
	return most
}

// indexOf returns the index of element i of a tensor of shape s.
func indexOf(i int, s []int) []int {
	at := make([]int, len(s))
	for d := len(s) - 1; d >= 0; d-- {
		at[d] = i % s[d]
		i /= s[d]
	}
	return at
}

// holderOf returns the first rank that holds the element at an index.
func holderOf(l *mesh.Placed, at []int) int {
	for _, r := range l.Ranks() {
		box, _ := l.Box(r)
		inside := true
		for d, v := range at {
			inside = inside && box.Lo[d] <= v && v < box.Hi[d]
		}
		if inside {
			return r
		}
	}
	return l.Ranks()[0]
}

package shard

import (
	"fmt"
	"math"

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
// greatest of the whole: sums are added in another order.
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

// verify runs c, which has been run on blocks, on the whole of its inputs, and
// compares the results. Every rank of the mesh calls it.
func (e *Engine) verify(c *op.Call) error {
	if c.Def.InPlace || c.ByValue() || len(c.Out) == 0 || !e.member(c.Out[0].Layout().Mesh()) {
		return nil
	}
	return e.host.Quietly(func() error {
		in := make([]*tensor.Tensor, len(c.In))
		for i, x := range c.In {
			y, err := e.wholeOf(x)
			if err != nil {
				return err
			}
			in[i] = y
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
			got, err := e.wholeOf(y)
			if err != nil {
				return err
			}
			if err := e.sameAs(c, y.Layout(), got, w.Out[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// wholeOf returns the whole of x, which may be nil or plain.
func (e *Engine) wholeOf(x *tensor.Tensor) (*tensor.Tensor, error) {
	if x == nil || !x.Placed() {
		return x, nil
	}
	return e.moveBlock(x, e.Replicated(x.Layout().Mesh(), x.Shape()))
}

// sameAs returns an error unless got, a result of c placed as l, is like want.
func (e *Engine) sameAs(c *op.Call, l *mesh.Placed, got, want *tensor.Tensor) error {
	n := want.Numel()
	a, b := make([]float64, n), make([]float64, n)
	scale := 0.0
	for i := range n {
		a[i], b[i] = op.Float64At(got, i), op.Float64At(want, i)
		if v := b[i]; !math.IsInf(v, 0) && !math.IsNaN(v) {
			scale = max(scale, math.Abs(v))
		}
	}
	tol := tolerance(want.DType()) * scale
	for i := range a {
		same := a[i] == b[i] || math.IsNaN(a[i]) && math.IsNaN(b[i]) || math.Abs(a[i]-b[i]) <= tol
		if same {
			continue
		}
		at := indexOf(i, want.Shape())
		return &DivergenceError{Op: c.Def.Name, Lies: mesh.List(l.Placements()), Rank: holderOf(l, at), Index: at, Got: a[i], Want: b[i], Where: e.host.Here()}
	}
	return nil
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

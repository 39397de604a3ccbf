package grad

import (
	"strings"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// matrix returns a float64 matrix of rows by columns, whose elements follow from seed.
func (w workbench) matrix(rows, columns, seed int, requires bool) *tensor.Tensor {
	x, err := tensor.New(w.r.Ctx.Alloc, dtype.Float64, shape.Shape{rows, columns})
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range tensor.Data[float64](x) {
		tensor.Data[float64](x)[i] = float64((i*7919+seed*104729)%1000)/999 - 0.5
	}
	if requires {
		x.Auto = &tensor.Auto{Requires: true}
	}
	return x
}

// A split is tested on a layer: y = sum(tanh(x a) b + x c), where a is used twice.
type layer struct {
	workbench
	x, a, b, c *tensor.Tensor
}

func newLayer(t *testing.T) *layer {
	w := newWorkbench(t)
	return &layer{w, w.matrix(3, 4, 1, true), w.matrix(4, 4, 2, true), w.matrix(4, 4, 3, true), w.matrix(3, 4, 4, true)}
}

func (l *layer) inner(x *tensor.Tensor) *tensor.Tensor {
	h := l.do("tanh", []*tensor.Tensor{l.do("matmul", []*tensor.Tensor{x, l.a})})
	h = l.do("matmul", []*tensor.Tensor{l.do("matmul", []*tensor.Tensor{h, l.b}), l.a})
	return l.do("add", []*tensor.Tensor{h, l.mul(x, l.c)})
}

// gradients returns those of all leaves, as they were collected.
func (l *layer) gradients() (list [][]float64) {
	for _, x := range []*tensor.Tensor{l.x, l.a, l.b, l.c} {
		var g []float64
		if x.Auto.Grad != nil {
			g = tensor.Data[float64](x.Auto.Grad)
		}
		list = append(list, g)
	}
	return list
}

func equal(x, y []float64) bool {
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		if x[i] != y[i] {
			return false
		}
	}
	return true
}

// The first half makes the gradient of the input alone, the second those of the weights, with the same bits as
// one pass, and what is kept between them is what weights need.
func TestSplit(t *testing.T) {
	want := newLayer(t)
	want.backward(want.sum(want.inner(want.x)))

	l := newLayer(t)
	kept := map[any]int{}
	l.r.Keep = func(node any, lists ...[]*tensor.Tensor) {
		for _, list := range lists {
			for _, x := range list {
				if x != nil && x.Buffer() != nil {
					kept[node]++
				}
			}
		}
	}
	l.r.Free = func(node any) { delete(kept, node) }
	l.r.Leaf = func(*tensor.Tensor) {}
	y := l.sum(l.inner(l.x))
	s, err := l.r.BackwardInput(y, nil, l.x)
	if err != nil {
		t.Fatal(err)
	}
	got := l.gradients()
	if !equal(got[0], want.gradients()[0]) || got[1] != nil || got[2] != nil || got[3] != nil {
		t.Fatalf("after the first half: got gradients %v", got)
	}
	if s.h.path != nil || s.h.target != nil || s.h.p.leaves[l.x.Auto] != nil {
		t.Error("what is left for weights refers to the path or to the gradient of the input")
	}
	sum := 0
	for _, n := range kept {
		sum += n
	}
	if sum != 7 { // an input and a gradient for each of three products, and the gradient of c
		t.Errorf("between the halves %d tensors are kept, want 7", sum)
	}
	if err := s.Weights(); err != nil {
		t.Fatal(err)
	}
	for i, g := range l.gradients() {
		if !equal(g, want.gradients()[i]) {
			t.Errorf("gradient %d: got %v, want %v", i, g, want.gradients()[i])
		}
	}
	if len(kept) > 0 {
		t.Errorf("%d records are kept in the end, want none", len(kept))
	}
	if len(s.Whole()) > 0 {
		t.Errorf("got %q, want nothing that was not split", s.Whole())
	}
}

// A checkpoint computes again once, in the first half.
func TestSplitCheckpoint(t *testing.T) {
	want := newLayer(t)
	want.backward(want.sum(want.inner(want.x)))

	l := newLayer(t)
	runs := 0
	out, err := l.r.Checkpoint(func() ([]*tensor.Tensor, error) {
		runs++
		return []*tensor.Tensor{l.inner(l.x)}, nil
	}, l.x)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.r.BackwardInput(l.sum(out[0]), nil, l.x)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.gradients(); !equal(got[0], want.gradients()[0]) || got[1] != nil {
		t.Fatalf("after the first half: got gradients %v", got)
	}
	if err := s.Weights(); err != nil {
		t.Fatal(err)
	}
	for i, g := range l.gradients() {
		if !equal(g, want.gradients()[i]) {
			t.Errorf("gradient %d: got %v, want %v", i, g, want.gradients()[i])
		}
	}
	if runs != 2 {
		t.Errorf("got %d runs, want 2", runs)
	}
}

// An operation with a gradient of its own makes all at once, and is named; what it made for weights waits.
func TestSplitNamesWhatItCannot(t *testing.T) {
	l := newLayer(t)
	y := l.mul(l.x, l.c).Detach()
	l.r.Custom("own", []*tensor.Tensor{l.x, l.c}, []*tensor.Tensor{y}, func(tape *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return []*tensor.Tensor{tape.Mul(dy[0], l.c.Detach()), tape.Mul(dy[0], l.x.Detach())}, nil
	})
	s, err := l.r.BackwardInput(l.sum(y), nil, l.x)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Whole(); len(got) != 1 || got[0] != "own" || l.c.Auto.Grad != nil {
		t.Errorf("got %q, and a gradient of the weight: %t, want [own] and none", got, l.c.Auto.Grad != nil)
	}
	if err := s.Weights(); err != nil {
		t.Fatal(err)
	}
	l.wantGrad(l.c, tensor.Data[float64](l.x)...)
}

// What the second half needs may not change between the two.
func TestSplitNoticesChanges(t *testing.T) {
	l := newLayer(t)
	h := l.do("tanh", []*tensor.Tensor{l.x})
	s, err := l.r.BackwardInput(l.sum(l.do("matmul", []*tensor.Tensor{h, l.a})), nil, l.x)
	if err != nil {
		t.Fatal(err)
	}
	restore := l.r.SetEnabled(false)
	l.do("mul_", []*tensor.Tensor{h, h})
	restore()
	if err := s.Weights(); err == nil || !strings.Contains(err.Error(), "changed in place") {
		t.Errorf("got error %v, want one of a change in place", err)
	}
}

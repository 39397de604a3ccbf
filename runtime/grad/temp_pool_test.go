package grad

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// After a backward pass there is no storage but what was there before and the
// gradients of the leaves, without any collection; what a hook has seen stays.
func TestTempPool(t *testing.T) {
	a := tensor.NewAllocator(0)
	a.Large, a.Poison = 1, true
	r := New(&op.Ctx{Alloc: a, Float: dtype.Float32})
	do := func(name string, in ...*tensor.Tensor) *tensor.Tensor {
		out, err := r.Apply(op.Lookup(name), in, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out[0]
	}
	x, err := tensor.New(a, dtype.Float32, shape.Shape{64, 64})
	if err != nil {
		t.Fatal(err)
	}
	for i := range tensor.Data[float32](x) {
		tensor.Data[float32](x)[i] = 0.5
	}
	x.Auto = &tensor.Auto{Requires: true}
	product := do("matmul", x, x)
	y := do("mul", do("exp", do("tanh", product)), product)
	var seen *tensor.Tensor
	OnGrad(product, func(g *tensor.Tensor) (*tensor.Tensor, error) {
		seen = g
		return nil, nil
	})
	dy := do("exp", y.Detach())
	before, _ := a.InUse()
	if err := r.Backward(y, dy, false); err != nil {
		t.Fatal(err)
	}
	after, _ := a.InUse()
	each := x.Buffer().Len()
	if got, want := after-before, 2*each; got != want {
		t.Errorf("a backward pass leaves %d bytes, want %d: the gradient of x, and what the hook saw", got, want)
	}
	if seen.Buffer().Dropped() || x.Auto.Grad.Buffer().Dropped() {
		t.Error("a gradient that somebody has was dropped")
	}
	tensor.Data[float32](seen)[0]++ // it is there
}

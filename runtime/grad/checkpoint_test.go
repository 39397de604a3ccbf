package grad_test

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// newRecorder returns a Recorder on memory of its own.
func newRecorder() *grad.Recorder {
	return grad.New(&op.Ctx{Alloc: tensor.NewAllocator(0)})
}

// leaf returns a float64 leaf that requires grad.
func leaf(t *testing.T, r *grad.Recorder, elems ...float64) *tensor.Tensor {
	t.Helper()
	x, err := op.FromFloats(r.Ctx, dtype.Float64, shape.Shape{len(elems)}, elems)
	if err != nil {
		t.Fatal(err)
	}
	x.Auto = &tensor.Auto{Requires: true}
	return x
}

// apply applies an operator of one result.
func apply(t *testing.T, r *grad.Recorder, name string, in ...*tensor.Tensor) *tensor.Tensor {
	t.Helper()
	out, err := r.Apply(op.Lookup(name), in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// TestCheckpoint differentiates x w h, computed twice, where h is a result
// from before the checkpoint.
func TestCheckpoint(t *testing.T) {
	r := newRecorder()
	x, w := leaf(t, r, 2), leaf(t, r, 5)
	h := apply(t, r, "mul", x, x)
	runs := 0
	out, err := r.Checkpoint(func() ([]*tensor.Tensor, error) {
		runs++
		return []*tensor.Tensor{apply(t, r, "mul", apply(t, r, "mul", x, w), h)}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !out[0].RequiresGrad() || grad.IsLeaf(out[0]) {
		t.Fatal("the result is not recorded")
	}
	if err := r.Backward(out[0], nil, false); err != nil {
		t.Fatal(err)
	}
	if runs != 2 {
		t.Errorf("got %d runs, want 2", runs)
	}
	for _, test := range []struct {
		name string
		of   *tensor.Tensor
		want float64
	}{
		{"x", x, 60}, // of x**3 w
		{"w", w, 8},
	} {
		if got := op.Float64At(test.of.Auto.Grad, 0); got != test.want {
			t.Errorf("gradient of %s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// TestCheckpointKeepsNothing checks that results which need no gradient are
// not recorded, and are not copied.
func TestCheckpointKeepsNothing(t *testing.T) {
	r := newRecorder()
	x := leaf(t, r, 1)
	constant := x.Detach()
	for name, run := range map[string]func() ([]*tensor.Tensor, error){
		"an older tensor": func() ([]*tensor.Tensor, error) { return []*tensor.Tensor{x}, nil },
		"a constant":      func() ([]*tensor.Tensor, error) { return []*tensor.Tensor{constant}, nil },
	} {
		want, _ := run()
		out, err := r.Checkpoint(run)
		if err != nil || out[0] != want[0] {
			t.Errorf("%s: got %v, %v, want it as it is", name, out, err)
		}
	}
	defer r.SetEnabled(false)()
	out, err := r.Checkpoint(func() ([]*tensor.Tensor, error) { return []*tensor.Tensor{apply(t, r, "mul", x, x)}, nil })
	if err != nil || out[0].RequiresGrad() {
		t.Errorf("recorded inside no_grad: %v", err)
	}
}

// TestRecordAllocates counts the allocations of a recorded operation of two
// inputs: the inputs' slice, the call, the result, its storage and its
// node.
func TestRecordAllocates(t *testing.T) {
	r := newRecorder()
	x, y := leaf(t, r, 1, 2), leaf(t, r, 3, 4)
	add := op.Lookup("add")
	got := testing.AllocsPerRun(100, func() {
		if _, err := r.Apply(add, []*tensor.Tensor{x, y}, nil); err != nil {
			t.Fatal(err)
		}
	})
	if got > 5 {
		t.Errorf("got %v allocations, want at most 5", got)
	}
}

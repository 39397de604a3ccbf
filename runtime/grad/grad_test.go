package grad

import (
	"errors"
	"strings"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A workbench is a recorder with short names for what the tests do.
type workbench struct {
	t *testing.T
	r *Recorder
}

func newWorkbench(t *testing.T) workbench {
	return workbench{t, New(&op.Ctx{Alloc: tensor.NewAllocator(0), Float: dtype.Float32})}
}

// leaf returns a float64 vector that requires grad.
func (w workbench) leaf(v ...float64) *tensor.Tensor {
	x := w.constant(v...)
	x.Auto = &tensor.Auto{Requires: true}
	return x
}

func (w workbench) constant(v ...float64) *tensor.Tensor {
	x, err := tensor.New(w.r.Ctx.Alloc, dtype.Float64, shape.Shape{len(v)})
	if err != nil {
		w.t.Fatal(err)
	}
	copy(tensor.Data[float64](x), v)
	return x
}

// do applies an operator and returns its first result.
func (w workbench) do(name string, in []*tensor.Tensor, args ...op.Arg) *tensor.Tensor {
	w.t.Helper()
	out, err := w.r.Apply(op.Lookup(name), in, args)
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	return out[0]
}

func (w workbench) mul(x, y *tensor.Tensor) *tensor.Tensor {
	return w.do("mul", []*tensor.Tensor{x, y})
}

func (w workbench) sum(x *tensor.Tensor) *tensor.Tensor {
	return w.do("sum", []*tensor.Tensor{x}, op.None, op.Bool1(false))
}

func (w workbench) narrow(x *tensor.Tensor, start, length int) *tensor.Tensor {
	return w.do("narrow", []*tensor.Tensor{x}, op.Int1(0), op.Int1(start), op.Int1(length))
}

func (w workbench) backward(y *tensor.Tensor) {
	w.t.Helper()
	if err := w.r.Backward(y, nil, false); err != nil {
		w.t.Fatal(err)
	}
}

// wantGrad fails the test unless x has collected the gradient want.
func (w workbench) wantGrad(x *tensor.Tensor, want ...float64) {
	w.t.Helper()
	if x.Auto.Grad == nil {
		w.t.Fatalf("no gradient, want %v", want)
	}
	for i, got := range tensor.Data[float64](x.Auto.Grad) {
		if got != want[i] {
			w.t.Fatalf("gradient %v, want %v", tensor.Data[float64](x.Auto.Grad), want)
		}
	}
}

// Gradients of all paths add up, and those of several passes.
func TestAccumulation(t *testing.T) {
	w := newWorkbench(t)
	x := w.leaf(2, 3)
	y := w.mul(x, x) // both inputs are one leaf
	z := w.sum(w.do("add", []*tensor.Tensor{y, w.mul(y, x)}))
	w.backward(z)
	w.wantGrad(x, 2*2+3*4, 2*3+3*9) // of x² + x³
	w.backward(z)
	w.wantGrad(x, 32, 66)
}

// A gradient that reaches two leaves is two tensors: changing one in place
// leaves the other.
func TestGradientsDoNotShare(t *testing.T) {
	w := newWorkbench(t)
	x, y := w.leaf(1), w.leaf(2)
	w.backward(w.sum(w.do("add", []*tensor.Tensor{x, y})))
	w.do("fill_", []*tensor.Tensor{x.Auto.Grad, tensor.Number(9.0)})
	w.wantGrad(y, 1)
}

// A hook on a leaf sees its whole gradient once, one on a result sees that of
// the result; either may replace it.
func TestHooks(t *testing.T) {
	w := newWorkbench(t)
	x := w.leaf(3)
	calls := 0
	OnGrad(x, func(g *tensor.Tensor) (*tensor.Tensor, error) {
		calls++
		return nil, nil
	})
	y := w.mul(x, x)
	OnGrad(y, func(g *tensor.Tensor) (*tensor.Tensor, error) {
		return w.mul(g, tensor.Number(10.0)), nil
	})
	w.backward(w.sum(y))
	w.wantGrad(x, 60)
	if calls != 1 {
		t.Errorf("the hook of a leaf with two uses was called %d times, want 1", calls)
	}
	failed := errors.New("no")
	OnGrad(y, func(*tensor.Tensor) (*tensor.Tensor, error) { return nil, failed })
	if err := w.r.Backward(w.sum(y), nil, false); !errors.Is(err, failed) {
		t.Errorf("Backward with a failing hook: got error %v, want the hook's", err)
	}
}

// Gradients are made of operators, and can be differentiated: (x³)” = 6x.
func TestSecondDerivative(t *testing.T) {
	w := newWorkbench(t)
	x := w.leaf(2)
	y := w.sum(w.mul(w.mul(x, x), x))
	first, err := w.r.Grad([]*tensor.Tensor{y}, []*tensor.Tensor{x}, true)
	if err != nil {
		t.Fatal(err)
	}
	if x.Auto.Grad != nil {
		t.Error("Grad left a gradient in the leaf")
	}
	w.backward(w.sum(first[0]))
	w.wantGrad(x, 12)
}

// Grad tells of inputs that nothing depends on by nil, and refuses those that
// do not require grad.
func TestGradInputs(t *testing.T) {
	w := newWorkbench(t)
	x, other := w.leaf(1), w.leaf(1)
	y := w.mul(x, x)
	z := w.sum(y)
	got, err := w.r.Grad([]*tensor.Tensor{z}, []*tensor.Tensor{other, y, x}, false)
	if err != nil {
		t.Fatal(err)
	}
	if got[0] != nil || got[1] == nil || got[2] == nil || tensor.Data[float64](got[2])[0] != 2 {
		t.Errorf("Grad = %v, want nil, 1 and 2", got)
	}
	if _, err := w.r.Grad([]*tensor.Tensor{z}, []*tensor.Tensor{w.constant(1)}, false); err == nil {
		t.Error("Grad with respect to a constant succeeded")
	}
}

// An in-place change of a result becomes part of its history.
func TestInPlace(t *testing.T) {
	w := newWorkbench(t)
	x, k := w.leaf(2, 3), w.leaf(5, 7)
	y := w.do("clone", []*tensor.Tensor{x})
	w.do("mul_", []*tensor.Tensor{y, k})
	w.backward(w.sum(y))
	w.wantGrad(x, 5, 7)
	w.wantGrad(k, 2, 3)
}

// A change through a view becomes part of the history of what it is a view of,
// and of other views, made before or after.
func TestInPlaceOnView(t *testing.T) {
	w := newWorkbench(t)
	x, v := w.leaf(1, 2, 3), w.leaf(10)
	y := w.mul(x, tensor.Number(2.0))
	before := w.narrow(y, 0, 2)
	w.do("copy_", []*tensor.Tensor{w.narrow(y, 1, 1), v})
	after := w.narrow(y, 1, 2)
	w.backward(w.sum(w.do("add", []*tensor.Tensor{w.mul(before, before), w.mul(after, tensor.Number(3.0))})))
	// y is (2x0, v, 2x2): before squares the first two, after triples the last.
	w.wantGrad(x, 2*2*2, 0, 3*2)
	w.wantGrad(v, 2*10+3)
}

// A gradient that needs an element which has changed since is an error, and
// one that needs only its shape is not.
func TestChangedSince(t *testing.T) {
	w := newWorkbench(t)
	x := w.leaf(1, 2)
	y := w.mul(x, tensor.Number(3.0))
	squared := w.sum(w.mul(y, y))
	w.do("zero_", []*tensor.Tensor{y})
	err := w.r.Backward(squared, nil, false)
	if err == nil || !strings.Contains(err.Error(), "changed in place") {
		t.Errorf("Backward through a changed input: got error %v, want one about the change", err)
	}
	z := w.mul(x, tensor.Number(3.0))
	total := w.sum(z)
	w.do("zero_", []*tensor.Tensor{z})
	w.backward(total)
	w.wantGrad(x, 3, 3)
}

func TestInPlaceRefusals(t *testing.T) {
	w := newWorkbench(t)
	leaf := w.leaf(1, 2)
	frozen := w.constant(1)
	frozen.Buffer().Freeze()
	wide := w.do("expand", []*tensor.Tensor{w.constant(1)}, op.IntsN(3))
	for _, c := range []struct {
		x    *tensor.Tensor
		want string
	}{
		{leaf, "a leaf that requires grad"},
		{w.narrow(leaf, 0, 1), "a leaf that requires grad"},
		{frozen, "a frozen tensor"},
		{wide, "an expanded tensor"},
	} {
		_, err := w.r.Apply(op.Lookup("zero_"), []*tensor.Tensor{c.x}, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("zero_ of %s: got error %v", c.want, err)
		}
	}
	restore := w.r.SetEnabled(false)
	w.do("zero_", []*tensor.Tensor{leaf})
	restore()
	if tensor.Data[float64](leaf)[1] != 0 {
		t.Error("zero_ of a leaf inside no_grad changed nothing")
	}
}

// Nodes run in reverse order of their creation, and those that always run do
// so though no gradient has reached them.
func TestOrder(t *testing.T) {
	w := newWorkbench(t)
	x := w.leaf(1)
	var ran []string
	custom := func(name string, always bool) *tensor.Tensor {
		y := w.constant(1)
		w.r.CustomAt(w.r.Reserve(), name, []*tensor.Tensor{x}, []*tensor.Tensor{y}, always, func(_ *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
			ran = append(ran, name)
			return dy, nil
		})
		return y
	}
	a, b, c := custom("a", false), custom("b", true), custom("c", false)
	// Nothing of b and c arrives: one_hot-like operators have no gradient.
	pair := w.constant(1)
	w.r.Custom("pair", []*tensor.Tensor{a, b, c}, []*tensor.Tensor{pair}, func(_ *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return []*tensor.Tensor{dy[0], nil, nil}, nil
	})
	w.backward(pair)
	if got := strings.Join(ran, " "); got != "b a" {
		t.Errorf("ran %q, want \"b a\"", got)
	}
	w.wantGrad(x, 1)
}

// A record keeps what gradients read: of a large tensor that they do not read the
// shape, and of a product each factor if the other's gradient is wanted.
func TestRecordsKeepWhatGradientsRead(t *testing.T) {
	for _, c := range []struct {
		name   string
		second bool   // whether the second input requires grad
		keeps  []bool // of the inputs and the result
	}{
		{"add", true, []bool{false, false, false}},
		{"mul", false, []bool{false, true, false}},
		{"mul", true, []bool{true, true, false}},
		{"div", true, []bool{true, true, true}},
	} {
		w := newWorkbench(t)
		x, y := w.leaf(make([]float64, large/8)...), w.constant(make([]float64, large/8)...)
		if c.second {
			y.Auto = &tensor.Auto{Requires: true}
		}
		z := w.do(c.name, []*tensor.Tensor{x, y})
		call := z.Auto.Node.(*node).call
		for i, kept := range append(clone(call.In), call.Out...) {
			if got := kept.Buffer() != nil; got != c.keeps[i] {
				t.Errorf("%s, second requires grad %v, tensor %d: kept %v, want %v", c.name, c.second, i, got, c.keeps[i])
			}
		}
		if z.Buffer() == nil {
			t.Errorf("%s: the result has lost its elements", c.name)
		}
	}
}

// What is gathered is made again for each pass, once for all that reads it, and what a
// change has made wrong is an error.
func TestMadeAgain(t *testing.T) {
	w := newWorkbench(t)
	x := w.leaf(1, 2)
	times := 0
	gather := func() *tensor.Tensor {
		y := w.constant(1, 2, 1, 2)
		w.r.Conduct("gather", []*tensor.Tensor{x}, []*tensor.Tensor{y}, func(tape *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return []*tensor.Tensor{tape.Do("narrow", dy, op.Int1(0), op.Int1(0), op.Int1(2))}, nil
		})
		w.r.Moved(x, y, func() (*tensor.Tensor, error) { times++; return w.constant(1, 2, 1, 2), nil })
		return y
	}
	restore := w.r.SetAgain(true)
	y := gather()
	restore()
	sum := w.sum(w.mul(w.mul(y, y), y))
	if err := w.r.Backward(sum, nil, false); err != nil {
		t.Fatal(err)
	}
	if got := tensor.Data[float64](x.Auto.Grad); got[0] != 3 || got[1] != 12 || times != 1 {
		t.Errorf("got the gradient %v, gathered again %d times, want [3 12] and once", got, times)
	}
	restore = w.r.SetAgain(true)
	y = gather()
	restore()
	sum = w.sum(w.mul(y, y))
	x.Buffer().Changed()
	if err := w.r.Backward(sum, nil, false); err == nil || !strings.Contains(err.Error(), "gather again") {
		t.Errorf("got %v, want an error about what was changed", err)
	}
}

package grad

import (
	"bytes"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// fusedSize is a size of tensors that are taken in one pass, whose last block is short.
var fusedSize = shape.Shape{257, 257}

// newSpacious returns a workbench for large tensors, the memory of which it has from others that
// need theirs no more.
func newSpacious(t *testing.T) workbench {
	return workbench{t, New(&op.Ctx{Alloc: spacious(), Float: dtype.Float32})}
}

var spacious = sync.OnceValue(func() *tensor.Allocator { return tensor.NewAllocator(0) })

// normals are random numbers, somewhat more than a large tensor has.
var normals = sync.OnceValue(func() []float32 {
	draw := rand.New(rand.NewPCG(7, 8))
	list := make([]float32, 200003)
	for i := range list {
		list[i] = float32(draw.NormFloat64()) * 2
	}
	return list
})

// random returns a leaf of dtype dt, of shape s.
func (w workbench) random(draw *rand.Rand, dt dtype.DType, s shape.Shape) *tensor.Tensor {
	x, err := tensor.New(w.r.Ctx.Alloc, dtype.Float32, s)
	if err != nil {
		w.t.Fatal(err)
	}
	d, normals := tensor.Data[float32](x), normals()
	first := draw.IntN(len(normals))
	for i := range d {
		d[i] = normals[(first+i)%len(normals)]
		if i%97 == 0 {
			d[i] = [...]float32{0, 1, -1, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN())}[i/97%6]
		}
	}
	x = w.do("to", []*tensor.Tensor{x}, op.Int1(int(dt)))
	if dt.IsFloat() {
		x.Auto = &tensor.Auto{Requires: true}
	}
	return x
}

// arguments returns tensors of shape s and other arguments for d.
func (w workbench) arguments(draw *rand.Rand, d *op.Def, dt dtype.DType, s shape.Shape) (in []*tensor.Tensor, args []op.Arg) {
	for _, p := range d.Params {
		switch {
		case p.Kind == op.OptTensor || p.Kind == op.OptOperand:
			in = append(in, nil)
		case p.Name == "weight":
			x := w.random(draw, dt, shape.Shape{1})
			x.Auto = nil
			in = append(in, x)
		case p.IsTensor():
			in = append(in, w.random(draw, dt, s))
		case p.Default != nil:
			args = append(args, *p.Default)
		default:
			args = append(args, op.Arg{Float: 0.75, Int: 1, Set: true})
		}
	}
	return in, args
}

// What is computed in one pass, and its gradients, also those of gradients, has the bits of
// the operators that it is made of, applied one by one.
func TestFused(t *testing.T) {
	for _, d := range op.Composites() {
		if !d.Pointwise {
			continue
		}
		for _, dt := range []dtype.DType{dtype.Float32, dtype.BFloat16, dtype.Int32} {
			t.Run(d.Name+"/"+dt.String(), func(t *testing.T) {
				together, apart := newSpacious(t), newSpacious(t)
				together.r.Ctx.Workers = crew.NewWorkers(3)
				apart.r.Ctx.Ran = func(*op.Call) {}
				got, gotErr := together.fusedResults(d, dt)
				want, wantErr := apart.fusedResults(d, dt)
				sameResults(t, got, gotErr, want, wantErr)
			})
		}
	}
}

// sameResults reports a result or an error that is another than the one wanted.
func sameResults(t *testing.T, got []*tensor.Tensor, gotErr error, want []*tensor.Tensor, wantErr error) {
	t.Helper()
	if (gotErr == nil) != (wantErr == nil) || gotErr != nil && gotErr.Error() != wantErr.Error() {
		t.Fatalf("the error is %v, want %v", gotErr, wantErr)
	}
	for i := range want {
		if (got[i] == nil) != (want[i] == nil) {
			t.Fatalf("result %d is %v, want %v", i, got[i], want[i])
		}
		if got[i] != nil && (got[i].DType() != want[i].DType() || !bytes.Equal(bytesOf(t, got[i]), bytesOf(t, want[i]))) {
			t.Errorf("result %d differs: %s, want %s", i, op.Describe(got[i]), op.Describe(want[i]))
		}
	}
}

// bytesOf returns the elements of x in order.
func bytesOf(t *testing.T, x *tensor.Tensor) []byte {
	if !x.Contiguous() {
		x = newWorkbench(t).do("contiguous", []*tensor.Tensor{x})
	}
	return x.Bytes()
}

// fusedResults returns what d makes of tensors of dtype dt, the gradients, and the gradients of their
// sums.
func (w workbench) fusedResults(d *op.Def, dt dtype.DType) ([]*tensor.Tensor, error) {
	draw := rand.New(rand.NewPCG(1, 2))
	in, args := w.arguments(draw, d, dt, fusedSize)
	return w.withGradients(draw, in, true, func() ([]*tensor.Tensor, error) { return w.r.Apply(d, in, args) })
}

// withGradients returns what f makes and its gradients for leaves; and if second is true these once
// more, recorded, and the gradients of their sums.
func (w workbench) withGradients(draw *rand.Rand, leaves []*tensor.Tensor, second bool, f func() ([]*tensor.Tensor, error)) ([]*tensor.Tensor, error) {
	out, err := f()
	if err != nil {
		return nil, err
	}
	loss, leaves := w.lossOf(draw, leaves, out[0])
	if loss == nil {
		return out, nil
	}
	first, err := w.r.Grad(loss, leaves, false)
	if out = append(out, first...); err != nil || !second {
		return out, err
	}
	recorded, err := w.r.Grad(loss, leaves, true)
	if err != nil {
		return nil, err
	}
	out = append(out, recorded...)
	for _, g := range recorded {
		if g == nil || !g.RequiresGrad() {
			continue
		}
		again, err := w.r.Grad([]*tensor.Tensor{w.sum(g)}, leaves, false)
		if err != nil {
			return nil, err
		}
		out = append(out, again...)
	}
	return out, nil
}

// lossOf returns a sum of y, which is made of in, with random weights, and those of in that require
// grad; nil if y does not.
func (w workbench) lossOf(draw *rand.Rand, in []*tensor.Tensor, y *tensor.Tensor) (loss, leaves []*tensor.Tensor) {
	if !y.RequiresGrad() {
		return nil, nil
	}
	for _, x := range in {
		if x != nil && x.RequiresGrad() {
			leaves = append(leaves, x)
		}
	}
	dy := w.random(draw, y.DType(), y.Shape())
	dy.Auto = nil
	return []*tensor.Tensor{w.sum(w.mul(y, dy))}, leaves
}

// A composite that is made in one pass is one node, and its gradient is refused where an input that it reads
// was changed.
func TestFusedNode(t *testing.T) {
	w := newWorkbench(t)
	draw := rand.New(rand.NewPCG(3, 4))
	x := w.random(draw, dtype.Float32, fusedSize)
	y := w.do("F.leaky_relu", []*tensor.Tensor{x}, op.Float1(0.25))
	if n := y.Auto.Node.(*node); n.name != "leaky_relu" || n.in[0].leaf != x {
		t.Errorf("the result was made by %s, of which the input is %v", n.name, n.in[0].leaf)
	}
	x.Auto = nil
	w.do("fill_", []*tensor.Tensor{x, tensor.Number(1.0)})
	x.Auto = &tensor.Auto{Requires: true}
	const want = "backward: got a tensor needed for the gradient of leaky_relu that was changed in place, want it as it was (clone it before the change)"
	if err := w.r.Backward(w.sum(y), nil, false); err == nil || err.Error() != want {
		t.Errorf("after a change: %v, want %s", err, want)
	}
}

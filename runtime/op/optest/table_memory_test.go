package optest

import (
	"errors"
	goruntime "runtime"
	"slices"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Storage beyond the collector's heap stays as long as an operator reads it:
// with buffers that are overwritten when they are released, and collections
// under way meanwhile, large inputs give what they give otherwise.
func TestTableReleasedBuffers(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if dt == dtype.Float64 {
			dt = dtype.BFloat16 // whose operands are widened on the way
		}
		for _, from := range sizesOf(ex)[1:] {
			big := ex.resized(from, 9000)
			if !big.moderate() {
				continue
			}
			if tr := newTrial(d, big, dt); tr.moderate() && tr.checkReleased(t) {
				return 1
			}
		}
		return 0
	})
}

// whileCollecting runs f with collections going on.
func whileCollecting(f func()) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				goruntime.GC()
			}
		}
	}()
	f()
	close(stop)
	<-stopped
}

// mostElements is how many elements an input or a result may have there.
const mostElements = 100000

// moderate reports whether the inputs are no larger than that.
func (e example) moderate() bool {
	return !slices.ContainsFunc(e.in, func(in input) bool { return in.shape.Numel() > mostElements })
}

// moderate reports whether the results are no larger than that.
func (tr *trial) moderate() bool {
	bare := &trial{d: tr.d, ex: tr.ex, args: tr.args}
	for _, x := range tr.in {
		if x != nil && !x.Weak() {
			x = x.ShapeOnly()
		}
		bare.in = append(bare.in, x)
	}
	c, err := bare.apply()
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(c.Spec, func(s op.Spec) bool { return s.Shape.Numel() > mostElements })
}

// checkReleased compares tr in an allocator that poisons what is released with
// itself in another. It reports false if it needs too much memory.
func (tr *trial) checkReleased(t *testing.T) bool {
	t.Helper()
	poisoned := tensor.NewAllocator(32 << 20)
	poisoned.Poison = true
	ctx := newCtx()
	ctx.Alloc = poisoned
	copies := slices.Clone(tr.in)
	for i, x := range copies {
		if x != nil && !x.Weak() {
			copies[i] = packed(x)
		}
	}
	var got *op.Call
	var err error
	whileCollecting(func() { got, err = op.Apply(ctx, tr.d, copies, tr.args) })
	var full *op.ResourceError
	if errors.As(err, &full) {
		return false
	}
	want, errWant := tr.apply()
	if (err == nil) != (errWant == nil) {
		t.Errorf("%v: error %v with a poisoned allocator, %v without", tr, err, errWant)
	}
	if err != nil || errWant != nil {
		return true
	}
	for i := range got.Out {
		if !same(got.Out[i], want.Out[i]) {
			t.Errorf("%v: result %d differs when released buffers are overwritten", tr, i)
		}
	}
	return true
}

package optest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// What an operator is composed of gives, of plain tensors, the operator's
// results in every dtype, and its gradients.
func TestTableCompose(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if d.Compose == nil {
			return 0
		}
		cases := 0
		for _, dt := range dtype.Reals {
			cases += composeCase(t, d, ex, dt)
		}
		for _, from := range sizesOf(ex) {
			for _, to := range []int{0, 1} {
				cases += composeCase(t, d, ex.resized(from, to), dt)
			}
		}
		if differentiable(d, ex, dt) && ex.rough == "" {
			composeGradients(t, newTrial(d, ex, dt))
		}
		return cases
	})
}

// TestTableComposeNotFinite is TestTableCompose with NaN or an infinity among
// the elements of an input.
func TestTableComposeNotFinite(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if d.Compose == nil || dt != dtype.Float64 {
			return 0
		}
		cases := 0
		for k, in := range ex.in {
			if in.fixed || in.shape.Numel() == 0 {
				continue
			}
			for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				tr, again := newTrial(d, ex, dt), newTrial(d, ex, dt)
				put(tr.in[k], tr.in[k].Numel()/2, v)
				put(again.in[k], again.in[k].Numel()/2, v)
				cases += compareComposed(t, tr, again)
			}
		}
		return cases
	})
}

func composeCase(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
	t.Helper()
	return compareComposed(t, newTrial(d, ex, dt), newTrial(d, ex, dt))
}

// compareComposed compares what the operator of tr is composed of with the
// operator, and with what it does to its inputs; again is tr once more. It
// returns how many cases there were.
func compareComposed(t *testing.T, tr, again *trial) int {
	t.Helper()
	draws, drawn := 0, 0
	want, draws, err := drawing(tr)
	if err != nil {
		return 0
	}
	var got []*tensor.Tensor
	err = caught(func() { got = composed(again, applier{countingCtx(&drawn)}) })
	if err != nil {
		t.Errorf("%v, composed: %v", tr, err)
		return 1
	}
	if got == nil {
		return 0 // it has nothing better
	}
	if draws != drawn {
		t.Errorf("%v, composed: %d random draws, want %d", tr, drawn, draws)
	}
	if len(got) != len(want.Out) {
		t.Errorf("%v, composed: %d results, want %d", tr, len(got), len(want.Out))
		return 1
	}
	for i, y := range got {
		compareClose(t, fmt.Sprintf("%v, composed: result %d", tr, i), tr, y, want.Out[i])
	}
	for i := range tr.ex.writes {
		compareClose(t, fmt.Sprintf("%v, composed: what it writes into input %d", tr, i), tr, again.in[i], tr.in[i])
	}
	return 1
}

// composed returns what the operator of tr is composed of; nil if of nothing.
func composed(tr *trial, a op.Applier) []*tensor.Tensor {
	c := &op.Call{Def: tr.d, Ctx: newCtx(), In: slices.Clone(tr.in), Args: tr.args}
	if err := tr.d.Infer(c); err != nil {
		panic(err)
	}
	return tr.d.Compose(&op.Tape{A: a}, c)
}

// compareClose compares two results up to the rounding of some operations on
// inputs as large as those of tr.
func compareClose(t *testing.T, what string, tr *trial, got, want *tensor.Tensor) {
	t.Helper()
	if got.DType() != want.DType() || !got.Shape().Equal(want.Shape()) {
		t.Errorf("%s is %v, want %v", what, op.Describe(got), op.Describe(want))
		return
	}
	g, w := list(got), list(want)
	for i := range g {
		tol := 0.0
		if dt := want.DType(); dt.IsFloat() {
			tol = 64*composeRoundoff(tr, dt)*(math.Abs(w[i])+tr.magnitude()) + tiny(dt)
		}
		if class(g[i]) != class(w[i]) || class(w[i]) == "finite" && math.Abs(g[i]-w[i]) > tol {
			t.Errorf("%s, element %d: got %v, want %v", what, i, g[i], w[i])
			return
		}
	}
}

// composeRoundoff returns the largest rounding of dt and of the inputs of tr:
// what is composed rounds after each operator.
func composeRoundoff(tr *trial, dt dtype.DType) float64 {
	r := roundoff(dt)
	for _, x := range tr.in {
		if x != nil && x.DType().IsFloat() && !x.Weak() {
			r = max(r, roundoff(x.DType()))
		}
	}
	return r
}

// composeGradients compares the gradients of what the operator of tr is
// composed of with the operator's.
func composeGradients(t *testing.T, tr *trial) {
	t.Helper()
	err := caught(func() {
		s, err := newScene(tr)
		if err != nil || len(s.variables()) == 0 {
			return
		}
		_, want, _ := s.gradients(false)
		got := s.composedGradients(tr)
		for i := range got {
			compareClose(t, fmt.Sprintf("%v, composed: gradient of variable %d", tr, i), tr, got[i], want[i])
		}
	})
	if err != nil {
		t.Errorf("%v, gradients composed: %v", tr, err)
	}
}

// composedGradients is gradients of what the operator is composed of; nil if
// of nothing.
func (s *scene) composedGradients(tr *trial) []*tensor.Tensor {
	rec := grad.New(newCtx())
	in, weights, vars := s.leaves()
	out := composed(&trial{d: tr.d, ex: tr.ex, in: in, args: tr.args}, rec)
	if out == nil {
		return nil
	}
	grads, err := rec.Grad([]*tensor.Tensor{s.weighted(rec, out, weights)}, vars, false)
	if err != nil {
		panic(err)
	}
	for i, g := range grads {
		if g == nil {
			grads[i] = zerosLike(vars[i])
		}
	}
	return grads
}

package optest

import (
	"strings"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

// A target that is no class is the caller's mistake, whatever the loss is
// composed of.
func TestComposedLossNamesItself(t *testing.T) {
	for _, name := range []string{"cross_entropy", "nll_loss"} {
		tr := newTrial(op.Lookup(name), call(values(4, 3), literal(dtype.Int64, []int{4}, 0, 1, 3, 2), none()), dtype.Float64)
		err := caught(func() { composed(tr, applier{newCtx()}) })
		want := name + `: for parameter "target": got 3 at index (2,), want 0..2 (the classes of x)`
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}

// Targets that do not count leave a mean of nothing, which is NaN, and no
// gradient, as of the operator itself.
func TestComposedLossOfNothing(t *testing.T) {
	d := op.Lookup("cross_entropy")
	ex := call(values(2, 3), literal(dtype.Int64, []int{2}, 1, 1), none(), op.Int1(1))
	compareComposed(t, newTrial(d, ex, dtype.Float64), newTrial(d, ex, dtype.Float64))
	composeGradients(t, newTrial(d, ex, dtype.Float64))
}

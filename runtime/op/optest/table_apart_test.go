package optest

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// An operator whose gradients are Apart makes each alone as it makes it beside the others, from what a record of that
// input alone keeps.
func TestTableApart(t *testing.T) {
	found := 0
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if !d.Apart || dt != dtype.Float64 {
			return 0
		}
		tr := newTrial(d, ex, dt)
		wanted := func(i int) bool { return tr.in[i] != nil && tr.in[i].DType() == dtype.Float64 && !ex.fixed[i] }
		require := func(only int) { // the gradient of that input, -1 for all
			for i, x := range tr.in {
				if x != nil {
					x.Auto = nil
					if wanted(i) && (only < 0 || i == only) {
						x.Auto = &tensor.Auto{Requires: true}
					}
				}
			}
		}
		c, err := tr.apply()
		if err != nil {
			return 0
		}
		dy := []*tensor.Tensor{unit(c.Out[0].Shape()...).make(testAlloc, dt, 3)}
		tape := &op.Tape{A: grad.New(newCtx())}
		require(-1)
		all := d.Grad(tape, c, dy)
		for i := range tr.in {
			if !wanted(i) {
				continue
			}
			require(i)
			if alone := d.Grad(tape, c.Recorded(0), dy); !same(alone[i], all[i]) {
				t.Errorf("%v: the gradient of input %d alone is %v, beside others %v", tr, i, list(alone[i]), list(all[i]))
			}
			found++
		}
		return 1
	})
	if found < 20 {
		t.Errorf("got %d gradients, want 20 or more", found)
	}
}

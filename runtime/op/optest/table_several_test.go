package optest

import (
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

// An operator of which a call has more than one result says so, where scripts see it.
func TestTableSeveral(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		c, err := newTrial(d, ex, dt).run(t)
		if err == nil && d.Surface&(op.Function|op.Method|op.Namespace|op.Linalg) != 0 && len(c.Spec) > 1 && !d.List && !d.Several() {
			t.Errorf("%s has %d results, and Several says that it has one", d.Name, len(c.Spec))
		}
		return 1
	})
}

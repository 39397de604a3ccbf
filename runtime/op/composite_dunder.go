package op

import (
	"fmt"

	"tpsh/runtime/tensor"
)

// What Python calls of a tensor that stands on the right of a symbol, or on the left.
// Scripts write the symbol: 2 - x.
var reflected = []struct{ name, symbol, by, example, shows string }{
	{"__radd__", "+", "add", "tensor([1]).__radd__(2)", "[3]"},
	{"__rsub__", "-", "sub", "tensor([1]).__rsub__(3)", "[2]"},
	{"__rmul__", "*", "mul", "tensor([2]).__rmul__(3)", "[6]"},
	{"__rdiv__", "/", "div", "tensor([2.0]).__rdiv__(3)", "[1.5]"},
	{"__rmod__", "%", "mod", "tensor([3]).__rmod__(5)", "[2]"},
	{"__rpow__", "**", "pow", "tensor([3]).__rpow__(2)", "[8]"},
	{"__rmatmul__", "@", "matmul", "tensor([3]).__rmatmul__(tensor([2]))", "6"},
	{"__rand__", "&", "and", "tensor([3]).__rand__(6)", "[2]"},
	{"__ror__", "|", "or", "tensor([3]).__ror__(6)", "[7]"},
	{"__rxor__", "^", "xor", "tensor([3]).__rxor__(6)", "[5]"},
}

func init() {
	for _, r := range reflected {
		d := &Def{Name: r.name, Surface: Method, Params: xOther,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(x, other) returns other %s x.\n>>> %s.tolist()\n%s", r.name, r.symbol, r.example, r.shows)
			}}
		if r.name == "__rdiv__" {
			d.Aliases = []string{"__rtruediv__"}
		}
		compositeOf(d, func(m *maker) []*tensor.Tensor { return one(m.binary(r.by, m.x(1), m.x(0))) })
	}
}

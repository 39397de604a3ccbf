package builtins

import (
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// An extra is a keyword of PyTorch that is no parameter of the operators that take it:
// another operator, before or after, does what it says, and is recorded as what it is.
type extra struct {
	name string
	of   []*op.Def
	// apply changes a call, all arguments of which are there, so that it does as v says.
	apply func(b *binding, v starlark.Value) error
}

var extras = []*extra{
	{"alpha", defs("add", "sub", "add_", "sub_"), scaleOther},
	{"dtype", defs("sum", "mean", "prod", "cumsum", "cumsum_all", "cumprod", "nansum", "nanmean"), castFirst},
	{"rounding_mode", defs("div", "div_"), roundQuotient},
	{"as_tuple", defs("nonzero"), apartByDim},
	{"unbiased", defs("var", "std", "var_mean", "std_mean"), setCorrection},
}

// The operators that extras are made of, looked up once.
var (
	divOp    = op.Lookup("div")
	truncOp  = op.Lookup("trunc")
	fmodOp   = op.Lookup("fmod")
	floorOp  = op.Lookup("floordiv")
	unbindOp = op.Lookup("unbind")
)

// defs returns operators by their names.
func defs(names ...string) []*op.Def {
	list := make([]*op.Def, len(names))
	for i, name := range names {
		if list[i] = op.Lookup(name); list[i] == nil {
			panic("builtins: no operator " + name)
		}
	}
	return list
}

// extrasOf returns the extras of an operator.
func extrasOf(d *op.Def) (list []*extra) {
	for _, x := range extras {
		if slices.Contains(x.of, d) {
			list = append(list, x)
		}
	}
	return list
}

// An asked is an extra that a call has, and its value.
type asked struct {
	*extra
	v starlark.Value
}

// ask notes the keyword called name if it is an extra of the operator.
func (b *binding) ask(name string, v starlark.Value) bool {
	for _, x := range b.extras {
		if x.name == name {
			b.asked = append(b.asked, asked{x, v})
			return true
		}
	}
	return false
}

// do applies an operator of one result.
func (b *binding) do(d *op.Def, in []*tensor.Tensor, args ...op.Arg) (*tensor.Tensor, error) {
	y, err := invokeOne(b.env, d, in, args...)
	return y, arg.Rename(b.name, err)
}

// scaleOther multiplies other by alpha, a number.
func scaleOther(b *binding, v starlark.Value) error {
	alpha, err := ToOperand(v)
	if err != nil || alpha.Ndim() > 0 {
		return arg.Bad(v, "a number", "")
	}
	b.in[1], err = b.do(binaryOps[syntax.STAR], []*tensor.Tensor{b.in[1], alpha})
	return err
}

// castFirst converts the operand before anything is added up, and the result where it
// would be wider.
func castFirst(b *binding, v starlark.Value) error {
	var dt arg.OptDType
	if err := dt.Unpack(v); err != nil || !dt.Set {
		return err
	}
	x, err := b.do(toOp, b.in[:1], op.Int1(int(dt.V.D)))
	if err != nil {
		return err
	}
	b.in[0] = x
	y, err := b.do(b.does, b.in, b.args...)
	if err == nil && y.DType() != dt.V.D { // sums of ints are int64
		y, err = b.do(toOp, []*tensor.Tensor{y}, op.Int1(int(dt.V.D)))
	}
	b.done = []*tensor.Tensor{y}
	return err
}

// setCorrection has the number of elements lessened by 1, or by nothing.
func setCorrection(b *binding, v starlark.Value) error {
	var unbiased arg.Bool
	if err := unbiased.Unpack(v); err != nil {
		return err
	}
	i := slices.IndexFunc(b.slots, func(p slot) bool { return p.Name == "correction" })
	if b.given&(1<<i) != 0 {
		return arg.Bad(v, "no other word", "correction says it, too")
	}
	b.args[b.slots[i].at] = op.Float1(0)
	if unbiased {
		b.args[b.slots[i].at] = op.Float1(1)
	}
	return nil
}

// roundQuotient has a quotient rounded, which is of ints an int: down, as // does, or
// towards 0.
func roundQuotient(b *binding, v starlark.Value) error {
	mode, _ := starlark.AsString(v)
	switch {
	case v == starlark.None:
		return nil
	case mode != "floor" && mode != "trunc":
		return arg.Bad(v, `"floor", "trunc" or None`, "")
	}
	x, y := b.in[0], b.in[1]
	ints := !x.DType().IsFloat() && !y.DType().IsFloat()
	var q *tensor.Tensor
	var err error
	switch {
	case mode == "floor":
		q, err = b.do(floorOp, []*tensor.Tensor{x, y})
	case ints:
		if q, err = b.do(fmodOp, []*tensor.Tensor{x, y}); err == nil {
			if q, err = b.do(binaryOps[syntax.MINUS], []*tensor.Tensor{x, q}); err == nil {
				q, err = b.do(floorOp, []*tensor.Tensor{q, y})
			}
		}
	default:
		if q, err = b.do(divOp, []*tensor.Tensor{x, y}); err == nil {
			q, err = b.do(truncOp, []*tensor.Tensor{q})
		}
	}
	if err != nil {
		return err
	}
	if b.def.InPlace && q.DType().IsFloat() && !x.DType().IsFloat() {
		return &op.ArgError{Param: "x", Got: op.Describe(x), Want: "a tensor that takes " + q.DType().String(), Rule: "the value is of a wider kind: convert one of the two"}
	}
	if b.def.InPlace {
		b.does, b.in = storeOp, []*tensor.Tensor{x, q}
		return nil
	}
	b.done = []*tensor.Tensor{q}
	return nil
}

// apartByDim has the indices of elements in a tuple, a tensor for each dim; a number counts as
// a row of one.
func apartByDim(b *binding, v starlark.Value) error {
	var apart arg.Bool
	if err := apart.Unpack(v); err != nil || !bool(apart) {
		return err
	}
	if b.in[0].Ndim() == 0 {
		row, err := b.do(reshapeOp, b.in, op.IntsN(1))
		if err != nil {
			return err
		}
		b.in = []*tensor.Tensor{row}
	}
	rows, err := b.do(b.does, b.in, b.args...)
	if err != nil {
		return err
	}
	b.tuple = true
	b.done, err = b.env.invoke(unbindOp, []*tensor.Tensor{rows}, []op.Arg{op.Int1(1)})
	return arg.Rename(b.name, err)
}

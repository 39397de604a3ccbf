package op

import (
	"errors"
	"slices"
	"strings"

	"tpsh/runtime/tensor"
)

// composites are the operators that are made of others; see Def.Make.
var composites = make(map[string]*Def, 512)

// A maker makes the results of a composite operator of those of other operators.
// Its methods panic with a *TapeError if one of these fails.
type maker struct {
	*Tape
	c *Call
}

// compositeOf adds an operator that is made of others to the table: its gradient,
// its sharding and its dtypes are theirs.
func compositeOf(d *Def, mk func(m *maker) []*tensor.Tensor) {
	key := d.Name
	for _, space := range Spaces { // the name may be that of a method, too
		if d.Surface == space.Surface {
			key = space.Script + "." + key
		}
	}
	if _, dup := composites[key]; dup {
		panic("op: " + key + " registered twice")
	}
	d.Make = func(t *Tape, c *Call) []*tensor.Tensor { return mk(&maker{t, c}) }
	d.onePass, d.keeps = onePasses[d.Name], keeps[d.Name]
	alsoNamed(key, d)
	composites[key] = d
}

// pointwise returns a composite that is made of elementwise operators, and is in no table.
func pointwise(name string, params []Param, mk func(m *maker) *tensor.Tensor) *Def {
	return &Def{Name: name, Surface: Internal, Params: params, Pointwise: !keeping[name], onePass: onePasses[name], keeps: keeps[name],
		Make: func(t *Tape, c *Call) []*tensor.Tensor { return one(mk(&maker{t, c})) }}
}

// Composites returns the operators that are made of others, by name.
func Composites() []*Def {
	defs := make([]*Def, 0, len(composites))
	for _, d := range composites {
		defs = append(defs, d)
	}
	slices.SortFunc(defs, func(a, b *Def) int { return strings.Compare(a.Name, b.Name) })
	return defs
}

// Make returns the results of a composite operator, which a applies others for.
// An error of one of these is told as the composite's own.
func Make(a Applier, ctx *Ctx, d *Def, in []*tensor.Tensor, args []Arg) (out []*tensor.Tensor, err error) {
	defer func() {
		var bad *ArgError
		if errors.As(err, &bad) && bad.Func != d.Name {
			bad.Func = d.Name
			if !slices.ContainsFunc(d.Params, func(p Param) bool { return p.Name == bad.Param }) {
				bad.Param = ""
			}
		}
		var unknown *UnknownError
		if errors.As(err, &unknown) && unknown.Func != d.Name {
			unknown.Func = d.Name
			if !slices.ContainsFunc(d.Params, func(p Param) bool { return p.Name == unknown.Size }) {
				unknown.Size = ""
			}
		}
	}()
	if n := len(d.Params); n > 0 && d.Params[n-1].Kind == Tensors && len(in) == 0 {
		return nil, &ArgError{Func: d.Name, Param: d.Params[n-1].Name, Got: "an empty list", Want: "at least one tensor"}
	}
	defer Recover(&err)
	return d.Make(&Tape{a}, &Call{Def: d, Ctx: ctx, In: in, Args: args}), nil
}

// x returns the i-th tensor argument.
func (m *maker) x(i int) *tensor.Tensor { return m.c.In[i] }

// int returns the i-th argument that is no tensor, an int.
func (m *maker) int(i int) int { return m.c.Args[i].Int }

// float returns the i-th argument that is no tensor, a float.
func (m *maker) float(i int) float64 { return m.c.Args[i].Float }

// bool returns the i-th argument that is no tensor, a bool.
func (m *maker) bool(i int) bool { return m.c.Args[i].Int != 0 }

// do returns the first result of the operator called name.
func (m *maker) do(name string, x *tensor.Tensor, args ...Arg) *tensor.Tensor {
	return m.Do(name, []*tensor.Tensor{x}, args...)
}

// all returns all results of the operator called name.
func (m *maker) all(name string, in []*tensor.Tensor, args ...Arg) []*tensor.Tensor {
	return slices.Clone(m.several(name, in, args...)) // the call keeps its own for its gradient
}

// check ends the making with err, if it is one.
func (m *maker) check(err error) {
	if err != nil {
		panic(&TapeError{err})
	}
}

// refuse ends the making with an error about a parameter.
func (m *maker) refuse(param, got, want, rule string) { m.check(m.c.Bad(param, got, want, rule)) }

// dim returns the dim that Args[i] names, counted from the front, of x; a tensor
// of shape () counts as a row of one element.
func (m *maker) dim(i int, x *tensor.Tensor) int {
	d, err := m.c.axis(i, x.Shape())
	m.check(err)
	return d
}

// number returns the number v as an operand that widens no dtype of its kind.
func number(v float64) *tensor.Tensor { return tensor.Number(v) }

// integer is number of an integer.
func integer(v int) *tensor.Tensor { return tensor.Number(int64(v)) }

// less, greater and the like compare elementwise.
func (m *maker) less(x, y *tensor.Tensor) *tensor.Tensor    { return m.binary("lt", x, y) }
func (m *maker) greater(x, y *tensor.Tensor) *tensor.Tensor { return m.binary("gt", x, y) }
func (m *maker) same(x, y *tensor.Tensor) *tensor.Tensor    { return m.binary("eq", x, y) }
func (m *maker) and(x, y *tensor.Tensor) *tensor.Tensor     { return m.binary("and", x, y) }
func (m *maker) or(x, y *tensor.Tensor) *tensor.Tensor      { return m.binary("or", x, y) }
func (m *maker) not(x *tensor.Tensor) *tensor.Tensor        { return m.unary("invert", x) }

// truth returns whether elements differ from 0.
func (m *maker) truth(x *tensor.Tensor) *tensor.Tensor { return m.binary("ne", x, integer(0)) }

// floats returns x, or integers and bools as the default float dtype.
func (m *maker) floats(x *tensor.Tensor) *tensor.Tensor {
	if x.DType().IsFloat() || x.DType().IsComplex() {
		return x
	}
	return m.Cast(x, m.c.Ctx.Float)
}

// kept returns operand i, ints as floats of the dtype of operand j if that has any, which
// they do not widen then.
func (m *maker) kept(i, j int) *tensor.Tensor {
	x, y := m.x(i), m.x(j)
	if x.DType().IsFloat() || !y.DType().IsFloat() || len(y.Shape()) < len(x.Shape()) && len(y.Shape()) == 0 {
		return m.floats(x)
	}
	return m.Cast(x, y.DType())
}

// reduced returns x, its mean or its sum, as Args[i], a Choice of a loss, says.
func (m *maker) reduced(i int, x *tensor.Tensor) []*tensor.Tensor {
	if how := m.c.Args[i].Str; how != "none" {
		x = m.do(how, x, None, Arg{})
	}
	return one(x)
}

// Parameters that many operators have.
var (
	inX       = Param{Name: "x", Kind: Tensor, Doc: "a tensor"}
	inOther   = Param{Name: "other", Kind: Operand, Doc: "a tensor or a number"}
	inTensors = Param{Name: "tensors", Kind: Tensors, Doc: "a list of tensors"}
	inTarget  = Param{Name: "target", Kind: Tensor, Doc: "a tensor of the shape of x"}
	inDims    = Param{Name: "dim", Kind: Dims, Doc: "the dims to reduce, None for all", Default: Default(None), OrEmpty: true}
)

// inFloat is a float parameter with a default.
func inFloat(name, doc string, v float64) Param {
	return Param{Name: name, Kind: Float, Doc: doc, Default: Default(Float1(v))}
}

// inInt is an int parameter with a default.
func inInt(name, doc string, v int) Param {
	return Param{Name: name, Kind: Int, Doc: doc, Default: Default(Int1(v))}
}

// inDim is a dim with a default.
func inDim(name string, v int) Param {
	return Param{Name: name, Kind: Dim, Doc: "a dim", Default: Default(Int1(v))}
}

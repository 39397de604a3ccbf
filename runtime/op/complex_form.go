package op

import (
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/tensor"
)

// complexForms says how an operator is made of others where one of its inputs, or
// the dtype it is asked for, is complex. A form that returns nil leaves the call to
// the operator itself.
var complexForms = map[string]func(m *maker) []*tensor.Tensor{}

// complexMoves are operators that take complex tensors as they are: they look at
// none of the elements.
var complexMoves = nameSet("view_as_real", "view_as_complex", "reshape", "flatten", "squeeze", "unsqueeze", "select", "narrow", "slice", "getitem", "at",
	"split", "chunk", "transpose", "permute", "T", "expand", "contiguous", "clone", "settle", "known_pinv", "known_sqrth")

func nameSet(names ...string) map[string]bool {
	set := map[string]bool{}
	for _, name := range names {
		set[name] = true
	}
	return set
}

// AnyComplex reports whether a call has to do with complex numbers.
func AnyComplex(d *Def, in []*tensor.Tensor, args []Arg) bool {
	for _, x := range in {
		if x != nil && x.DType().IsComplex() {
			return true
		}
	}
	return d.dtypeArg > 0 && args[d.dtypeArg-1].Set && dtype.DType(args[d.dtypeArg-1].Int).IsComplex()
}

// MakeComplex returns the results of a call for which AnyComplex holds, which a
// applies other operators for; nothing if the operator takes what it is given
// itself. An operator that has no complex form refuses.
func MakeComplex(a Applier, ctx *Ctx, d *Def, in []*tensor.Tensor, args []Arg) (out []*tensor.Tensor, err error) {
	if complexMoves[d.Name] {
		return nil, nil
	}
	c := &Call{Def: d, Ctx: ctx, In: in, Args: args}
	form := complexForms[d.Name]
	if form == nil {
		return nil, c.refuseComplex()
	}
	defer func() { err = renamed(err, d) }()
	defer Recover(&err)
	return form(&maker{&Tape{a}, c}), nil
}

// refuseComplex says that an operator has no complex form.
func (c *Call) refuseComplex() error {
	for i, x := range c.In {
		if x != nil && x.DType().IsComplex() {
			return c.Bad(c.InName(i), Describe(x), "a real tensor", "view_as_real(x), abs(x) and angle(x) are")
		}
	}
	return c.Bad(c.argName(c.Def.dtypeArg-1), dtype.DType(c.Args[c.Def.dtypeArg-1].Int).String(), "a dtype of real numbers", "")
}

// renamed gives an error of an operator that d is made of the name of d, and of
// its parameter.
func renamed(err error, d *Def) error {
	bad, ok := err.(*ArgError)
	if ok && bad.Func != d.Name {
		bad.Func = d.Name
		if !slices.ContainsFunc(d.Params, func(p Param) bool { return p.Name == bad.Param }) {
			bad.Param = ""
		}
	}
	return err
}

// A couple is a complex tensor as its two parts; im is nil for one that is real.
type couple struct{ re, im *tensor.Tensor }

// partsOf returns the parts of x in the real dtype dt. A number of a script that is
// real stays one.
func (m *maker) partsOf(x *tensor.Tensor, dt dtype.DType) couple {
	switch {
	case x.DType().IsComplex() && x.Weak():
		v := tensor.Data[complex128](x)[0]
		return couple{number(real(v)), number(imag(v))}
	case x.DType().IsComplex():
		return couple{m.Cast(m.realPart(x), dt), m.Cast(m.imagPart(x), dt)}
	case x.Weak():
		return couple{x, nil}
	}
	return couple{m.Cast(x, dt), nil}
}

// common returns the real dtype of the parts of what comes of in.
func (m *maker) common(in ...*tensor.Tensor) dtype.DType { return promote(m.c.Ctx, in...).Real() }

// whole returns the complex tensor of parts, in dtype dt.
func (m *maker) whole(p couple, dt dtype.DType) *tensor.Tensor {
	re, im := m.Cast(m.strong(p.re, dt), dt), p.im
	if im == nil {
		im = m.Do("zeros_like", one(re), None)
	} else {
		im = m.Cast(m.strong(im, dt), dt)
	}
	if !re.Shape().Equal(im.Shape()) {
		s := broadcastShape(re, im)
		re, im = m.Expand(re, s), m.Expand(im, s)
	}
	return m.pair(re, im)
}

// strong returns x, or a number of a script as a tensor.
func (m *maker) strong(x *tensor.Tensor, dt dtype.DType) *tensor.Tensor {
	if !x.Weak() {
		return x
	}
	return m.Do("full", one(x), IntsN(), Int1(int(dt)))
}

// The arithmetic of parts, of which an imaginary one that is nil is 0.

func (m *maker) addCouple(x, y couple) couple { return couple{m.Add(x.re, y.re), m.sum(x.im, y.im)} }

func (m *maker) subCouple(x, y couple) couple { return m.addCouple(x, m.negated(y)) }

func (m *maker) negated(x couple) couple {
	x.re = m.Neg(x.re)
	if x.im != nil {
		x.im = m.Neg(x.im)
	}
	return x
}

// sum returns x + y, of which one may be nil for 0.
func (m *maker) sum(x, y *tensor.Tensor) *tensor.Tensor {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return m.Add(x, y)
}

// bilinear returns what a bilinear operator makes of x and y.
func (m *maker) bilinear(x, y couple, by func(x, y *tensor.Tensor) *tensor.Tensor) couple {
	p := couple{re: by(x.re, y.re)}
	if x.im != nil && y.im != nil {
		p.re = m.Sub(p.re, by(x.im, y.im))
	}
	if y.im != nil {
		p.im = by(x.re, y.im)
	}
	if x.im != nil {
		p.im = m.sum(p.im, by(x.im, y.re))
	}
	return p
}

func (m *maker) mulCouple(x, y couple) couple { return m.bilinear(x, y, m.Mul) }

// squared returns the squares of the absolute values.
func (m *maker) squared(x couple) *tensor.Tensor {
	y := m.Mul(x.re, x.re)
	if x.im != nil {
		y = m.Add(y, m.Mul(x.im, x.im))
	}
	return y
}

func (m *maker) conjugate(x couple) couple {
	if x.im != nil {
		x.im = m.Neg(x.im)
	}
	return x
}

// divCouple returns x / y, by the conjugate of y.
func (m *maker) divCouple(x, y couple) couple {
	if y.im == nil {
		p := couple{m.Div(x.re, y.re), nil}
		if x.im != nil {
			p.im = m.Div(x.im, y.re)
		}
		return p
	}
	p, size := m.mulCouple(x, m.conjugate(y)), m.squared(y)
	return couple{m.Div(p.re, size), m.Div(p.im, size)}
}

// absolute returns |x| of a complex tensor; its gradient at 0 is 0, and so is that one's.
func (m *maker) absolute(x *tensor.Tensor) *tensor.Tensor {
	parts, d := m.unary("view_as_real", x), len(x.Shape())
	norm := func(parts *tensor.Tensor) *tensor.Tensor {
		return m.do("norm", parts, Float1(2), IntsN(d), Bool1(false))
	}
	if !x.RequiresGrad() {
		return norm(parts)
	}
	zero := m.same(norm(parts.Detach()), integer(0))
	return m.Where(zero, number(0), norm(m.Where(m.column(zero, d), number(1), parts)))
}

// phase returns the angles of parts.
func (m *maker) phase(x couple) *tensor.Tensor { return m.binary("atan2", x.im, x.re) }

// polar returns r (cos θ + i sin θ).
func (m *maker) polar(r, angle *tensor.Tensor) couple {
	return couple{m.Mul(r, m.unary("cos", angle)), m.Mul(r, m.unary("sin", angle))}
}

package nn

import (
	"math"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var orthogonalClass = &class{Name: "_Orthogonal", forward: orthogonalOf, inverse: originalOfOrthogonal}

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.utils.parametrizations.orthogonal",
		Doc: "orthogonal(module, name=\"weight\", orthogonal_map=None, use_trivialization=True) has a weight computed that is orthogonal, and returns the module: matrices [.., m, n] with orthonormal columns, or rows where m < n.\n" +
			"What is learned has the shape of the weight. Its lower triangle less the transpose of that,\n" +
			"a, gives exp(a) by the map \"matrix_exp\" and (1 + a/2) / (1 - a/2) by \"cayley\"; by\n" +
			"\"householder\" its columns below the diagonal are reflectors. If orthogonal_map is None it\n" +
			"is \"matrix_exp\" of square or complex matrices, else \"householder\". The result is\n" +
			"multiplied with the buffer parametrizations.NAME.0.base, which is the weight as it was or\n" +
			"is assigned, made orthogonal; without use_trivialization there is none, and only what\n" +
			"\"householder\" makes can be assigned.\n" +
			"Lezcano-Casado, \"Trivializations for gradient-based optimization on manifolds\", NeurIPS 2019.\n" +
			">>> w = nn.utils.parametrizations.orthogonal(nn.Linear(3, 5)).weight\n" +
			">>> (w.T @ w).allclose(eye(3), atol=1e-5)\nTrue",
		Fn: orthogonal,
	})
}

func orthogonal(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		how     starlark.Value = starlark.None
		trivial                = arg.Bool(true)
	)
	p, err := unpackParametrized(b, args, kwargs, "name?", "orthogonal_map?", &how, "use_trivialization?", &trivial)
	if err != nil {
		return nil, err
	}
	x, err := p.weight()
	if err != nil {
		return nil, err
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	if t.Ndim() < 2 {
		return nil, &op.ArgError{Func: p.fn, Param: "name", Got: op.Describe(t), Want: "matrices"}
	}
	if how == starlark.None {
		how = starlark.String("householder")
		if rows, cols := sizes(t); rows == cols || t.DType().IsComplex() {
			how = starlark.String("matrix_exp")
		}
	}
	if s, _ := starlark.AsString(how); !slices.Contains([]string{"matrix_exp", "cayley", "householder"}, s) {
		return nil, arg.In(p.fn, "orthogonal_map", arg.Bad(how, "\"matrix_exp\", \"cayley\", \"householder\" or None", ""))
	}
	if how == starlark.String("householder") && t.DType().IsComplex() {
		return nil, arg.In(p.fn, "orthogonal_map", arg.Bad(how, "\"matrix_exp\" or \"cayley\"", "the weight is complex"))
	}
	sub := newModule(e, orthogonalClass)
	sub.training = p.m.training
	sub.plain("orthogonal_map", how)
	if trivial {
		sub.Put(Field{"base", BufferField, starlark.None})
	}
	if p.m.Computes(p.name) {
		return p.m.Value, p.addBehind(sub, true)
	}
	originals := []starlark.Value{x}
	if bool(trivial) || how == starlark.String("householder") {
		if originals, err = p.originalsOf(x, sub); err != nil {
			return nil, err
		}
	}
	return p.m.Value, p.add(x, sub, originals, true)
}

// weight returns the parameter, or what it is computed as.
func (p *parametrized) weight() (*builtins.Tensor, error) {
	if !p.m.Computes(p.name) {
		return p.parameter("name")
	}
	defer p.m.env.Runtime.Tape.SetEnabled(false)()
	v, err := p.m.computed(p.name)
	if err != nil {
		return nil, err
	}
	return v.(*builtins.Tensor), nil
}

// sizes returns the two last sizes of t.
func sizes(t *tensor.Tensor) (rows, cols int) {
	s := t.Shape()
	return s[len(s)-2], s[len(s)-1]
}

// A tall is matrices with as many rows as columns or more: those that were given, or theirs
// transposed.
type tall struct {
	*builtins.OpChain
	turned bool
}

// stand returns t, or transposed if it has fewer rows than columns.
func (m *Module) stand(t *tensor.Tensor) (*tall, *tensor.Tensor) {
	rows, cols := sizes(t)
	c := &tall{&builtins.OpChain{E: m.env, Fn: m.Class.Name}, rows < cols}
	return c, c.asGiven(t)
}

// asGiven returns t, transposed if the matrices were.
func (c *tall) asGiven(t *tensor.Tensor) *tensor.Tensor {
	if !c.turned || c.Err != nil {
		return t
	}
	return c.Do("transpose", []*tensor.Tensor{t}, op.Int1(-2), op.Int1(-1))
}

// of applies an operator of one tensor, two applies one of two.
func (c *tall) of(name string, x *tensor.Tensor, args ...op.Arg) *tensor.Tensor {
	return c.Do(name, []*tensor.Tensor{x}, args...)
}

func (c *tall) two(name string, x, y *tensor.Tensor) *tensor.Tensor {
	return c.Do(name, []*tensor.Tensor{x, y})
}

// eye returns the identity of n by k as t has elements.
func (c *tall) eye(n, k int, dt dtype.DType) *tensor.Tensor {
	return c.of("to", c.Do("eye", nil, op.Int1(n), op.Int1(k), op.Int1(int(dtype.Float64))), op.Int1(int(dt)))
}

// orthogonalOf is the forward function of an orthogonal parametrization.
func orthogonalOf(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var in builtins.OneTensor
	if err := arg.Unpack(m.Class.Name, args, kwargs, "weight", &in); err != nil {
		return nil, err
	}
	c, x := m.stand(in.T)
	var q *tensor.Tensor
	if how, _ := starlark.AsString(m.Get("orthogonal_map")); how == "householder" {
		q = c.reflected(x)
	} else {
		q = c.rotation(x, how)
	}
	if base, ok := m.Get("base").(*builtins.Tensor); ok {
		t, err := base.Tensor()
		c.Fail(err)
		q = c.two("matmul", t, q)
	}
	if q = c.asGiven(q); c.Err != nil {
		return nil, c.Err
	}
	return m.env.Wrap(q), nil
}

// rotation returns the first columns of what a map makes of the lower triangle of x.
func (c *tall) rotation(x *tensor.Tensor, how string) *tensor.Tensor {
	if c.Err != nil {
		return nil
	}
	n, k := sizes(x)
	x = c.of("tril", x, op.Int1(0))
	if n != k {
		x = c.of("pad", x, op.IntsN(0, n-k), op.Str1("constant"), op.Float1(0))
	}
	a := c.two("sub", x, c.of("adjoint", x))
	var q *tensor.Tensor
	if how == "matrix_exp" {
		q = c.of("matrix_exp", a)
	} else {
		half := c.two("mul", a, tensor.Number(0.5))
		one := c.eye(n, n, a.DType())
		q = c.two("matrix_solve", c.two("sub", one, half), c.two("add", one, half))
	}
	if n != k {
		q = c.of("narrow", q, op.Int1(-1), op.Int1(0), op.Int1(k))
	}
	return q
}

// reflected returns the product of the reflectors below the diagonal of x, its columns with the
// signs on it.
func (c *tall) reflected(x *tensor.Tensor) *tensor.Tensor {
	a := c.of("tril", x, op.Int1(-1))
	size := c.of("sum", c.two("mul", a, a), op.IntsN(-2), op.Bool1(false))
	tau := c.two("div", tensor.Number(2.0), c.two("add", size, tensor.Number(1.0)))
	return c.two("mul", c.two("linalg.householder_product", a, tau), c.of("trunc", c.diagonal(x)))
}

// diagonal returns that of x, without gradients, as a row.
func (c *tall) diagonal(x *tensor.Tensor) *tensor.Tensor {
	if c.Err != nil {
		return nil
	}
	return c.of("unsqueeze", c.of("diagonal", x.Detach(), op.Int1(0), op.Int1(-2), op.Int1(-1)), op.Int1(-2))
}

// originalOfOrthogonal returns of what m makes v, or the orthogonal matrix next to it, and
// stores the base.
func originalOfOrthogonal(m *Module, v starlark.Value) ([]starlark.Value, error) {
	given, err := v.(*builtins.Tensor).Tensor()
	if err != nil {
		return nil, err
	}
	c, x := m.stand(given)
	if c.Err != nil {
		return nil, c.Err
	}
	n, k := sizes(x)
	if m.Get("base") == nil {
		if m.Get("orthogonal_map") != starlark.String("householder") {
			return nil, arg.Bad(v, "no assignment", "without use_trivialization what the weight is computed of is not known")
		}
		out := c.All("geqrf", []*tensor.Tensor{x}, 2)
		if c.Err != nil {
			return nil, c.Err
		}
		sign := c.of("sign", c.diagonal(out[0]))
		idle := c.two("eq", c.of("unsqueeze", out[1], op.Int1(-2)), tensor.Number(0.0))
		sign = c.Do("where", []*tensor.Tensor{idle, c.of("neg", sign), sign})
		at := c.Do("eye", nil, op.Int1(n), op.Int1(k), op.Int1(int(dtype.Bool)))
		y := c.asGiven(c.Do("where", []*tensor.Tensor{at, sign, out[0]}))
		if c.Err != nil {
			return nil, c.Err
		}
		return []starlark.Value{m.env.Wrap(y)}, nil
	}
	if n != k {
		s := append(shape.Shape{}, x.Shape()...)
		s[len(s)-1] = n - k
		more, err := (&maker{c.Fn, m, x.DType()}).create("randn", s)
		if err != nil {
			return nil, err
		}
		x = c.Do("cat", []*tensor.Tensor{x, more}, op.Int1(-1))
	}
	if c.isOrthogonal(x) {
		x = c.of("clone", x)
	} else {
		out := c.All("linalg.qr", []*tensor.Tensor{x}, 2)
		x = c.two("mul", out[0], c.of("sign", c.diagonal(out[1])))
	}
	rows, cols := sizes(given)
	y := c.two("add", c.of("zeros_like", given, op.None), c.of("neg", c.eye(rows, cols, given.DType())))
	if c.Err != nil {
		return nil, c.Err
	}
	m.Put(Field{"base", BufferField, m.env.Wrap(x)})
	return []starlark.Value{m.env.Wrap(y)}, nil
}

// isOrthogonal reports whether the square matrices x are, but for roundings.
func (c *tall) isOrthogonal(x *tensor.Tensor) bool {
	if c.Err != nil {
		return false
	}
	n, _ := sizes(x)
	far := c.of("abs", c.two("sub", c.two("matmul", c.of("adjoint", x), x), c.eye(n, n, x.DType())))
	if c.Err != nil || n == 0 {
		return c.Err == nil
	}
	eps := map[bool]float64{true: 0x1p-52, false: 0x1p-23}[x.DType().Real().Size() == 8]
	most := c.of("max", far, op.None, op.Bool1(false))
	if c.Err != nil || most.Hollow() {
		return false
	}
	whole, err := c.E.Whole(c.Fn, most)
	if c.Fail(err); err != nil {
		return false
	}
	return op.Float64At(whole, 0) <= 10*float64(n)*eps && !math.IsNaN(op.Float64At(whole, 0))
}

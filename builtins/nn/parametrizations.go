package nn

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The parametrizations of PyTorch's that are there: norms of weights.

var (
	weightNormClass   = &class{Name: "_WeightNorm", forward: normedWeight, inverse: normAndWeight}
	spectralNormClass = &class{Name: "_SpectralNorm", forward: overSpectralNorm, inverse: func(_ *Module, v starlark.Value) ([]starlark.Value, error) { return []starlark.Value{v}, nil }}
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "nn.utils.parametrizations", Namespace: true,
		Doc: "nn.utils.parametrizations is the module of ways to compute a parameter of others.",
	}, &builtins.Row{
		Name: "nn.utils.parametrizations.weight_norm",
		Doc: "weight_norm(module, name=\"weight\", dim=0) has a weight computed as g * v / norm(v) and returns the module: its size and its direction are learned apart.\n" +
			"g, parametrizations.NAME.original0, has the norm of each slice of dim, of the whole for\n" +
			"dim=None or -1; v, original1, has the shape of the weight.\n" +
			"Salimans and Kingma, \"Weight normalization\", NeurIPS 2016.\n" +
			">>> m = nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))\n" +
			">>> [(name, p.shape) for name, p in m.named_parameters()]\n" +
			"[(\"bias\", (3,)), (\"parametrizations.weight.original0\", (3, 1)), (\"parametrizations.weight.original1\", (3, 2))]",
		Fn: weightNorm,
	}, &builtins.Row{
		Name: "nn.utils.parametrizations.spectral_norm",
		Doc: "spectral_norm(module, name=\"weight\", n_power_iterations=1, eps=1e-12, dim=None) has a weight divided by its greatest singular value, and returns the module.\n" +
			"The weight is a matrix with a row for each index of dim, 0 or of transposed convolutions\n" +
			"1. The value is estimated: whenever the weight is read while training, iterations bring\n" +
			"the buffers _u and _v of parametrizations.NAME.0 nearer to its singular vectors.\n" +
			"Miyato and others, \"Spectral normalization for generative adversarial networks\", ICLR 2018.\n" +
			">>> m = nn.utils.parametrizations.spectral_norm(nn.Linear(2, 2, bias=False), n_power_iterations=50)\n" +
			">>> round(linalg.norm(m.weight, 2).item(), 4), list(m.state_dict())\n" +
			"(1.0, [\"parametrizations.weight.original\", \"parametrizations.weight.0._u\", \"parametrizations.weight.0._v\"])",
		Fn: spectralNorm,
	})
}

func weightNorm(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	dim := arg.OptInt{Set: true}
	p, err := unpackParametrized(b, args, kwargs, "name?", "dim?", &dim)
	if err != nil {
		return nil, err
	}
	x, err := p.parameter("name")
	if err != nil {
		return nil, err
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	sub := newModule(e, weightNormClass)
	sub.training = p.m.training
	sub.plain("dim", starlark.MakeInt(-1))
	if n := int(dim.V); dim.Set && n != -1 {
		at, ok := shape.Dim(n, t.Ndim())
		if !ok {
			return nil, badDim(p.fn, n, t)
		}
		sub.plain("dim", starlark.MakeInt(at))
	}
	originals, err := p.originalsOf(x, sub)
	if err != nil {
		return nil, err
	}
	return p.m.Value, p.add(x, sub, originals, false)
}

// badDim is the error of a dim that t does not have.
func badDim(fn string, dim int, t *tensor.Tensor) error {
	return &op.ArgError{Func: fn, Param: "dim", Got: fmt.Sprint(dim), Want: fmt.Sprintf("%d..%d", -t.Ndim(), t.Ndim()-1), Rule: "the weight is " + op.Describe(t)}
}

// normedWeight is the forward function of a weight norm.
func normedWeight(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var g, v builtins.OneTensor
	if err := arg.Unpack(m.Class.Name, args, kwargs, "weight_g", &g, "weight_v", &v); err != nil {
		return nil, err
	}
	c := &builtins.OpChain{E: m.env, Fn: m.Class.Name}
	y := c.Do("mul", []*tensor.Tensor{v.T, c.Do("div", []*tensor.Tensor{g.T, m.normExcept(c, v.T)})})
	if c.Err != nil {
		return nil, c.Err
	}
	return m.env.Wrap(y), nil
}

// normExcept returns the norm of each slice of v along the dim of m, or of the whole.
func (m *Module) normExcept(c *builtins.OpChain, v *tensor.Tensor) *tensor.Tensor {
	dim, err := arg.ToInt(m.Get("dim"))
	c.Fail(err)
	if dim == -1 {
		return c.Do("norm", []*tensor.Tensor{v}, op.Float1(2), op.None, op.Bool1(false))
	}
	var others []int
	for d := range v.Ndim() {
		if d != dim {
			others = append(others, d)
		}
	}
	if others == nil { // each element is a slice
		return c.Do("abs", []*tensor.Tensor{v})
	}
	return c.Do("norm", []*tensor.Tensor{v}, op.Float1(2), op.IntsN(others...), op.Bool1(true))
}

// normAndWeight returns g and v of a weight.
func normAndWeight(m *Module, v starlark.Value) ([]starlark.Value, error) {
	t, err := v.(*builtins.Tensor).Tensor()
	if err != nil {
		return nil, err
	}
	c := &builtins.OpChain{E: m.env, Fn: m.Class.Name}
	g := m.normExcept(c, t)
	if c.Err != nil {
		return nil, c.Err
	}
	return []starlark.Value{m.env.Wrap(g), v}, nil
}

// firstIterations is how many iterations spectral_norm begins with.
const firstIterations = 15

func spectralNorm(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		steps = count(1)
		eps   = arg.Float(1e-12)
		dim   arg.OptInt
	)
	p, err := unpackParametrized(b, args, kwargs, "name?", "n_power_iterations?", &steps, "eps?", &eps, "dim?", &dim)
	if err != nil {
		return nil, err
	}
	if steps == 0 {
		return nil, arg.In(p.fn, "n_power_iterations", arg.Bad(starlark.MakeInt(0), "a positive int", ""))
	}
	x, err := p.parameter("name")
	if err != nil {
		return nil, err
	}
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	if !dim.Set {
		switch p.m.Class.Name {
		case "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d":
			dim.V = 1
		}
	}
	at, ok := shape.Dim(int(dim.V), t.Ndim())
	if !ok {
		return nil, badDim(p.fn, int(dim.V), t)
	}
	sub := newModule(e, spectralNormClass)
	sub.training = p.m.training
	sub.plain("n_power_iterations", starlark.MakeInt(int(steps)), "eps", starlark.Float(eps), "dim", starlark.MakeInt(at))
	if t.Ndim() > 1 {
		if err := sub.drawVectors(p.fn, t, at); err != nil {
			return nil, err
		}
	}
	return p.m.Value, p.add(x, sub, []starlark.Value{x}, false)
}

// drawVectors gives m, a spectral norm, the buffers for the singular vectors of t, drawn and brought nearer.
func (m *Module) drawVectors(fn string, t *tensor.Tensor, dim int) error {
	defer m.env.Runtime.Tape.SetEnabled(false)()
	rows := t.Shape()[dim]
	mk := &maker{fn, m, t.DType()}
	for _, part := range []struct {
		name string
		size int
	}{{"_u", rows}, {"_v", t.Shape().Numel() / max(rows, 1)}} {
		x, err := mk.create("randn", shape.Shape{part.size})
		if err != nil {
			return err
		}
		m.Put(Field{part.name, BufferField, m.env.Wrap(x)})
	}
	c := &builtins.OpChain{E: m.env, Fn: fn}
	m.iterate(c, m.asMatrix(c, t), firstIterations)
	return c.Err
}

// asMatrix returns t with a row for each index of the dim of m.
func (m *Module) asMatrix(c *builtins.OpChain, t *tensor.Tensor) *tensor.Tensor {
	dim, err := arg.ToInt(m.Get("dim"))
	if c.Fail(err); dim != 0 {
		t = c.Do("movedim", []*tensor.Tensor{t}, op.IntsN(dim), op.IntsN(0))
	}
	return c.Do("flatten", []*tensor.Tensor{t}, op.Int1(1), op.Int1(-1))
}

// vector returns the tensor of a buffer of m.
func (m *Module) vector(c *builtins.OpChain, name string) *tensor.Tensor {
	x, ok := m.Get(name).(*builtins.Tensor)
	if !ok {
		c.Fail(&op.ArgError{Func: m.Class.Name + "." + name, Got: arg.Show(m.Get(name)), Want: "a tensor"})
		return nil
	}
	t, err := x.Tensor()
	c.Fail(err)
	return t
}

// iterate brings the vectors of m nearer to the singular vectors of w by so many iterations, unrecorded.
func (m *Module) iterate(c *builtins.OpChain, w *tensor.Tensor, steps int) {
	defer m.env.Runtime.Tape.SetEnabled(false)()
	eps, _ := starlark.AsFloat(m.Get("eps"))
	u, v := m.vector(c, "_u"), m.vector(c, "_v")
	for range steps {
		m.normalizeInto(c, u, c.Do("matmul", []*tensor.Tensor{w, v}), eps)
		m.normalizeInto(c, v, c.Do("matmul", []*tensor.Tensor{c.Do("transpose", []*tensor.Tensor{w}, op.Int1(0), op.Int1(1)), u}), eps)
	}
}

// normalizeInto stores x / max(norm(x), eps) in to.
func (m *Module) normalizeInto(c *builtins.OpChain, to, x *tensor.Tensor, eps float64) {
	if c.Err != nil {
		return
	}
	y, err := builtins.CallF(m.env, "normalize", starlark.Tuple{m.env.Wrap(x)}, []starlark.Tuple{
		{starlark.String("dim"), starlark.MakeInt(0)}, {starlark.String("eps"), starlark.Float(eps)}})
	if c.Fail(err); err == nil {
		c.Fail(copyInto(m.env, m.env.Wrap(to), y.(*builtins.Tensor)))
	}
}

// overSpectralNorm is the forward function of a spectral norm.
func overSpectralNorm(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x builtins.OneTensor
	if err := arg.Unpack(m.Class.Name, args, kwargs, "weight", &x); err != nil {
		return nil, err
	}
	if x.T.Ndim() == 1 {
		return builtins.CallF(m.env, "normalize", starlark.Tuple{m.env.Wrap(x.T)}, []starlark.Tuple{
			{starlark.String("dim"), starlark.MakeInt(0)}, {starlark.String("eps"), m.Get("eps")}})
	}
	c := &builtins.OpChain{E: m.env, Fn: m.Class.Name}
	w := m.asMatrix(c, x.T)
	if m.training {
		steps, err := arg.ToInt(m.Get("n_power_iterations"))
		c.Fail(err)
		m.iterate(c, w.Detach(), steps)
	}
	u, v := c.Do("clone", []*tensor.Tensor{m.vector(c, "_u")}), c.Do("clone", []*tensor.Tensor{m.vector(c, "_v")})
	sigma := c.Do("matmul", []*tensor.Tensor{u, c.Do("matmul", []*tensor.Tensor{w, v})})
	y := c.Do("div", []*tensor.Tensor{x.T, sigma})
	if c.Err != nil {
		return nil, c.Err
	}
	return m.env.Wrap(y), nil
}

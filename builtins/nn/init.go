package nn

import (
	"fmt"
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/libm"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Functions of nn.init store new values in a tensor, which may be distributed, without a
// record. Each that is random is one draw of the whole, so that an element does not
// depend on how ranks share it.

// An initializer is a call of a function of nn.init on t.
type initializer struct {
	*builtins.OpChain
	t      *tensor.Tensor
	floats map[string]float64
	mode   string // "fan_in" or "fan_out"
	fn     string // the nonlinearity
}

// initRow is a function of nn.init: its arguments after the tensor, of which
// numbers are floats and strings modes and nonlinearities.
type initRow struct {
	name, args, does, example string
	fill                      func(c *initializer) (*tensor.Tensor, error)
}

var initRows = []initRow{
	{"uniform_", "a=0.0, b=1.0", "numbers uniform from a to b", "uniform_(zeros(2), 1.0, 1.0).tolist()\n[1.0, 1.0]",
		func(c *initializer) (*tensor.Tensor, error) {
			return c.uniform(c.floats["a"], c.floats["b"]), c.ascending()
		}},
	{"normal_", "mean=0.0, std=1.0", "normal numbers of a mean and a standard deviation", "normal_(zeros(2), 1.0, 0.0).tolist()\n[1.0, 1.0]",
		func(c *initializer) (*tensor.Tensor, error) { return c.normal(c.floats["mean"], c.floats["std"]), nil }},
	{"trunc_normal_", "mean=0.0, std=1.0, a=-2.0, b=2.0", "normal numbers of a mean and a standard deviation, of those from a to b", "trunc_normal_(zeros(2), a=0.0, b=0.0).tolist()\n[0.0, 0.0]", truncNormal},
	{"constant_", "val", "one number", "constant_(zeros(2), 3).tolist()\n[3.0, 3.0]",
		func(c *initializer) (*tensor.Tensor, error) { return c.full(c.floats["val"]), nil }},
	{"ones_", "", "ones", "ones_(zeros(2)).tolist()\n[1.0, 1.0]", func(c *initializer) (*tensor.Tensor, error) { return c.full(1), nil }},
	{"zeros_", "", "zeros", "zeros_(ones(2)).tolist()\n[0.0, 0.0]", func(c *initializer) (*tensor.Tensor, error) { return c.full(0), nil }},
	{"eye_", "", "ones on the diagonal of a matrix and zeros elsewhere", "eye_(zeros(2, 2)).tolist()\n[[1.0, 0.0], [0.0, 1.0]]", eyeFill},
	{"dirac_", "groups=1", "what makes a convolution [out, in / groups, ..] hand its channels on, in each of groups", "dirac_(zeros(1, 1, 3)).tolist()\n[[[0.0, 1.0, 0.0]]]", diracFill},
	{"xavier_uniform_", "gain=1.0", "numbers uniform within gain √(6 / (fan in + fan out)); Glorot and Bengio, 2010", "xavier_uniform_(zeros(2, 3)).abs().le(1.1).all()\nTrue",
		func(c *initializer) (*tensor.Tensor, error) {
			in, out, err := c.fans()
			b := c.floats["gain"] * math.Sqrt(6/float64(in+out))
			return c.uniform(-b, b), err
		}},
	{"xavier_normal_", "gain=1.0", "normal numbers of standard deviation gain √(2 / (fan in + fan out)); Glorot and Bengio, 2010", "xavier_normal_(zeros(2, 3), 0.0).abs().tolist()\n[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]",
		func(c *initializer) (*tensor.Tensor, error) {
			in, out, err := c.fans()
			return c.normal(0, c.floats["gain"]*math.Sqrt(2/float64(in+out))), err
		}},
	{"kaiming_uniform_", "a=0, mode=\"fan_in\", nonlinearity=\"leaky_relu\"", "numbers uniform within the nonlinearity's gain times √(3 / fan); He et al., 2015", "kaiming_uniform_(zeros(2, 3)).abs().le(1.5).all()\nTrue",
		func(c *initializer) (*tensor.Tensor, error) {
			std, err := c.kaiming()
			return c.uniform(-math.Sqrt(3)*std, math.Sqrt(3)*std), err
		}},
	{"kaiming_normal_", "a=0, mode=\"fan_in\", nonlinearity=\"leaky_relu\"", "normal numbers of standard deviation the nonlinearity's gain over √fan; He et al., 2015", "kaiming_normal_(zeros(2, 3)).shape\n(2, 3)",
		func(c *initializer) (*tensor.Tensor, error) {
			std, err := c.kaiming()
			return c.normal(0, std), err
		}},
	{"orthogonal_", "gain=1.0", "gain times a matrix with orthonormal rows or columns, whichever are fewer, of all dims but the first taken as one; Saxe et al., 2013", "orthogonal_(zeros(2, 2)).shape\n(2, 2)", orthogonalFill},
	{"sparse_", "sparsity, std=0.01", "normal numbers, but zeros in a share of each column that sparsity is, rounded up; Martens, 2010", "sparse_(ones(4, 1), 1.0).sum()\n0.0", sparseFill},
}

func init() {
	for _, r := range initRows {
		sep := ""
		if r.args != "" {
			sep = ", "
		}
		builtins.Register(&builtins.Row{Name: "nn.init." + r.name, Fn: r.call,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(tensor%s%s) stores %s in tensor, and returns it.\n>>> nn.init.%s", r.name, sep, r.args, r.does, r.example)
			}})
	}
	builtins.Register(&builtins.Row{Name: "nn.init", Namespace: true,
		Doc: "nn.init is the module of functions that give parameters new values. They are unrecorded, and each that is random is one draw of the whole: a DTensor, and a parameter that fully_shard has cut, get what a plain tensor would."})
	builtins.Register(&builtins.Row{Name: "nn.init.calculate_gain", Fn: gainOf,
		Doc: "calculate_gain(nonlinearity, param=None) returns by what a nonlinearity shrinks: 1, 5/3 of \"tanh\", √2 of \"relu\", √(2 / (1 + param²)) of \"leaky_relu\" with param 0.01 if None, 3/4 of \"selu\".\n>>> nn.init.calculate_gain(\"selu\")\n0.75"})
}

func (r *initRow) call(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		x     starlark.Value
		c     = &initializer{floats: map[string]float64{}, mode: "fan_in", fn: "leaky_relu"}
		pairs = []any{"tensor|x", &x}
		read  []func()
	)
	for _, f := range layerFields(r.args) {
		name := f.name
		switch v := f.value.(type) {
		case starlark.String:
			s := new(arg.String)
			*s = arg.String(v)
			pairs = append(pairs, name+"?", s)
			read = append(read, func() {
				if name == "mode" {
					c.mode = string(*s)
				} else {
					c.fn = string(*s)
				}
			})
		default:
			n := new(arg.Float)
			if v != nil {
				f, _ := starlark.AsFloat(v)
				*n, name = arg.Float(f), name+"?"
			}
			pairs = append(pairs, name, n)
			read = append(read, func() { c.floats[f.name] = float64(*n) })
		}
	}
	if err := arg.Unpack(b.Name(), args, kwargs, pairs...); err != nil {
		return nil, err
	}
	for _, f := range read {
		f()
	}
	t, err := e.TensorArg(b.Name(), "tensor", x)
	if err != nil {
		return nil, err
	}
	if !t.DType().IsFloat() {
		return nil, arg.In(b.Name(), "tensor", arg.Bad(x, "a float tensor", ""))
	}
	if std, ok := c.floats["std"]; ok && !(std >= 0) {
		return nil, arg.In(b.Name(), "std", arg.Bad(starlark.Float(std), "a number that is not negative", ""))
	}
	defer e.Runtime.Tape.SetEnabled(false)()
	c.OpChain, c.t = &builtins.OpChain{E: e, Fn: b.Name()}, t
	whole, lens, err := builtins.BlankOf(x.(*builtins.Tensor))
	if whole != nil {
		c.t = whole
	}
	if err != nil {
		return nil, err
	}
	y, err := r.fill(c)
	if err == nil && c.Err == nil && whole != nil {
		y, err = lens.PartOf(x.(*builtins.Tensor), y)
	}
	if err != nil {
		return nil, err
	}
	c.Do("copy_", []*tensor.Tensor{t, y})
	return x, c.Err
}

// bad is the error of the tensor, which is not what is wanted.
func (c *initializer) bad(want string) error {
	return &op.ArgError{Func: c.Fn, Param: "tensor", Got: op.Describe(c.t), Want: want}
}

// ascending returns an error unless the argument a is at most b.
func (c *initializer) ascending() error {
	if a, b := c.floats["a"], c.floats["b"]; !(a <= b) {
		return &op.ArgError{Func: c.Fn, Param: "b", Got: fmt.Sprint(b), Want: fmt.Sprintf("at least a, %g", a)}
	}
	return nil
}

// draw returns rand or randn in the shape of the tensor.
func (c *initializer) draw(name string) *tensor.Tensor {
	return c.Do(name+"_like", []*tensor.Tensor{c.t}, op.None)
}

func (c *initializer) affine(x *tensor.Tensor, k, d float64) *tensor.Tensor {
	return c.Do("add", []*tensor.Tensor{c.Do("mul", []*tensor.Tensor{x, tensor.Number(k)}), tensor.Number(d)})
}

func (c *initializer) uniform(a, b float64) *tensor.Tensor { return c.affine(c.draw("rand"), b-a, a) }

func (c *initializer) normal(mean, std float64) *tensor.Tensor {
	return c.affine(c.draw("randn"), std, mean)
}

func (c *initializer) full(v float64) *tensor.Tensor {
	return c.Do("full_like", []*tensor.Tensor{c.t, tensor.Number(v)}, op.None)
}

// fans returns how many elements an element of the input and of the output of a weight
// [out, in, ..] has to do with.
func (c *initializer) fans() (in, out int, err error) {
	s := c.t.Shape()
	if len(s) < 2 {
		return 1, 1, c.bad("a weight [out, in, ..] of at least two dims")
	}
	window := s[2:].Numel()
	return max(s[1]*window, 1), max(s[0]*window, 1), nil
}

func (c *initializer) kaiming() (std float64, err error) {
	in, out, err := c.fans()
	if err != nil {
		return 0, err
	}
	switch c.mode {
	case "fan_in":
	case "fan_out":
		in = out
	default:
		return 0, &op.ArgError{Func: c.Fn, Param: "mode", Got: starlark.String(c.mode).String(), Want: `"fan_in" or "fan_out"`}
	}
	gain, ok := gain(c.fn, c.floats["a"])
	if !ok {
		return 0, unknownNonlinearity(c.Fn, c.fn)
	}
	return gain / math.Sqrt(float64(in)), nil
}

// gain returns by what a nonlinearity shrinks, of leaky_relu with a slope.
func gain(fn string, slope float64) (float64, bool) {
	switch fn {
	case "linear", "sigmoid", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d":
		return 1, true
	case "tanh":
		return 5.0 / 3, true
	case "relu":
		return math.Sqrt2, true
	case "leaky_relu":
		return math.Sqrt(2 / (1 + float64(slope*slope))), true
	case "selu":
		return 0.75, true
	}
	return 0, false
}

func unknownNonlinearity(fn, name string) error {
	return &op.ArgError{Func: fn, Param: "nonlinearity", Got: starlark.String(name).String(), Want: `"linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu", or a convolution such as "conv2d"`}
}

func gainOf(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		name  arg.String
		slope = arg.Float(0.01)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "nonlinearity", &name, "param??", &slope); err != nil {
		return nil, err
	}
	g, ok := gain(string(name), float64(slope))
	if !ok {
		return nil, unknownNonlinearity(b.Name(), string(name))
	}
	return starlark.Float(g), nil
}

// truncNormal draws by the inverse of the distribution function, of uniform numbers
// between its values at a and b.
func truncNormal(c *initializer) (*tensor.Tensor, error) {
	mean, std, a, b := c.floats["mean"], c.floats["std"], c.floats["a"], c.floats["b"]
	if err := c.ascending(); err != nil {
		return nil, err
	}
	if std == 0 {
		return c.full(min(max(mean, a), b)), c.Err
	}
	below := func(x float64) float64 { return float64((1 + libm.Erf((x-mean)/std/math.Sqrt2)) / 2) }
	lo, hi := below(a), below(b)
	u := c.affine(c.draw("rand"), 2*(hi-lo), 2*lo-1)
	y := c.affine(c.Do("erfinv", []*tensor.Tensor{u}), std*math.Sqrt2, mean)
	return c.Do("clamp", []*tensor.Tensor{y}, op.Float1(a), op.Float1(b)), c.Err
}

func eyeFill(c *initializer) (*tensor.Tensor, error) {
	s := c.t.Shape()
	if len(s) != 2 {
		return nil, c.bad("a matrix")
	}
	return c.ofFloats(func(at []int) float64 {
		if at[0] == at[1] {
			return 1
		}
		return 0
	})
}

func diracFill(c *initializer) (*tensor.Tensor, error) {
	s, groups := c.t.Shape(), int(c.floats["groups"])
	if len(s) < 3 || len(s) > 5 {
		return nil, c.bad("a weight of three to five dims")
	}
	if groups < 1 || s[0]%groups != 0 {
		return nil, &op.ArgError{Func: c.Fn, Param: "groups", Got: fmt.Sprint(c.floats["groups"]), Want: fmt.Sprintf("a divisor of %d", s[0])}
	}
	each := s[0] / groups
	return c.ofFloats(func(at []int) float64 {
		if at[1] != at[0]%each {
			return 0
		}
		for d := 2; d < len(s); d++ {
			if at[d] != s[d]/2 {
				return 0
			}
		}
		return 1
	})
}

// ofFloats returns a plain tensor of the shape of the tensor, with what f says of each
// place.
func (c *initializer) ofFloats(f func(at []int) float64) (*tensor.Tensor, error) {
	s := c.t.Shape()
	elems, at := make([]float64, s.Numel()), make([]int, len(s))
	for i := range elems {
		for d, k := len(s)-1, i; d >= 0; d-- {
			at[d], k = k%s[d], k/s[d]
		}
		elems[i] = f(at)
	}
	return op.FromFloats(c.E.Runtime.Ops(), c.t.DType(), s, elems)
}

// orthogonalFill takes q of the decomposition of a normal matrix, with the signs of r's
// diagonal, so that it is uniform among such matrices. Mezzadri, "How to generate random
// matrices from the classical compact groups", Notices of the AMS 54(5), 2007.
func orthogonalFill(c *initializer) (*tensor.Tensor, error) {
	s := c.t.Shape()
	if len(s) < 2 {
		return nil, c.bad("a tensor of at least two dims")
	}
	rows, cols := s[0], s[1:].Numel()
	flat := shape.Shape{max(rows, cols), min(rows, cols)}
	x := c.Do("randn", nil, op.IntsN(flat...), op.Int1(int(c.t.DType())))
	if c.Err != nil || flat.Numel() == 0 {
		return c.t, c.Err
	}
	out, err := c.E.Runtime.Apply(op.Lookup("matrix_qr"), []*tensor.Tensor{x}, nil)
	if err != nil {
		return nil, arg.Rename(c.Fn, err)
	}
	sign := c.Do("sign", []*tensor.Tensor{c.Do("diagonal", []*tensor.Tensor{out[1]}, op.Int1(0), op.Int1(0), op.Int1(1))})
	q := c.affine(c.Do("mul", []*tensor.Tensor{out[0], sign}), c.floats["gain"], 0)
	if rows < cols {
		q = c.Do("transpose", []*tensor.Tensor{q}, op.Int1(0), op.Int1(1))
	}
	return c.Do("reshape", []*tensor.Tensor{q}, op.IntsN(s...)), c.Err
}

// sparseFill has zeros where the uniform numbers of a second draw are least in their
// column.
func sparseFill(c *initializer) (*tensor.Tensor, error) {
	s, share := c.t.Shape(), c.floats["sparsity"]
	if len(s) != 2 {
		return nil, c.bad("a matrix")
	}
	if !(share >= 0 && share <= 1) {
		return nil, &op.ArgError{Func: c.Fn, Param: "sparsity", Got: fmt.Sprint(share), Want: "a number from 0 to 1"}
	}
	y := c.normal(0, c.floats["std"])
	none := int(math.Ceil(share * float64(s[0])))
	order := c.Do("argsort", []*tensor.Tensor{c.draw("rand")}, op.Int1(0), op.Bool1(false))
	place := c.Do("argsort", []*tensor.Tensor{order}, op.Int1(0), op.Bool1(false))
	zero := c.Do("lt", []*tensor.Tensor{place, tensor.Number(int64(none))})
	return c.Do("masked_fill", []*tensor.Tensor{y, zero, tensor.Number(0.0)}), c.Err
}

package nn

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
)

// A layer is a class of modules without parameters: what it applies, and the
// arguments that it keeps as fields.
type layer struct {
	name, fn string
	fields   []layerField
	doc      string
}

// A layerField is an argument of a layer; nil for one that must be given.
type layerField struct {
	name  string
	value starlark.Value
}

// names returns the names of the arguments.
func (l *layer) names() []string {
	names := make([]string, len(l.fields))
	for i, f := range l.fields {
		names[i] = f.name
	}
	return names
}

func (l *layer) row() *builtins.Row {
	return l.rowOf(applies(l.fn, "input", l.names()...))
}

// rowOf returns the row of a constructor of modules that do forward.
func (l *layer) rowOf(forward forwardFunc) *builtins.Row {
	c := &class{Name: l.name, forward: forward, shows: l.names()}
	return &builtins.Row{Name: "nn." + l.name, Doc: l.doc, Fn: func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		values, pairs := make([]starlark.Value, len(l.fields)), []any{}
		for i, f := range l.fields {
			name := f.name
			if values[i] = f.value; f.value != nil {
				name += "?"
			}
			pairs = append(pairs, name, &values[i])
		}
		if err := arg.Unpack(b.Name(), args, kwargs, pairs...); err != nil {
			return nil, err
		}
		m := newModule(e, c)
		for i, f := range l.fields {
			m.plain(f.name, values[i])
		}
		return m, nil
	}}
}

var (
	nought  = starlark.MakeInt(0)
	windows = []layerField{{"kernel_size", nil}, {"stride", starlark.None}, {"padding", nought}}
)

var layers = []layer{
	{"Tanh", "tanh", nil, "Tanh() returns a module that applies F.tanh.\n>>> nn.Tanh()(zeros(1)).tolist()\n[0.0]"},
	{"Sigmoid", "sigmoid", nil, "Sigmoid() returns a module that applies F.sigmoid.\n>>> nn.Sigmoid()(zeros(1)).tolist()\n[0.5]"},
	{"Softmax", "softmax", []layerField{{"dim", nil}}, "Softmax(dim) returns a module that applies F.softmax along dim.\n>>> nn.Softmax(0)(zeros(2)).tolist()\n[0.5, 0.5]"},
	{"LeakyReLU", "leaky_relu", []layerField{{"negative_slope", starlark.Float(0.01)}}, "LeakyReLU(negative_slope=0.01) returns a module that applies F.leaky_relu.\n>>> nn.LeakyReLU(0.5)(tensor([-1.0, 2.0])).tolist()\n[-0.5, 2.0]"},
	{"ELU", "elu", []layerField{{"alpha", starlark.Float(1)}}, "ELU(alpha=1) returns a module that applies F.elu.\n>>> nn.ELU()(zeros(1)).tolist()\n[0.0]"},
	{"Softplus", "softplus", []layerField{{"beta", starlark.Float(1)}, {"threshold", starlark.Float(20)}}, "Softplus(beta=1, threshold=20) returns a module that applies F.softplus.\n>>> nn.Softplus()(tensor([100.0])).tolist()\n[100.0]"},
	{"MaxPool2d", "max_pool2d", append(windows[:3:3], layerField{"dilation", starlark.MakeInt(1)}, layerField{"return_indices", starlark.False}, layerField{"ceil_mode", starlark.False}), "MaxPool2d(kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False) returns a module that applies F.max_pool2d.\n>>> nn.MaxPool2d(2)(ones(1, 1, 4, 4)).shape\n(1, 1, 2, 2)"},
	{"AvgPool2d", "avg_pool2d", append(windows[:3:3], layerField{"ceil_mode", starlark.False}, layerField{"count_include_pad", starlark.True}, layerField{"divisor_override", starlark.None}), "AvgPool2d(kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None) returns a module that applies F.avg_pool2d.\n>>> nn.AvgPool2d(2)(ones(1, 1, 4, 4)).shape\n(1, 1, 2, 2)"},
	{"AdaptiveAvgPool2d", "adaptive_avg_pool2d", []layerField{{"output_size", nil}}, "AdaptiveAvgPool2d(output_size) returns a module that applies F.adaptive_avg_pool2d.\n>>> nn.AdaptiveAvgPool2d(1)(ones(1, 3, 4, 4)).shape\n(1, 3, 1, 1)"},
	{"Upsample", "interpolate", []layerField{{"size", starlark.None}, {"scale_factor", starlark.None}, {"mode", starlark.String("nearest")}, {"align_corners", starlark.None}, {"recompute_scale_factor", starlark.None}}, "Upsample(size=None, scale_factor=None, mode=\"nearest\", align_corners=None, recompute_scale_factor=None) returns a module that applies F.interpolate.\n>>> nn.Upsample(scale_factor=2)(ones(1, 1, 2, 2)).shape\n(1, 1, 4, 4)"},
}

var identityClass = &class{Name: "Identity", forward: func(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x starlark.Value
	return x, arg.Unpack(m.Class.Name, args, kwargs, "input", &x)
}}

// newIdentity takes, as PyTorch's does, whatever the module has that it stands for.
func newIdentity(e *builtins.Env, _ *starlark.Thread, _ *starlark.Builtin, _ starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	return newModule(e, identityClass), nil
}

func init() {
	for i := range layers {
		builtins.Register(layers[i].row())
	}
	builtins.Register(&builtins.Row{
		Name: "nn.Identity",
		Doc:  "Identity(*args, **kwargs) returns a module that returns what it is given. The arguments are those of a module in whose place it stands, and mean nothing.\n>>> nn.Identity(8)(tensor([1, 2])).tolist()\n[1, 2]",
		Fn:   newIdentity,
	})
	for n := 1; n <= 3; n++ {
		builtins.Register(&builtins.Row{
			Name: fmt.Sprintf("nn.Conv%dd", n),
			MakeDoc: func() string {
				return fmt.Sprintf("Conv%dd(in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode=\"zeros\", dtype=None, device=None) returns a module that applies F.conv%dd.\n"+
					"padding_mode \"reflect\", \"replicate\" or \"circular\" has the edges padded as F.pad does.\n"+
					"weight [out_channels, in_channels / groups, ..] and then bias [out_channels] are drawn\n"+
					"uniform within 1 / √(elements of a window). %s\n"+
					">>> nn.Conv%dd(2, 3, 1)(ones(1, 2%s)).shape\n(1, 3%s)", n, n, docDType, n, repeated(n), repeated(n))
			},
			Fn: newConv(n),
		})
	}
	for n := 1; n <= 3; n++ {
		builtins.Register(&builtins.Row{
			Name: fmt.Sprintf("nn.ConvTranspose%dd", n),
			MakeDoc: func() string {
				return fmt.Sprintf("ConvTranspose%dd(in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1, dtype=None, device=None) returns a module that applies F.conv_transpose%dd.\n"+
					"weight [in_channels, out_channels / groups, ..] and then bias [out_channels] are drawn\n"+
					"uniform within 1 / √(out_channels / groups times the elements of a window). %s\n"+
					">>> nn.ConvTranspose%dd(2, 3, 2, stride=2)(ones(1, 2%s)).shape\n(1, 3%s)", n, n, docDType, n, repeated(n), strings.ReplaceAll(repeated(n), "4", "8"))
			},
			Fn: newConvTransposed(n),
		})
	}
	builtins.Register(&builtins.Row{
		Name: "nn.GroupNorm",
		Doc: "GroupNorm(num_groups, num_channels, eps=1e-5, affine=True, dtype=None, device=None) returns a module that applies F.group_norm.\n" +
			"weight begins as ones, bias as zeros; without affine neither is there. " + docDType + "\n" +
			">>> nn.GroupNorm(1, 2)(tensor([[1.0, 3.0]])).round()\n[[-1.  1.]]",
		Fn: newGroupNorm,
	})
}

// repeated returns ", 4" n times.
func repeated(n int) string {
	s := ""
	for range n {
		s += ", 4"
	}
	return s
}

// paddingModes are those of a convolution: with zeros it does without F.pad.
var paddingModes = []string{"zeros", "reflect", "replicate", "circular"}

// newConv returns the constructor of convolutions of n dims.
func newConv(n int) builtins.Function {
	fn := fmt.Sprintf("conv%dd", n)
	c := &class{
		Name:    fmt.Sprintf("Conv%dd", n),
		forward: convolve(fn),
		shows:   []string{"in_channels", "out_channels", "kernel_size", "stride", "padding"}, bare: 2,
	}
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			in, out          count
			kernel           arg.Shape
			groups                          = count(1)
			stride, dilation starlark.Value = starlark.MakeInt(1), starlark.MakeInt(1)
			padding          starlark.Value = nought
			mode             starlark.Value = starlark.String("zeros")
			bias                            = arg.Bool(true)
			dt               arg.OptDType
		)
		if err := arg.Unpack(b.Name(), args, kwargs, "in_channels", &in, "out_channels", &out, "kernel_size", &kernel, "stride?", &stride,
			"padding?", &padding, "dilation?", &dilation, "groups?", &groups, "bias?", &bias, "padding_mode?", &mode, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
			return nil, err
		}
		if name, _ := starlark.AsString(mode); !slices.Contains(paddingModes, name) {
			return nil, arg.In(b.Name(), "padding_mode", arg.Bad(mode, "one of "+builtins.QuotedNames(paddingModes), ""))
		}
		kernel, err := checkConvolution(b.Name(), n, kernel, in, out, groups)
		if err != nil {
			return nil, err
		}
		m := newModule(e, c)
		m.plain("in_channels", starlark.MakeInt(int(in)), "out_channels", starlark.MakeInt(int(out)), "kernel_size", builtins.ShapeTuple(shape.Shape(kernel)),
			"stride", stride, "padding", padding, "dilation", dilation, "groups", starlark.MakeInt(int(groups)), "padding_mode", mode)
		mk, err := newMaker(e, b.Name(), m, dt)
		if err != nil {
			return nil, err
		}
		return m, mk.convolution(int(out), int(in)/int(groups), kernel, bool(bias), int(out))
	}
}

// convolve returns the forward function of convolutions: the function called name of F,
// of an input whose edges are padded otherwise than with zeros before.
func convolve(name string) forwardFunc {
	fields := []string{"weight", "bias", "stride", "dilation", "groups"}
	zeros := applies(name, "input", append(slices.Clone(fields), "padding")...)
	return func(m *Module, t *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		mode := m.Get("padding_mode")
		if mode == nil || mode == starlark.String("zeros") {
			return zeros(m, t, args, kwargs)
		}
		var x starlark.Value
		if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &x); err != nil {
			return nil, err
		}
		around, err := m.edges()
		if err != nil {
			return nil, err
		}
		x, err = builtins.CallF(m.env, "pad", starlark.Tuple{x, around}, []starlark.Tuple{{starlark.String("mode"), mode}})
		if err != nil {
			return nil, err
		}
		return m.apply(name, starlark.Tuple{x}, fields...)
	}
}

// edges returns how many elements are put before and after each dim of the input of a
// convolution, the last dim first, as F.pad takes them.
func (m *Module) edges() (starlark.Tuple, error) {
	kernel, err := arg.ToInts(m.Get("kernel_size"))
	if err != nil {
		return nil, arg.In(m.Class.Name, "kernel_size", err)
	}
	each := func(name string) ([]int, error) {
		var s arg.Shape
		if err := s.Unpack(m.Get(name)); err != nil {
			return nil, arg.In(m.Class.Name, name, err)
		}
		if len(s) == 1 {
			s = slices.Repeat(s, len(kernel))
		}
		if len(s) != len(kernel) {
			return nil, arg.In(m.Class.Name, name, arg.Bad(m.Get(name), fmt.Sprintf("an int, or %d of them", len(kernel)), ""))
		}
		return s, nil
	}
	before, after := make([]int, len(kernel)), make([]int, len(kernel))
	switch m.Get("padding") {
	case starlark.String("valid"):
	case starlark.String("same"):
		dilation, err := each("dilation")
		if err != nil {
			return nil, err
		}
		for i, k := range kernel {
			all := dilation[i] * (k - 1)
			before[i], after[i] = all/2, all-all/2
		}
	default:
		if before, err = each("padding"); err != nil {
			return nil, err
		}
		after = before
	}
	var out starlark.Tuple
	for i := len(kernel) - 1; i >= 0; i-- {
		out = append(out, starlark.MakeInt(before[i]), starlark.MakeInt(after[i]))
	}
	return out, nil
}

// checkConvolution returns the window of n dims of a convolution, or an error about an
// argument of its constructor fn.
func checkConvolution(fn string, n int, kernel arg.Shape, in, out, groups count) (arg.Shape, error) {
	if len(kernel) == 1 && n > 1 {
		kernel = slices.Repeat(kernel, n)
	}
	if len(kernel) != n {
		return nil, &op.ArgError{Func: fn, Param: "kernel_size", Got: shape.Shape(kernel).String(), Want: fmt.Sprintf("an int, or %d of them", n)}
	}
	if groups < 1 || int(in)%int(groups) != 0 || int(out)%int(groups) != 0 {
		return nil, &op.ArgError{Func: fn, Param: "groups", Got: fmt.Sprint(int(groups)), Want: "a divisor of in_channels and out_channels"}
	}
	return kernel, nil
}

// newConvTransposed returns the constructor of transposed convolutions of n dims.
func newConvTransposed(n int) builtins.Function {
	c := &class{
		Name:    fmt.Sprintf("ConvTranspose%dd", n),
		forward: applies(fmt.Sprintf("conv_transpose%dd", n), "input", "weight", "bias", "stride", "padding", "output_padding", "groups", "dilation"),
		shows:   []string{"in_channels", "out_channels", "kernel_size", "stride", "padding", "output_padding"}, bare: 2,
	}
	return func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var (
			in, out               count
			kernel                arg.Shape
			groups                               = count(1)
			stride, dilation      starlark.Value = starlark.MakeInt(1), starlark.MakeInt(1)
			padding, paddingAfter starlark.Value = nought, nought
			bias                                 = arg.Bool(true)
			dt                    arg.OptDType
		)
		if err := arg.Unpack(b.Name(), args, kwargs, "in_channels", &in, "out_channels", &out, "kernel_size", &kernel, "stride?", &stride,
			"padding?", &padding, "output_padding?", &paddingAfter, "groups?", &groups, "bias?", &bias, "dilation?", &dilation, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
			return nil, err
		}
		kernel, err := checkConvolution(b.Name(), n, kernel, in, out, groups)
		if err != nil {
			return nil, err
		}
		m := newModule(e, c)
		m.plain("in_channels", starlark.MakeInt(int(in)), "out_channels", starlark.MakeInt(int(out)), "kernel_size", builtins.ShapeTuple(shape.Shape(kernel)),
			"stride", stride, "padding", padding, "output_padding", paddingAfter, "groups", starlark.MakeInt(int(groups)), "dilation", dilation)
		mk, err := newMaker(e, b.Name(), m, dt)
		if err != nil {
			return nil, err
		}
		return m, mk.convolution(int(in), int(out)/int(groups), kernel, bool(bias), int(out))
	}
}

// convolution makes the weight [first, second, ...] and the bias [out] of a
// convolution, as linear does.
func (mk *maker) convolution(first, second int, kernel []int, bias bool, out int) error {
	s := append(shape.Shape{first, second}, kernel...)
	bound := 0.0
	if n := s[1:].Numel(); n > 0 {
		bound = 1 / math.Sqrt(float64(n))
	}
	if err := mk.uniform("weight", bound, s...); err != nil {
		return err
	}
	if !bias {
		mk.none("bias")
		return nil
	}
	return mk.uniform("bias", bound, out)
}

var groupNormClass = &class{Name: "GroupNorm", forward: applies("group_norm", "input", "num_groups", "weight", "bias", "eps"), shows: []string{"num_groups", "num_channels", "eps"}, bare: 2}

func newGroupNorm(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		groups, channels count
		eps              = arg.Float(1e-5)
		affine           = arg.Bool(true)
		dt               arg.OptDType
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "num_groups", &groups, "num_channels", &channels, "eps?", &eps, "affine?", &affine, "dtype?", &dt, "device?", builtins.Device{}); err != nil {
		return nil, err
	}
	if groups < 1 || int(channels)%int(groups) != 0 {
		return nil, &op.ArgError{Func: b.Name(), Param: "num_groups", Got: fmt.Sprint(int(groups)), Want: "a divisor of num_channels"}
	}
	m := newModule(e, groupNormClass)
	m.plain("num_groups", starlark.MakeInt(int(groups)), "num_channels", starlark.MakeInt(int(channels)), "eps", starlark.Float(eps))
	mk, err := newMaker(e, b.Name(), m, dt)
	if err != nil {
		return nil, err
	}
	mk.none("weight")
	mk.none("bias")
	if !affine {
		return m, nil
	}
	if err := mk.constant("weight", "ones", int(channels)); err != nil {
		return nil, err
	}
	return m, mk.constant("bias", "zeros", int(channels))
}

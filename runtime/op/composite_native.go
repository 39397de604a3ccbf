package op

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Names of PyTorch's own functions below those of torch.nn.functional, which also return
// what their gradients need.

var (
	inWeight = Param{Name: "weight", Kind: OptTensor, Doc: "a factor, or None"}
	inBias   = Param{Name: "bias", Kind: OptTensor, Doc: "a summand, or None"}
	inMean   = Param{Name: "running_mean", Kind: OptTensor, Doc: "a float tensor [c], or None"}
	inVar    = Param{Name: "running_var", Kind: OptTensor, Doc: "a float tensor [c], or None"}
	inTrain  = Param{Name: "training", Kind: Bool, Doc: "whether to use the batch's own mean and variance"}
	inMoment = Param{Name: "momentum", Kind: Float, Doc: "how much of the batch goes into the running mean and variance"}
	inEps    = Param{Name: "eps", Kind: Float, Doc: "a small number added to the variance"}
	inGrad   = Param{Name: "grad_output", Kind: Tensor, Doc: "the gradient of the result"}
)

var nativeComposites = []namedComposite{
	{"native_layer_norm", Function, "native_layer_norm(x, normalized_shape, weight, bias, eps) returns F.layer_norm(x, normalized_shape, weight, bias, eps), the means and one over the standard deviations, which as in PyTorch have no gradient.\n>>> native_layer_norm(tensor([1.0, 3.0]), [2], None, None, 0.0)[1].tolist()\n[2.0]",
		[]Param{inX, {Name: "normalized_shape", Kind: Ints, Doc: "the sizes of the last dims"}, inWeight, inBias, inEps},
		func(m *maker) []*tensor.Tensor {
			y := m.Do("layer_norm", m.c.In, m.c.Args...)
			n := len(m.x(0).Shape())
			dims := firstInts(n)[max(n-len(m.c.Args[0].Ints), 0):]
			return append([]*tensor.Tensor{y}, m.moments(m.x(0).Detach(), dims, true, m.float(1))...)
		}},
	{"native_group_norm", Function, "native_group_norm(x, weight, bias, N, C, HxW, group, eps) returns F.group_norm(x, group, weight, bias, eps), of x [N, C, ..] of HxW elements each, the means [N, group] and one over the standard deviations.\n>>> native_group_norm(tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)[1].tolist()\n[[2.0]]",
		[]Param{inX, inWeight, inBias, {Name: "N", Kind: Int, Doc: "samples"}, {Name: "C", Kind: Int, Doc: "channels"}, {Name: "HxW", Kind: Int, Doc: "elements of a channel"}, {Name: "group", Kind: Int, Doc: "how many groups"}, inEps},
		func(m *maker) []*tensor.Tensor {
			n, c, inside, groups := m.int(0), m.int(1), m.int(2), m.int(3)
			s := m.x(0).Shape()
			if len(s) < 2 || s[0] != n || s[1] != c || s[2:].Numel() != inside {
				m.refuse("x", Describe(m.x(0)), fmt.Sprintf("a tensor (%d, %d, ..) of %d elements in each channel", n, c, inside), "N, C and HxW say so")
			}
			y := m.groupNorm(m.floats(m.x(0)), groups, m.float(4), m.x(1), m.x(2))
			rows := m.Reshape(m.floats(m.x(0)), []int{n, groups, c / groups * inside})
			return append(one(y), m.moments(rows, []int{2}, false, m.float(4))...)
		}},
	{"native_batch_norm", Function, "native_batch_norm(x, weight, bias, running_mean, running_var, training, momentum, eps) returns F.batch_norm(x, running_mean, running_var, weight, bias, training, momentum, eps), and in training the means [c] and one over the standard deviations, which as in PyTorch have no gradient, else two empty tensors.\n>>> native_batch_norm(tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)[1].tolist()\n[2.0]",
		[]Param{inX, inWeight, inBias, inMean, inVar, inTrain, inMoment, inEps},
		func(m *maker) []*tensor.Tensor { return m.batchNorm(m.bool(0), m.c.Args[1], m.c.Args[2]) }},
	{"_batch_norm_with_update", Function, "_batch_norm_with_update(x, weight, bias, running_mean, running_var, momentum, eps) returns native_batch_norm in training, and an empty tensor besides.\n>>> _batch_norm_with_update(tensor([[1.0], [3.0]]), None, None, zeros(1), ones(1), 0.1, 0.0)[1].tolist()\n[2.0]",
		[]Param{inX, inWeight, inBias, inMean, inVar, inMoment, inEps},
		func(m *maker) []*tensor.Tensor {
			return append(m.batchNorm(true, m.c.Args[0], m.c.Args[1]), m.Zeros(dtype.Uint8, shape.Shape{0}))
		}},
	{"native_dropout_backward", Function, "native_dropout_backward(grad_output, mask, scale) returns grad_output times mask times scale: the gradient of a dropout.\n>>> native_dropout_backward(ones(2), tensor([True, False]), 2.0).tolist()\n[2.0, 0.0]",
		[]Param{inGrad, {Name: "mask", Kind: Tensor, Doc: "which elements were kept"}, {Name: "scale", Kind: Float, Doc: "what they were multiplied by"}},
		func(m *maker) []*tensor.Tensor {
			return one(m.Scale(m.Mul(m.x(0), m.Cast(m.x(1), m.x(0).DType())), m.float(0)))
		}},
	{"_softmax_backward_data", Function, "_softmax_backward_data(grad_output, output, dim, input_dtype) returns the gradient of a softmax along dim whose result output is.\n>>> _softmax_backward_data(tensor([1.0, 0.0]), tensor([0.5, 0.5]), 0, float32).tolist()\n[0.25, -0.25]",
		[]Param{inGrad, {Name: "output", Kind: Tensor, Doc: "what softmax gave"}, {Name: "dim", Kind: Dim, Doc: "a dim"}, {Name: "input_dtype", Kind: DType, Doc: "the dtype of the result"}},
		func(m *maker) []*tensor.Tensor {
			y := m.Mul(m.x(0), m.x(1))
			sum := m.Sum(y, []int{m.dim(0, y)}, true)
			return one(m.Cast(m.Sub(y, m.Mul(m.x(1), sum)), dtype.DType(m.int(1))))
		}},
	{"_safe_softmax", Function, "_safe_softmax(x, dim, dtype=None) returns softmax(x, dim, dtype), and zeros without a gradient where all elements along dim are -inf.\n>>> _safe_softmax(tensor([0.0, 0.0]) - float(\"inf\"), 0).tolist()\n[0.0, 0.0]",
		[]Param{inX, inDimGive, {Name: "dtype", Kind: OptDType, Doc: "what the elements are converted to first, or None", Default: Default(None)}},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			none := m.do("all", m.same(x, number(math.Inf(-1))), IntsN(m.dim(0, x)), Bool1(true))
			y := m.do("softmax", m.Where(none, number(0), x), m.c.Args...)
			return one(m.Where(none, number(0), y))
		}},
	{"max_pool2d_with_indices_backward", Function, "max_pool2d_with_indices_backward(grad_output, x, kernel_size, stride, padding, dilation, ceil_mode, indices) returns zeros like x with grad_output added at the places that indices gives: the gradient of F.max_pool2d with return_indices.\n>>> max_pool2d_with_indices_backward(ones(1, 1, 1), zeros(1, 1, 2), [1, 2], [1, 2], 0, 1, False, tensor([[[1]]])).tolist()\n[[[0.0, 1.0]]]",
		[]Param{inGrad, inX, inKernel, {Name: "stride", Kind: IntOrSeq, Doc: "how far apart the windows are"}, {Name: "padding", Kind: IntOrSeq, Doc: "what was put around x"}, {Name: "dilation", Kind: IntOrSeq, Doc: "how far apart their elements are"},
			{Name: "ceil_mode", Kind: Bool, Doc: "whether windows reach beyond"}, {Name: "indices", Kind: Tensor, Doc: "where the greatest elements lie"}},
		func(m *maker) []*tensor.Tensor {
			dy, x, index := m.x(0), m.x(1), m.x(2)
			if n := len(x.Shape()); n < 3 || n > 4 || !dy.Shape().Equal(index.Shape()) || len(dy.Shape()) != n {
				m.refuse("indices", Describe(index), "the shape of grad_output "+Describe(dy), "x is [n, c, h, w] or [c, h, w]")
			}
			lead := len(x.Shape()) - 2
			flat := func(x *tensor.Tensor) *tensor.Tensor { return m.do("flatten", x, Int1(lead), Int1(-1)) }
			zeros := m.do("zeros_like", flat(x), Int1(int(dy.DType())))
			y := m.Do("scatter_add", []*tensor.Tensor{zeros, flat(index), flat(dy)}, Int1(lead))
			return one(m.Reshape(y, x.Shape()))
		}},
}

func init() {
	for _, e := range nativeComposites {
		compositeOf(&Def{Name: e.name, Surface: e.surface, Doc: e.doc, Params: e.params}, e.make)
	}
	compositeOf(&Def{Name: "_native_batch_norm_legit", Surface: Function, Instead: "_native_batch_norm_legit_alone",
		Doc: "_native_batch_norm_legit(x, weight, bias, running_mean, running_var, training, momentum, eps) is native_batch_norm with the same arguments, or without running_mean and running_var.\n" +
			">>> _native_batch_norm_legit(tensor([[1.0], [3.0]]), None, None, True, 0.1, 0.0)[1].tolist()\n[2.0]",
		Params: []Param{inX, inWeight, inBias, inMean, inVar, inTrain, inMoment, inEps}},
		func(m *maker) []*tensor.Tensor { return m.batchNorm(m.bool(0), m.c.Args[1], m.c.Args[2]) })
	compositeOf(&Def{Name: "_native_batch_norm_legit_alone", Surface: Internal,
		Doc:    "_native_batch_norm_legit_alone(x, weight, bias, training, momentum, eps) is native_batch_norm without a running mean and variance. Scripts write _native_batch_norm_legit.",
		Params: []Param{inX, inWeight, inBias, inTrain, inMoment, inEps}},
		func(m *maker) []*tensor.Tensor {
			m.c.In = append(m.c.In[:3:3], nil, nil)
			return m.batchNorm(m.bool(0), m.c.Args[1], m.c.Args[2])
		})
	for n := 2; n <= 3; n++ {
		compositeOf(&Def{Name: fmt.Sprintf("grid_sampler_%dd", n), Surface: Function,
			MakeDoc: func() string {
				return fmt.Sprintf("grid_sampler_%dd(x, grid, interpolation_mode, padding_mode, align_corners) is F.grid_sample of %d dims, whose modes are numbers: 0 \"bilinear\", 1 \"nearest\", 2 \"bicubic\"; 0 \"zeros\", 1 \"border\", 2 \"reflection\".\n>>> grid_sampler_%dd(ones(1, 1%s), zeros(1, 1%s, %d), 0, 0, False).shape\n(1, 1%s)",
					n, n, n, strings.Repeat(", 4", n), strings.Repeat(", 1", n-1), n, strings.Repeat(", 1", n))
			},
			Params: []Param{inX, {Name: "grid", Kind: Tensor, Doc: "places"}, {Name: "interpolation_mode", Kind: Int, Doc: "0, 1 or 2"}, {Name: "padding_mode", Kind: Int, Doc: "0, 1 or 2"}, {Name: "align_corners", Kind: Bool, Doc: "whether -1 and 1 are the middles of the outermost elements"}}},
			func(m *maker) []*tensor.Tensor {
				if len(m.x(0).Shape()) != n+2 {
					m.refuse("x", Describe(m.x(0)), fmt.Sprintf("a tensor of %d dims", n+2), "")
				}
				names := [2][]string{{"bilinear", "nearest", "bicubic"}, {"zeros", "border", "reflection"}}
				for i, param := range []string{"interpolation_mode", "padding_mode"} {
					if k := m.int(i); k < 0 || k > 2 {
						m.refuse(param, fmt.Sprint(k), "0, 1 or 2", "")
					}
				}
				m.c.Args = []Arg{Str1(names[0][m.int(0)]), Str1(names[1][m.int(1)]), m.c.Args[2]}
				return one(m.sampledGrid())
			})
	}
	for name, dt := range map[string]dtype.DType{"cfloat": dtype.Complex64, "cdouble": dtype.Complex128} {
		compositeOf(&Def{Name: name, Surface: Method, Params: xAlone, MakeDoc: func() string {
			return fmt.Sprintf("%s(x) returns x as %v.\n>>> tensor([1]).%s().dtype\n%v", name, dt, name, dt)
		}},
			func(m *maker) []*tensor.Tensor { return one(m.Cast(m.x(0), dt)) })
	}
}

// moments returns the means of x over dims, and one over the standard deviations, of
// variances to which eps is added.
func (m *maker) moments(x *tensor.Tensor, dims []int, keep bool, eps float64) []*tensor.Tensor {
	x = m.floats(x)
	mean := m.do("mean", x, IntsN(dims...), Bool1(keep))
	spread := m.do("var", x, IntsN(dims...), Bool1(keep), Float1(0))
	return []*tensor.Tensor{mean, m.unary("rsqrt", m.AddNumber(spread, eps))}
}

// batchNorm returns F.batch_norm of x, weight, bias and the running mean and variance,
// and what its gradient needs.
func (m *maker) batchNorm(training bool, momentum, eps Arg) []*tensor.Tensor {
	x := m.x(0)
	y := m.Do("batch_norm", []*tensor.Tensor{x, m.x(3), m.x(4), m.x(1), m.x(2)}, Bool1(training), momentum, eps)
	if !training {
		empty := m.Zeros(x.DType(), shape.Shape{0})
		return []*tensor.Tensor{y, empty, empty}
	}
	dims := slices.DeleteFunc(firstInts(len(x.Shape())), func(d int) bool { return d == 1 })
	return append(one(y), m.moments(x.Detach(), dims, false, eps.Float)...)
}

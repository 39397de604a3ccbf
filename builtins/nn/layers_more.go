package nn

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

// A simpleLayer is a class of modules without parameters as a row of a table: its
// arguments, with defaults as a script writes them, which it keeps and gives to a
// function of F by their names; the names of what it is called with, "input" if that is
// "", with "training" in front of a function that takes it; and an example of a call.
type simpleLayer struct{ name, args, fn, inputs, example string }

const reduction = `reduction="mean"`

var simpleLayers = []simpleLayer{
	{"MaxPool1d", "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False", "max_pool1d", "", "nn.MaxPool1d(2)(ones(1, 1, 4)).shape\n(1, 1, 2)"},
	{"MaxPool3d", "kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False", "max_pool3d", "", "nn.MaxPool3d(2)(ones(1, 1, 2, 2, 4)).shape\n(1, 1, 1, 1, 2)"},
	{"AvgPool1d", "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True", "avg_pool1d", "", "nn.AvgPool1d(2)(ones(1, 1, 4)).shape\n(1, 1, 2)"},
	{"AvgPool3d", "kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None", "avg_pool3d", "", "nn.AvgPool3d(2)(ones(1, 1, 2, 2, 4)).shape\n(1, 1, 1, 1, 2)"},
	{"AdaptiveAvgPool1d", "output_size", "adaptive_avg_pool1d", "", "nn.AdaptiveAvgPool1d(2)(ones(1, 1, 5)).shape\n(1, 1, 2)"},
	{"AdaptiveAvgPool3d", "output_size", "adaptive_avg_pool3d", "", "nn.AdaptiveAvgPool3d(1)(ones(1, 1, 2, 3, 4)).shape\n(1, 1, 1, 1, 1)"},
	{"AdaptiveMaxPool1d", "output_size, return_indices=False", "adaptive_max_pool1d", "", "nn.AdaptiveMaxPool1d(2)(ones(1, 1, 5)).shape\n(1, 1, 2)"},
	{"AdaptiveMaxPool2d", "output_size, return_indices=False", "adaptive_max_pool2d", "", "nn.AdaptiveMaxPool2d(1)(ones(1, 3, 4, 4)).shape\n(1, 3, 1, 1)"},
	{"AdaptiveMaxPool3d", "output_size, return_indices=False", "adaptive_max_pool3d", "", "nn.AdaptiveMaxPool3d(1)(ones(1, 1, 2, 3, 4)).shape\n(1, 1, 1, 1, 1)"},
	{"FractionalMaxPool2d", "kernel_size, output_size=None, output_ratio=None, return_indices=False", "fractional_max_pool2d", "", "nn.FractionalMaxPool2d(2, output_size=2)(ones(1, 1, 4, 4)).shape\n(1, 1, 2, 2)"},
	{"FractionalMaxPool3d", "kernel_size, output_size=None, output_ratio=None, return_indices=False", "fractional_max_pool3d", "", "nn.FractionalMaxPool3d(2, output_size=2)(ones(1, 1, 4, 4, 4)).shape\n(1, 1, 2, 2, 2)"},
	{"LPPool1d", "norm_type, kernel_size, stride=None", "lp_pool1d", "", "nn.LPPool1d(2, 2)(tensor([[[3.0, 4.0]]])).tolist()\n[[[5.0]]]"},
	{"LPPool2d", "norm_type, kernel_size, stride=None", "lp_pool2d", "", "nn.LPPool2d(1, 2)(ones(1, 1, 2, 2)).tolist()\n[[[[4.0]]]]"},
	{"LPPool3d", "norm_type, kernel_size, stride=None", "lp_pool3d", "", "nn.LPPool3d(1, 2)(ones(1, 1, 2, 2, 2)).item()\n8.0"},

	{"ReLU6", "", "relu6", "", "nn.ReLU6()(tensor([9.0])).tolist()\n[6.0]"},
	{"SELU", "", "selu", "", "nn.SELU()(zeros(1)).tolist()\n[0.0]"},
	{"CELU", "alpha=1.0", "celu", "", "nn.CELU()(zeros(1)).tolist()\n[0.0]"},
	{"GLU", "dim=-1", "glu", "", "nn.GLU()(zeros(4)).tolist()\n[0.0, 0.0]"},
	{"RReLU", "lower=0.125, upper=0.3333333333333333", "rrelu", "training", "nn.RReLU()(tensor([2.0])).tolist()\n[2.0]"},
	{"Hardshrink", "lambd=0.5", "hardshrink", "", "nn.Hardshrink()(tensor([0.2, 2.0])).tolist()\n[0.0, 2.0]"},
	{"Hardsigmoid", "", "hardsigmoid", "", "nn.Hardsigmoid()(zeros(1)).tolist()\n[0.5]"},
	{"Hardswish", "", "hardswish", "", "nn.Hardswish()(tensor([3.0])).tolist()\n[3.0]"},
	{"Hardtanh", "min_val=-1.0, max_val=1.0", "hardtanh", "", "nn.Hardtanh()(tensor([-3.0])).tolist()\n[-1.0]"},
	{"LogSigmoid", "", "logsigmoid", "", "nn.LogSigmoid()(tensor([100.0])).round()\n[-0.]"},
	{"LogSoftmax", "dim", "log_softmax", "", "nn.LogSoftmax(0)(zeros(1)).tolist()\n[0.0]"},
	{"Mish", "", "mish", "", "nn.Mish()(zeros(1)).tolist()\n[0.0]"},
	{"Softmin", "dim", "softmin", "", "nn.Softmin(0)(zeros(2)).tolist()\n[0.5, 0.5]"},
	{"Softshrink", "lambd=0.5", "softshrink", "", "nn.Softshrink()(tensor([2.0])).tolist()\n[1.5]"},
	{"Softsign", "", "softsign", "", "nn.Softsign()(ones(1)).tolist()\n[0.5]"},
	{"Tanhshrink", "", "tanhshrink", "", "nn.Tanhshrink()(zeros(1)).tolist()\n[0.0]"},
	{"Threshold", "threshold, value", "threshold", "", "nn.Threshold(0.5, 9.0)(tensor([0.2, 2.0])).tolist()\n[9.0, 2.0]"},

	{"Dropout1d", "p=0.5", "dropout1d", "training", "nn.Dropout1d(0.0)(ones(1, 2, 4)).shape\n(1, 2, 4)"},
	{"Dropout2d", "p=0.5", "dropout2d", "training", "nn.Dropout2d(0.0)(ones(1, 2, 4, 4)).shape\n(1, 2, 4, 4)"},
	{"Dropout3d", "p=0.5", "dropout3d", "training", "nn.Dropout3d(0.0)(ones(1, 2, 4, 4, 4)).shape\n(1, 2, 4, 4, 4)"},
	{"AlphaDropout", "p=0.5", "alpha_dropout", "training", "nn.AlphaDropout(0.0)(ones(2)).tolist()\n[1.0, 1.0]"},
	{"FeatureAlphaDropout", "p=0.5", "feature_alpha_dropout", "training", "nn.FeatureAlphaDropout(0.0)(ones(1, 2, 2)).shape\n(1, 2, 2)"},

	{"PixelShuffle", "upscale_factor", "pixel_shuffle", "", "nn.PixelShuffle(2)(ones(1, 4, 1, 1)).shape\n(1, 1, 2, 2)"},
	{"PixelUnshuffle", "downscale_factor", "pixel_unshuffle", "", "nn.PixelUnshuffle(2)(ones(1, 1, 2, 2)).shape\n(1, 4, 1, 1)"},
	{"ChannelShuffle", "groups", "channel_shuffle", "", "nn.ChannelShuffle(2)(ones(1, 4, 1, 1)).shape\n(1, 4, 1, 1)"},
	{"Fold", "output_size, kernel_size, dilation=1, padding=0, stride=1", "fold", "", "nn.Fold([1, 3], [1, 2])(ones(1, 2, 2)).tolist()\n[[[[1.0, 2.0, 1.0]]]]"},
	{"Unfold", "kernel_size, dilation=1, padding=0, stride=1", "unfold", "", "nn.Unfold(2)(ones(1, 1, 2, 2)).shape\n(1, 4, 1)"},
	{"LocalResponseNorm", "size, alpha=0.0001, beta=0.75, k=1.0", "local_response_norm", "", "nn.LocalResponseNorm(1, alpha=0.0)(ones(1, 1, 1)).tolist()\n[[[1.0]]]"},
	{"CrossMapLRN2d", "size, alpha=0.0001, beta=0.75, k=1.0", "local_response_norm", "", "nn.CrossMapLRN2d(1, alpha=0.0)(ones(1, 1, 1, 1)).tolist()\n[[[[1.0]]]]"},
	{"CosineSimilarity", "dim=1, eps=1e-08", "cosine_similarity", "x1 x2", "nn.CosineSimilarity()(ones(1, 1), ones(1, 1)).tolist()\n[1.0]"},
	{"PairwiseDistance", "p=2.0, eps=1e-06, keepdim=False", "pairwise_distance", "x1 x2", "nn.PairwiseDistance(eps=0.0)(tensor([[3.0, 4.0]]), zeros(1, 2)).tolist()\n[5.0]"},

	{"L1Loss", reduction, "l1_loss", "input target", "nn.L1Loss()(tensor([1.0]), tensor([3.0])).item()\n2.0"},
	{"SmoothL1Loss", reduction + ", beta=1.0", "smooth_l1_loss", "input target", "nn.SmoothL1Loss()(tensor([1.0]), tensor([3.0])).item()\n1.5"},
	{"HuberLoss", reduction + ", delta=1.0", "huber_loss", "input target", "nn.HuberLoss()(tensor([1.0]), tensor([3.0])).item()\n1.5"},
	{"BCELoss", "weight=None, " + reduction, "binary_cross_entropy", "input target", "nn.BCELoss()(tensor([1.0]), tensor([1.0])).item()\n0.0"},
	{"KLDivLoss", reduction + ", log_target=False", "kl_div", "input target", "nn.KLDivLoss(log_target=True)(tensor([-1.0]), tensor([-1.0])).item()\n0.0"},
	{"PoissonNLLLoss", "log_input=True, full=False, eps=1e-08, " + reduction, "poisson_nll_loss", "input target", "nn.PoissonNLLLoss()(tensor([0.0]), tensor([1.0])).item()\n1.0"},
	{"SoftMarginLoss", reduction, "soft_margin_loss", "input target", "nn.SoftMarginLoss()(tensor([0.0]), tensor([1.0])).item()\n0.6931471824645996"},
	{"HingeEmbeddingLoss", "margin=1.0, " + reduction, "hinge_embedding_loss", "input target", "nn.HingeEmbeddingLoss()(tensor([0.25]), tensor([1.0])).item()\n0.25"},
	{"MarginRankingLoss", "margin=0.0, " + reduction, "margin_ranking_loss", "input1 input2 target", "nn.MarginRankingLoss()(tensor([1.0]), tensor([3.0]), tensor([1.0])).item()\n2.0"},
	{"CosineEmbeddingLoss", "margin=0.0, " + reduction, "cosine_embedding_loss", "input1 input2 target", "nn.CosineEmbeddingLoss()(tensor([[1.0, 0.0]]), tensor([[0.0, 1.0]]), tensor([1])).item()\n1.0"},
	{"TripletMarginLoss", "margin=1.0, p=2.0, eps=1e-06, swap=False, " + reduction, "triplet_margin_loss", "anchor positive negative", "nn.TripletMarginLoss(eps=0.0)(tensor([[0.0]]), tensor([[2.0]]), tensor([[1.0]])).item()\n2.0"},
	{"GaussianNLLLoss", "full=False, eps=1e-06, " + reduction, "gaussian_nll_loss", "input target var", "nn.GaussianNLLLoss()(tensor([1.0]), tensor([3.0]), tensor([1.0])).item()\n2.0"},
	{"MultiLabelSoftMarginLoss", "weight=None, " + reduction, "multilabel_soft_margin_loss", "input target", "nn.MultiLabelSoftMarginLoss()(zeros(1, 2), ones(1, 2)).item()\n0.6931471824645996"},
	{"MultiMarginLoss", "p=1, margin=1.0, weight=None, " + reduction, "multi_margin_loss", "input target", "nn.MultiMarginLoss()(tensor([[0.0, 0.5]]), tensor([0])).item()\n0.75"},
	{"MultiLabelMarginLoss", reduction, "multilabel_margin_loss", "input target", "nn.MultiLabelMarginLoss()(tensor([[0.0, 0.5]]), tensor([[0, -1]])).item()\n0.75"},
	{"NLLLoss", "weight=None, ignore_index=-100, " + reduction, "nll_loss", "input target", "nn.NLLLoss()(tensor([[-1.0, -2.0]]), tensor([1])).item()\n2.0"},
	{"NLLLoss2d", "weight=None, ignore_index=-100, " + reduction, "nll_loss", "input target", "nn.NLLLoss2d()(zeros(1, 2, 1, 1) - 1, tensor([[[1]]])).item()\n1.0"},
	{"CTCLoss", "blank=0, " + reduction + ", zero_infinity=False", "ctc_loss", "log_probs targets input_lengths target_lengths", "nn.CTCLoss()(tensor([[[0.5, 0.5]]]).log(), tensor([[1]]), tensor([1]), tensor([1])).item()\n0.6931471824645996"},
	{"BCEWithLogitsLoss", "weight=None, " + reduction + ", pos_weight=None", "binary_cross_entropy_with_logits", "input target", "nn.BCEWithLogitsLoss()(zeros(1), ones(1)).item()\n0.6931471824645996"},
}

func init() {
	for i := range simpleLayers {
		s := &simpleLayers[i]
		builtins.Register(rowOnUse(s.name, s.row))
	}
	for n := 1; n <= 3; n++ {
		for _, p := range []struct{ name, mode string }{{"ZeroPad", "constant"}, {"ConstantPad", "constant"}, {"ReflectionPad", "reflect"}, {"ReplicationPad", "replicate"}, {"CircularPad", "circular"}} {
			name := fmt.Sprintf("%s%dd", p.name, n)
			builtins.Register(rowOnUse(name, func() *builtins.Row { return paddingRow(name, p.mode, n) }))
		}
	}
}

// rowOnUse returns the row of the constructor called name, of which all but the name is made when it is
// first asked for.
func rowOnUse(name string, makes func() *builtins.Row) *builtins.Row {
	made := sync.OnceValue(makes)
	return &builtins.Row{
		Name:    "nn." + name,
		MakeDoc: func() string { return made().Text() },
		Fn: func(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return made().Fn(e, thread, b, args, kwargs)
		},
	}
}

// row returns the row of the layer's constructor.
func (s *simpleLayer) row() *builtins.Row {
	l := &layer{name: s.name, fn: s.fn, fields: layerFields(s.args)}
	l.doc = fmt.Sprintf("%s(%s) returns a module that applies F.%s", s.name, s.args, s.fn)
	inputs := strings.Fields(s.inputs)
	training := len(inputs) > 0 && inputs[0] == "training"
	if training {
		inputs = inputs[1:]
		l.doc += " in training"
	}
	if len(inputs) == 0 {
		inputs = []string{"input"}
	} else {
		l.doc += " to " + strings.Join(inputs, ", ")
	}
	l.doc += ".\n>>> " + s.example
	return l.rowOf(appliesTo(s.fn, inputs, l.names(), training))
}

// appliesTo returns the forward function that calls the function called name of F with
// inputs by position, and fields of the module by name.
func appliesTo(name string, inputs, fields []string, training bool) forwardFunc {
	if training {
		fields = append(fields[:len(fields):len(fields)], "training")
	}
	return func(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		values, pairs := make(starlark.Tuple, len(inputs)), []any{}
		for i, in := range inputs {
			pairs = append(pairs, in, &values[i])
		}
		if err := arg.Unpack(m.Class.Name, args, kwargs, pairs...); err != nil {
			return nil, err
		}
		return m.apply(name, values, fields...)
	}
}

// layerFields returns the arguments that a row of the table lists.
func layerFields(list string) []layerField {
	if list == "" {
		return nil
	}
	parts := strings.Split(list, ", ")
	fields := make([]layerField, len(parts))
	for i, p := range parts {
		name, value, given := strings.Cut(p, "=")
		fields[i].name = name
		if given {
			fields[i].value = literal(value)
		}
	}
	return fields
}

// literal returns the value that a script writes as text.
func literal(text string) starlark.Value {
	switch text {
	case "None":
		return starlark.None
	case "True", "False":
		return starlark.Bool(text == "True")
	}
	if n, err := strconv.Atoi(text); err == nil {
		return starlark.MakeInt(n)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return starlark.Float(f)
	}
	return starlark.String(strings.Trim(text, `"`))
}

// paddingRow returns the row of a class of modules that put elements around the last n
// dims.
func paddingRow(name, mode string, n int) *builtins.Row {
	l := &layer{name: name, fn: "pad", fields: layerFields("padding")}
	args := "padding"
	if strings.HasPrefix(name, "Constant") {
		l.fields, args = layerFields("padding, value"), "padding, value"
	}
	l.doc = fmt.Sprintf("%s(%s) returns a module that puts elements around the last %s of x with F.pad, mode %q.\n"+
		"padding is how many on all sides, or a list of how many before and after the last dim, then the dim before it.\n"+
		">>> nn.%s(%s)(ones(1, 1%s)).shape\n(1, 1%s)", name, args, map[int]string{1: "dim", 2: "2 dims", 3: "3 dims"}[n], mode, name, strings.Replace("1, 0.5", ", 0.5", map[bool]string{true: ", 0.5"}[len(l.fields) > 1], 1), repeated(n), strings.ReplaceAll(repeated(n), "4", "6"))
	return l.rowOf(func(m *Module, _ *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var x starlark.Value
		if err := arg.Unpack(m.Class.Name, args, kwargs, "input", &x); err != nil {
			return nil, err
		}
		padding := m.Get("padding")
		if _, one := padding.(starlark.Int); one {
			sides := make([]starlark.Value, 2*n)
			for i := range sides {
				sides[i] = padding
			}
			padding = starlark.NewList(sides)
		}
		more := []starlark.Tuple{{starlark.String("mode"), starlark.String(mode)}}
		if len(l.fields) > 1 {
			more = append(more, starlark.Tuple{starlark.String("value"), m.Get("value")})
		}
		return builtins.CallF(m.env, "pad", starlark.Tuple{x, padding}, more)
	})
}

package op

import (
	"fmt"

	"tpsh/runtime/tensor"
)

func init() {
	examples := []string{
		">>> F.conv1d(tensor([[[1.0, 2.0, 3.0]]]), tensor([[[1.0, 10.0]]])).tolist()\n[[[21.0, 32.0]]]",
		">>> F.conv2d(ones(1, 1, 3, 3), ones(1, 1, 2, 2)).tolist()\n[[[[4.0, 4.0], [4.0, 4.0]]]]",
		">>> F.conv3d(ones(1, 2, 3, 3, 3), ones(4, 2, 3, 3, 3), padding=1).shape\n(1, 4, 3, 3, 3)",
	}
	for i, example := range examples {
		n := i + 1
		pad := inPadding
		pad.Doc += "; \"same\" for as many as keep the sizes, \"valid\" for none"
		pad.Choices = []string{"same", "valid"}
		compositeOf(&Def{
			Name: fmt.Sprintf("conv%dd", n), Surface: Namespace,
			MakeDoc: func() string {
				return fmt.Sprintf("conv%dd(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1) returns the %d-dimensional convolution of x [n, c, ..] with weight [o, c / groups, ..], plus bias.\n"+
					"Each window of x is multiplied with the weight, not turned round, and summed. Of groups,\n"+
					"each maps its own part of the channels of x to its own part of the result's. x may have\n"+
					"no batch dim. On ranks, dim n is cut without communication; a cut dim that windows move\n"+
					"along is put together first.\n%s", n, n, example)
			},
			Params: []Param{
				{Name: "x", Kind: Tensor, Doc: "a float tensor [n, c, ..]"},
				{Name: "weight", Kind: Tensor, Doc: "a float tensor [o, c / groups, ..]"},
				{Name: "bias", Kind: OptTensor, Doc: "a float tensor [o], or None", Default: Default(None)},
				inStride, pad, inDilation, inInt("groups", "into how many parts the channels are split", 1),
			},
		}, func(m *maker) []*tensor.Tensor { return one(m.convolution(n)) })
	}
}

// depthwise stands for as many groups as there are channels, each by itself.
const depthwise = 0

// convolution returns the n-dimensional convolution of the call.
func (m *maker) convolution(n int) *tensor.Tensor {
	x, alone := m.batched(m.x(0), n)
	weight, groups := m.x(1), m.int(3)
	m.checkConvolution(x, weight, n, groups)
	w := &window{size: weight.Shape()[2:], stride: m.spread(0, n, 1), dilation: m.spread(2, n, 1)}
	m.convolutionPadding(w)
	if groups > 1 && weight.Shape()[1] == 1 && weight.Shape()[0] == groups {
		groups = depthwise
	}
	var y *tensor.Tensor
	if isCutAlong(x, n) {
		y = m.convolvedViews(x, weight, groups, w)
	} else {
		y = m.Do("convolve", []*tensor.Tensor{x, weight}, IntsN(m.windowCounts(x, w)...), IntsN(w.stride...), IntsN(w.padding...), IntsN(w.dilation...), Int1(groups))
	}
	if b := m.x(2); b != nil {
		y = m.Add(y, m.perChannel(y, b, "bias"))
	}
	return m.unbatched(y, alone)
}

// checkConvolution refuses a weight that does not fit x [n, c, ..].
func (m *maker) checkConvolution(x, weight *tensor.Tensor, n, groups int) {
	s, ws := x.Shape(), weight.Shape()
	m.check(m.c.checkFloat("x", m.x(0)))
	m.check(m.c.checkFloat("weight", weight))
	switch {
	case len(ws) != n+2 || ws[2:].Numel() == 0:
		m.refuse("weight", Describe(weight), fmt.Sprintf("a tensor of %d dims: [o, c / groups, ..]", n+2), "")
	case groups < 1 || s[1]%groups != 0 || ws[0]%groups != 0:
		m.refuse("groups", fmt.Sprint(groups), "a divisor of the channels of x and of the weight", Describe(m.x(0))+" and "+Describe(weight))
	case ws[1] != s[1]/groups:
		m.refuse("weight", Describe(weight), fmt.Sprintf("%d channels in dim 1", s[1]/groups), fmt.Sprintf("x is %s, groups %d", Describe(m.x(0)), groups))
	}
	if b := m.x(2); b != nil && !b.Shape().Equal(ws[:1]) {
		m.refuse("bias", Describe(b), fmt.Sprintf("a tensor of shape (%d,)", ws[0]), "one element for each channel of the result")
	}
}

// convolutionPadding sets how much is put around x.
func (m *maker) convolutionPadding(w *window) {
	n := len(w.size)
	switch m.c.Args[1].Str {
	case "same":
		w.padding, w.after = make([]int, n), make([]int, n)
		for i, k := range w.size {
			if w.stride[i] != 1 {
				m.refuse("padding", `"same"`, "ints", "the stride is not 1")
			}
			all := w.dilation[i] * (k - 1)
			w.padding[i], w.after[i] = all/2, all-all/2
		}
	case "valid":
		w.padding = make([]int, n)
	default:
		w.padding = m.spread(1, n, 0)
	}
}

// windowCounts returns how many windows w has along each of the last dims of x.
func (m *maker) windowCounts(x *tensor.Tensor, w *window) []int {
	counts, after := make([]int, len(w.size)), w.after
	if after == nil {
		after = w.padding
	}
	for i := range counts {
		counts[i] = m.windowCount(w, i, x.Shape()[2+i]+w.padding[i]+after[i])
	}
	return counts
}

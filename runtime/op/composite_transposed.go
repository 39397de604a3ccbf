package op

import (
	"fmt"
	"slices"
	"strings"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	for n := 1; n <= 3; n++ {
		like := "ones(1, 1" + strings.Repeat(", 2", n) + ")"
		compositeOf(&Def{
			Name: fmt.Sprintf("conv_transpose%dd", n), Surface: Namespace,
			MakeDoc: func() string {
				return fmt.Sprintf("conv_transpose%dd(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1) returns what the gradient of conv%dd with that weight [c, o / groups, ..] makes of x [n, c, ..], plus bias.\n"+
					"output_padding adds to the end of the result's sizes. See conv%dd.\n>>> F.conv_transpose%dd(%s, %s).shape\n(1, 1%s)", n, n, n, n, like, like, strings.Repeat(", 3", n))
			},
			Params: []Param{
				{Name: "x", Kind: Tensor, Doc: "a float tensor [n, c, ..]"},
				{Name: "weight", Kind: Tensor, Doc: "a float tensor [c, o / groups, ..]"},
				{Name: "bias", Kind: OptTensor, Doc: "a float tensor [o], or None", Default: Default(None)},
				inStride, inPadding, {Name: "output_padding", Kind: IntOrSeq, Doc: "how much the result is longer", Default: Default(Arg{})},
				inInt("groups", "into how many parts the channels are split", 1), inDilation,
			},
		}, func(m *maker) []*tensor.Tensor { return one(m.convTransposed(n)) })
	}
	compositeOf(&Def{Name: "fold", Surface: Namespace,
		Doc: "fold(x, output_size, kernel_size, dilation=1, padding=0, stride=1) returns images [n, c, h, w] of output_size in which the windows of x [n, c * size, windows], as unfold gives them, are added up.\n" +
			">>> F.fold(ones(1, 2, 2), [1, 3], [1, 2]).tolist()\n[[[[1.0, 2.0, 1.0]]]]",
		Params: []Param{inX, {Name: "output_size", Kind: IntOrSeq, Doc: "h and w"}, inKernel, inDilation, inPadding, inStride}},
		func(m *maker) []*tensor.Tensor { return one(m.folded()) })
}

// apartBy returns x with its last n dims stretched: by[i] - 1 zeros between
// neighbours.
func (m *maker) apartBy(x *tensor.Tensor, by []int) *tensor.Tensor {
	lead := len(x.Shape()) - len(by)
	for i, k := range by {
		if k == 1 {
			continue
		}
		s, d := x.Shape(), lead+i
		wide := m.do("pad", m.column(x, d+1), IntsN(append(slices.Repeat([]int{0}, 2*(len(s)-d-1)), 0, k-1)...), Str1("constant"), Float1(0))
		x = m.Reshape(wide, shape.Shape(replaced(s, d, s[d]*k)))
		x = m.do("narrow", x, Int1(d), Int1(0), Int1(max((s[d]-1)*k+1, 0)))
	}
	return x
}

// convTransposed is a convolution of x, its elements stride apart, with the weight
// turned round.
func (m *maker) convTransposed(n int) *tensor.Tensor {
	x, alone := m.batched(m.x(0), n)
	w, groups := m.x(1), m.int(3)
	stride, padding, extra, dilation := m.spread(0, n, 1), m.spread(1, n, 0), m.spread(2, n, 0), m.spread(4, n, 1)
	s, ws := x.Shape(), w.Shape()
	if len(ws) != n+2 || ws.Numel() == 0 {
		m.refuse("weight", Describe(w), fmt.Sprintf("a tensor of %d dims: [c, o / groups, ..]", n+2), "")
	}
	if ws[0] != s[1] {
		m.refuse("weight", Describe(w), fmt.Sprintf("size %d in dim 0", s[1]), "the channels of x, "+Describe(m.x(0)))
	}
	if groups < 1 || s[1]%groups != 0 {
		m.refuse("groups", fmt.Sprint(groups), "a divisor of the channels of x", Describe(m.x(0)))
	}
	var pad, turn []int
	for i := n - 1; i >= 0; i-- {
		reach := dilation[i] * (ws[2+i] - 1)
		if extra[i] >= max(stride[i], dilation[i]) {
			m.refuse("output_padding", fmt.Sprint(extra[i]), "less than stride or dilation", "")
		}
		pad = append(pad, reach-padding[i], reach-padding[i]+extra[i])
	}
	for i := range n {
		turn = append(turn, 2+i)
	}
	x = m.do("pad", m.apartBy(x, stride), IntsN(pad...), Str1("constant"), Float1(0))
	w = m.Reshape(w, slices.Concat(shape.Shape{groups, ws[0] / groups, ws[1]}, ws[2:]))
	w = m.Reshape(m.Transpose(w, 1, 2), slices.Concat(shape.Shape{groups * ws[1], ws[0] / groups}, ws[2:]))
	w = m.do("flip", w, IntsN(turn...))
	y := m.Do(fmt.Sprintf("F.conv%dd", n), []*tensor.Tensor{x, w, m.x(2)}, Int1(1), Arg{}, IntsN(dilation...), Int1(groups))
	return m.unbatched(y, alone)
}

// mostKernel bounds the sizes of a window: each of its elements is an operation.
const mostKernel = 1 << 12

// folded adds the windows of x up where they were taken from.
func (m *maker) folded() *tensor.Tensor {
	x := m.x(0)
	alone := len(x.Shape()) == 2
	if alone {
		x = m.column(x, 0)
	}
	size, kernel := m.spread(0, 2, 1), m.spread(1, 2, 1)
	dilation, padding, stride := m.spread(2, 2, 1), m.spread(3, 2, 0), m.spread(4, 2, 1)
	for _, k := range kernel[:2] {
		if k > mostKernel {
			m.refuse("kernel_size", fmt.Sprint(k), fmt.Sprintf("at most %d along a dim", mostKernel), "")
		}
	}
	area, windows := kernel[0]*kernel[1], 1
	var counts, whole [2]int
	for i := range 2 {
		whole[i] = size[i] + 2*padding[i]
		counts[i] = (whole[i]-dilation[i]*(kernel[i]-1)-1)/stride[i] + 1
		windows *= max(counts[i], 0)
	}
	s := x.Shape()
	if len(s) != 3 || s[1]%area != 0 || s[2] != windows || area > 1<<16 || windows == 0 {
		m.refuse("x", Describe(m.x(0)), fmt.Sprintf("a tensor [n, c * %d, %d]", area, windows), "as output_size and kernel_size have it")
	}
	x = m.Reshape(x, shape.Shape{s[0], s[1] / area, kernel[0], kernel[1], counts[0], counts[1]})
	var sum *tensor.Tensor
	for i := range kernel[0] {
		for j := range kernel[1] {
			part := m.do("select", m.do("select", x, Int1(2), Int1(i)), Int1(2), Int1(j))
			part = m.apartBy(part, stride)
			top, left := i*dilation[0], j*dilation[1]
			ps := part.Shape()
			part = m.do("pad", part, IntsN(left, whole[1]-left-ps[3], top, whole[0]-top-ps[2]), Str1("constant"), Float1(0))
			sum = m.sum(sum, part)
		}
	}
	for i := range 2 {
		sum = m.do("narrow", sum, Int1(2+i), Int1(padding[i]), Int1(size[i]))
	}
	return m.unbatched(sum, alone)
}

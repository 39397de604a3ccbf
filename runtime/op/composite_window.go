package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A window is what moves over the last dims of a tensor: of a convolution the
// kernel. Each slice has a number for each of these dims.
type window struct {
	size, stride, padding, dilation []int
	after                           []int // the padding behind, where it differs; or nil
}

// spread returns the numbers of Args[i], one of them or one for each of n dims.
func (m *maker) spread(i, n int, least int) []int {
	var list []int
	switch a := m.c.Args[i]; {
	case !a.Set || a.Ints == nil:
		list = slices.Repeat([]int{a.Int}, n)
	case len(a.Ints) == 1:
		list = slices.Repeat(a.Ints, n)
	default:
		list = a.Ints
	}
	if len(list) != n || slices.Min(list) < least {
		m.refuse(m.c.argName(i), listText(list), fmt.Sprintf("an int of %d or more, or %d of them", least, n), "")
	}
	return list
}

// batched returns x with a batch dim put before it, if it has n+1 dims, and
// whether one was; x [batch, channels, ...] has n more.
func (m *maker) batched(x *tensor.Tensor, n int) (*tensor.Tensor, bool) {
	switch len(x.Shape()) {
	case n + 2:
		return x, false
	case n + 1:
		return m.column(x, 0), true
	}
	m.refuse("x", Describe(x), fmt.Sprintf("a tensor of %d dims, or %d without a batch", n+2, n+1), "")
	return nil, false
}

// unbatched returns y without the batch dim, if alone.
func (m *maker) unbatched(y *tensor.Tensor, alone bool) *tensor.Tensor {
	if alone {
		return m.Reshape(y, y.Shape()[1:])
	}
	return y
}

// padded returns x with v around its last dims, as w says.
func (m *maker) padded(x *tensor.Tensor, w *window, v float64) *tensor.Tensor {
	after := w.after
	if after == nil {
		after = w.padding
	}
	var pad []int
	for i := len(w.padding) - 1; i >= 0; i-- {
		pad = append(pad, w.padding[i], after[i])
	}
	if !slices.ContainsFunc(pad, func(n int) bool { return n != 0 }) {
		return x
	}
	return m.do("pad", x, IntsN(pad...), Str1("constant"), Float1(v))
}

// views returns, for each place of w, in row-major order, what it sees of x,
// padded, in all positions of w: x's last dims become the positions.
func (m *maker) views(x *tensor.Tensor, w *window) []*tensor.Tensor {
	s := x.Shape()
	list, lead := one(x), len(s)-len(w.size)
	for i, k := range w.size {
		count := m.windowCount(w, i, s[lead+i])
		var next []*tensor.Tensor
		for _, v := range list {
			for at := range k {
				from := at * w.dilation[i]
				next = append(next, m.do("slice", v, Int1(lead+i), Int1(from), Int1(from+(count-1)*w.stride[i]+1), Int1(w.stride[i])))
			}
		}
		list = next
	}
	return list
}

// windowCount returns how many windows w has along its dim i, of so many elements
// with padding.
func (m *maker) windowCount(w *window, i, size int) int {
	reach := w.dilation[i]*(w.size[i]-1) + 1
	if size < reach {
		m.refuse("x", Describe(m.x(0)), fmt.Sprintf("at least %d elements along dim %d, with padding", reach, len(m.x(0).Shape())-len(w.size)+i), "a window spans as many")
	}
	return (size-reach)/w.stride[i] + 1
}

// How operators with windows are called.
var (
	inStride   = Param{Name: "stride", Kind: IntOrSeq, Doc: "how far apart the windows are: an int, or one for each dim", Default: Default(Arg{Int: 1})}
	inPadding  = Param{Name: "padding", Kind: IntOrSeq, Doc: "how many zeros are put at both ends: an int, or one for each dim", Default: Default(Arg{})}
	inDilation = Param{Name: "dilation", Kind: IntOrSeq, Doc: "how far apart the elements of a window are: an int, or one for each dim", Default: Default(Arg{Int: 1})}
	inKernel   = Param{Name: "kernel_size", Kind: IntOrSeq, Doc: "the size of a window: an int, or one for each dim"}
	ownStride  = Param{Name: "stride", Kind: Dims, Doc: "how far apart the windows are, an int or a list; None or [] for kernel_size", Default: Default(None)}
)

func init() {
	compositeOf(&Def{Name: "unfold", Surface: Namespace, Params: []Param{inX, inKernel, inDilation, inPadding, inStride},
		Doc: "unfold(x, kernel_size, dilation=1, padding=0, stride=1) returns the windows of images [n, c, h, w] as columns: [n, c * size, windows].\n" +
			">>> F.unfold(arange(4).reshape(1, 1, 2, 2), [1, 2]).tolist()\n[[[0, 2], [1, 3]]]"},
		func(m *maker) []*tensor.Tensor {
			x, alone := m.batched(m.x(0), 2)
			w := &window{size: m.spread(0, 2, 1), dilation: m.spread(1, 2, 1), padding: m.spread(2, 2, 0), stride: m.spread(3, 2, 1)}
			y := m.Do("stack", m.views(m.padded(x, w, 0), w), Int1(2))
			s := y.Shape()
			return one(m.unbatched(m.Reshape(y, shape.Shape{s[0], s[1] * s[2], s[3] * s[4]}), alone))
		})
}

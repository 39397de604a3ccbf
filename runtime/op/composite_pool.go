package op

import (
	"fmt"
	"math"
	"slices"

	"tpsh/runtime/tensor"
)

func init() {
	examples := []string{"tensor([[[1.0, 3.0, 2.0, 4.0]]])", "tensor([[[[1.0, 3.0], [2.0, 4.0]]]])"}
	results := [][2]string{{"[[[3.0, 4.0]]]", "[[[2.0, 3.0]]]"}, {"[[[[4.0]]]]", "[[[[2.5]]]]"}}
	for i, x := range examples {
		n := i + 1
		compositeOf(&Def{
			Name: fmt.Sprintf("max_pool%dd", n), Surface: Namespace,
			Doc: fmt.Sprintf("max_pool%dd(x, kernel_size, stride=None, padding=0, dilation=1) returns the greatest element of each window over the last %s of x [n, c, ..].\n"+
				"What is put around x is less than every number. The gradient goes to the first of equal elements.\n"+
				">>> F.max_pool%dd(%s, 2).tolist()\n%s", n, dimsText(n), n, x, results[i][0]),
			Params: []Param{inX, inKernel, ownStride, inPadding, inDilation},
		}, func(m *maker) []*tensor.Tensor {
			w := m.poolWindow(n)
			w.dilation = m.spread(3, n, 1)
			x, alone := m.batched(m.floats(m.x(0)), n)
			y := m.Do("stack", m.views(m.padded(x, w, math.Inf(-1)), w), Int1(-1))
			return one(m.unbatched(m.do("max", y, Int1(-1), Bool1(false)), alone))
		})
		compositeOf(&Def{
			Name: fmt.Sprintf("avg_pool%dd", n), Surface: Namespace,
			Doc: fmt.Sprintf("avg_pool%dd(x, kernel_size, stride=None, padding=0, count_include_pad=True) returns the mean of each window over the last %s of x [n, c, ..].\n"+
				"With count_include_pad the zeros that are put around x count.\n"+
				">>> F.avg_pool%dd(%s, 2).tolist()\n%s", n, dimsText(n), n, x, results[i][1]),
			Params: []Param{inX, inKernel, ownStride, inPadding, {Name: "count_include_pad", Kind: Bool, Doc: "whether the zeros around x count", Default: Default(Bool1(true))}},
		}, func(m *maker) []*tensor.Tensor { return one(m.averagePool(n)) })
	}
	compositeOf(&Def{
		Name: "adaptive_avg_pool2d", Surface: Namespace,
		Doc: "adaptive_avg_pool2d(x, output_size) returns the means of windows over the last two dims of x [n, c, h, w], as large and as far apart as output_size needs.\n" +
			">>> F.adaptive_avg_pool2d(tensor([[[[1.0, 3.0], [2.0, 4.0]]]]), 1).tolist()\n[[[[2.5]]]]",
		Params: []Param{inX, {Name: "output_size", Kind: IntOrSeq, Doc: "the sizes of the result: an int, or [h, w]"}},
	}, func(m *maker) []*tensor.Tensor {
		x, alone := m.batched(m.floats(m.x(0)), 2)
		for i, n := range m.spread(0, 2, 1) {
			x = m.meansAlong(x, 2+i, n)
		}
		return one(m.unbatched(x, alone))
	})
}

// dimsText tells of n dims.
func dimsText(n int) string {
	if n == 1 {
		return "dim"
	}
	return fmt.Sprintf("%d dims", n)
}

// poolWindow returns the window of a call of a pooling operator.
func (m *maker) poolWindow(n int) *window {
	w := &window{size: m.spread(0, n, 1), padding: m.spread(2, n, 0), dilation: make([]int, n)}
	w.stride = w.size
	if m.c.Args[1].Set {
		w.stride = m.spread(1, n, 1)
	}
	for i, p := range w.padding {
		w.dilation[i] = 1
		if 2*p > w.size[i] {
			m.refuse("padding", listText(w.padding), "half of kernel_size at most", "kernel_size is "+listText(w.size))
		}
	}
	return w
}

// averagePool returns the means of the windows of the call.
func (m *maker) averagePool(n int) *tensor.Tensor {
	w := m.poolWindow(n)
	x, alone := m.batched(m.floats(m.x(0)), n)
	y := m.windowSums(x, w)
	size := 1
	for _, k := range w.size {
		size *= k
	}
	if m.bool(3) {
		return m.unbatched(m.Scale(y, 1/float64(size)), alone)
	}
	s := slices.Clone(x.Shape())
	s[0], s[1] = 1, 1
	count := m.windowSums(m.Do("ones", nil, IntsN(s...), Int1(int(x.DType()))), w)
	return m.unbatched(m.Div(y, count), alone)
}

// windowSums returns the sum of each window over x.
func (m *maker) windowSums(x *tensor.Tensor, w *window) *tensor.Tensor {
	views := m.views(m.padded(x, w, 0), w)
	y := views[0]
	for _, v := range views[1:] {
		y = m.Add(y, v)
	}
	return y
}

// mostWindows bounds the windows of adaptive pooling along a dim.
const mostWindows = 1 << 16

// meansAlong returns the means of n windows of x along dim d, which are as
// equal as can be and cover it.
func (m *maker) meansAlong(x *tensor.Tensor, d, n int) *tensor.Tensor {
	size := x.Shape()[d]
	switch {
	case size == 0:
		m.refuse("x", Describe(m.x(0)), "images of at least one element", "")
	case n == size:
		return x
	case n > mostWindows:
		m.refuse("output_size", fmt.Sprint(n), fmt.Sprintf("at most %d windows along a dim", mostWindows), "each is an operation")
	}
	list := make([]*tensor.Tensor, n)
	for i := range list {
		lo, hi := i*size/n, ((i+1)*size+n-1)/n
		list[i] = m.do("mean", m.do("narrow", x, Int1(d), Int1(lo), Int1(hi-lo)), IntsN(d), Bool1(true))
	}
	if n == 1 {
		return list[0]
	}
	return m.Do("cat", list, Int1(d))
}

package op

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tpsh/runtime/tensor"
)

func init() {
	examples := []string{"tensor([[[1.0, 3.0, 2.0, 4.0]]])", "tensor([[[[1.0, 3.0], [2.0, 4.0]]]])", "tensor([[[[[1.0, 3.0], [2.0, 4.0]]] * 2]])"}
	results := [][2]string{{"[[[3.0, 4.0]]]", "[[[2.0, 3.0]]]"}, {"[[[[4.0]]]]", "[[[[2.5]]]]"}, {"[[[[[4.0]]]]]", "[[[[[2.5]]]]]"}}
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
	for n := 1; n <= 3; n++ {
		for _, p := range []struct{ name, makes, one string }{{"avg", "means", "2.5"}, {"max", "greatest elements", "4.0"}} {
			compositeOf(&Def{
				Name: fmt.Sprintf("adaptive_%s_pool%dd", p.name, n), Surface: Namespace,
				Doc: fmt.Sprintf("adaptive_%s_pool%dd(x, output_size) returns the %s of windows over the last %s of x [n, c, ..], as large and as far apart as output_size needs.\n"+
					">>> F.adaptive_%s_pool%dd(tensor([1.0, 3.0, 2.0, 4.0]).reshape(%s), 1).flatten().tolist()\n[%s]", p.name, n, p.makes, dimsText(n), p.name, n, onesText(n), p.one),
				Params: []Param{inX, {Name: "output_size", Kind: IntOrSeq, Doc: "the sizes of the result: an int, or one for each dim"}},
			}, func(m *maker) []*tensor.Tensor {
				x, alone := m.batched(m.floats(m.x(0)), n)
				sizes := m.spread(0, n, 1)
				for i := n - 1; i >= 0; i-- { // so that of equal elements the first in row-major order is the greatest
					x = m.overWindows(x, 2+i, sizes[i], p.name == "max")
				}
				return one(m.unbatched(x, alone))
			})
		}
	}
	for n := 1; n <= 3; n++ {
		compositeOf(&Def{
			Name: fmt.Sprintf("lp_pool%dd", n), Surface: Namespace,
			Doc: fmt.Sprintf("lp_pool%dd(x, norm_type, kernel_size, stride=None) returns the root of the sum of powers norm_type over each window over the last %s of x [n, c, ..].\n"+
				">>> F.lp_pool%dd(tensor([3.0, 4.0]).reshape(%s), 2, %s).flatten().tolist()\n[5.0]", n, dimsText(n), n, strings.Replace(onesText(n), "4", "2", 1), map[int]string{1: "2", 2: "[1, 2]", 3: "[1, 1, 2]"}[n]),
			Params: []Param{inX, {Name: "norm_type", Kind: Float, Doc: "a power"}, inKernel, ownStride},
		}, func(m *maker) []*tensor.Tensor { return one(m.powerPool(n)) })
	}
}

// onesText writes the shape of a row of four elements before n dims of images.
func onesText(n int) string { return "1, 1, " + strings.Repeat("1, ", n-1) + "4" }

// powerPool is lp_pool of n dims.
func (m *maker) powerPool(n int) *tensor.Tensor {
	p := m.float(0)
	w := &window{size: m.spread(1, n, 1), padding: make([]int, n), dilation: slices.Repeat([]int{1}, n)}
	w.stride = w.size
	if m.c.Args[2].Set {
		w.stride = m.spread(2, n, 1)
	}
	x, alone := m.batched(m.floats(m.x(0)), n)
	y := m.windowSums(m.binary("pow", x, number(p)), w)
	return m.unbatched(m.binary("pow", m.unary("relu", y), number(1/p)), alone)
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

// overWindows returns the means, or the greatest elements, of n windows of x along dim
// d, which are as equal as can be and cover it.
func (m *maker) overWindows(x *tensor.Tensor, d, n int, greatest bool) *tensor.Tensor {
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
		part := m.do("narrow", x, Int1(d), Int1(lo), Int1(hi-lo))
		if greatest {
			list[i] = m.do("max", part, Int1(d), Bool1(true))
		} else {
			list[i] = m.do("mean", part, IntsN(d), Bool1(true))
		}
	}
	if n == 1 {
		return list[0]
	}
	return m.Do("cat", list, Int1(d))
}

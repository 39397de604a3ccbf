package op

import (
	"fmt"
	"slices"
	"strings"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	examples := []string{"tensor([[[1.0, 3.0, 2.0, 4.0]]])", "tensor([[[[1.0, 3.0], [2.0, 4.0]]]])", "tensor([[[[[1.0, 3.0], [2.0, 4.0]]] * 2]])"}
	results := [][2]string{{"[[[3.0, 4.0]]]", "[[[2.0, 3.0]]]"}, {"[[[[4.0]]]]", "[[[[2.5]]]]"}, {"[[[[[4.0]]]]]", "[[[[[2.5]]]]]"}}
	for i, x := range examples {
		n := i + 1
		compositeOf(&Def{
			Name: fmt.Sprintf("max_pool%dd", n), Surface: Namespace,
			MakeDoc: func() string {
				return fmt.Sprintf("max_pool%dd(x, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False) returns the greatest element of each window over the last %s of x [n, c, ..].\n"+
					"What is put around x is less than every number. The gradient goes to the first of equal elements.\n"+
					"With return_indices it also returns where each lies in its channel, counted in row-major order.\n"+
					">>> F.max_pool%dd(%s, 2).tolist()\n%s", n, dimsText(n), n, x, results[i][0])
			},
			Params: []Param{inX, inKernel, ownStride, inPadding, inDilation, inCeil, inIndices},
		}, func(m *maker) []*tensor.Tensor {
			w := m.poolWindow(n)
			w.dilation = m.spread(3, n, 1)
			return m.maxPool(w, m.bool(4), m.bool(5))
		})
		compositeOf(&Def{
			Name: fmt.Sprintf("avg_pool%dd", n), Surface: Namespace,
			MakeDoc: func() string {
				return fmt.Sprintf("avg_pool%dd(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None) returns the mean of each window over the last %s of x [n, c, ..].\n"+
					"With count_include_pad the zeros that are put around x count. divisor_override, if given, is what sums are divided by.\n"+
					">>> F.avg_pool%dd(%s, 2).tolist()\n%s", n, dimsText(n), n, x, results[i][1])
			},
			Params: []Param{inX, inKernel, ownStride, inPadding, inCeil, {Name: "count_include_pad", Kind: Bool, Doc: "whether the zeros around x count", Default: Default(Bool1(true))}, {Name: "divisor_override", Kind: OptInt, Doc: "a divisor, not 0", Default: Default(None)}},
		}, func(m *maker) []*tensor.Tensor { return one(m.averagePool(n)) })
	}
	adaptivePools()
	for n := 1; n <= 3; n++ {
		compositeOf(&Def{
			Name: fmt.Sprintf("lp_pool%dd", n), Surface: Namespace,
			MakeDoc: func() string {
				return fmt.Sprintf("lp_pool%dd(x, norm_type, kernel_size, stride=None) returns the root of the sum of powers norm_type over each window over the last %s of x [n, c, ..].\n"+
					">>> F.lp_pool%dd(tensor([3.0, 4.0]).reshape(%s), 2, %s).flatten().tolist()\n[5.0]", n, dimsText(n), n, strings.Replace(onesText(n), "4", "2", 1), map[int]string{1: "2", 2: "[1, 2]", 3: "[1, 1, 2]"}[n])
			},
			Params: []Param{inX, {Name: "norm_type", Kind: Float, Doc: "a power"}, inKernel, ownStride},
		}, func(m *maker) []*tensor.Tensor { return one(m.powerPool(n)) })
	}
}

// adaptivePools adds pools whose windows follow from the size of the result.
func adaptivePools() {
	for n := 1; n <= 3; n++ {
		for _, p := range []struct{ name, makes, one string }{{"avg", "means", "2.5"}, {"max", "greatest elements", "4.0"}} {
			params, more := []Param{inX, {Name: "output_size", Kind: IntOrSeq, Doc: "the sizes of the result: an int, or one for each dim; None keeps that of x", Open: true}}, [2]string{}
			if p.name == "max" {
				params = append(params, inIndices)
				more = [2]string{", return_indices=False", "\nWith return_indices it also returns where each lies in its channel, counted in row-major order."}
			}
			compositeOf(&Def{
				Name: fmt.Sprintf("adaptive_%s_pool%dd", p.name, n), Surface: Namespace,
				MakeDoc: func() string {
					return fmt.Sprintf("adaptive_%s_pool%dd(x, output_size%s) returns the %s of windows over the last %s of x [n, c, ..], as large and as far apart as output_size needs.\nA size that is None stays that of x.%s\n"+
						">>> F.adaptive_%s_pool%dd(tensor([1.0, 3.0, 2.0, 4.0]).reshape(%s), 1).flatten().tolist()\n[%s]", p.name, n, more[0], p.makes, dimsText(n), more[1], p.name, n, onesText(n), p.one)
				},
				Params: params,
			}, func(m *maker) []*tensor.Tensor {
				x, alone := m.batched(m.floats(m.x(0)), n)
				sizes := m.adaptiveSizes(x, n)
				var at *tensor.Tensor
				if p.name == "max" && m.bool(1) {
					at = m.placesLike(x)
				}
				for i := n - 1; i >= 0; i-- { // so that of equal elements the first in row-major order is the greatest
					x, at = m.overWindows(x, at, 2+i, sizes[i], p.name == "max")
				}
				if at != nil {
					return []*tensor.Tensor{m.unbatched(x, alone), m.unbatched(at, alone)}
				}
				return one(m.unbatched(x, alone))
			})
		}
	}
}

// adaptiveSizes returns the sizes of n dims of images that adaptive pooling makes of x.
func (m *maker) adaptiveSizes(x *tensor.Tensor, n int) []int {
	m.c.Args = slices.Clone(m.c.Args) // a call may be made again
	a := &m.c.Args[0]
	if a.Ints == nil {
		a.Ints = slices.Repeat([]int{a.Int}, n)
	}
	sizes := slices.Clone(a.Ints)
	for i, size := range sizes[:min(len(sizes), n)] {
		if size == OpenSize {
			sizes[i] = x.Shape()[2+i]
		}
	}
	a.Ints, a.Set = sizes, true
	return m.spread(0, n, 1)
}

// onesText writes the shape of a row of four elements before n dims of images.
func onesText(n int) string { return "1, 1, " + strings.Repeat("1, ", n-1) + "4" }

// powerPool is lp_pool of n dims.
func (m *maker) powerPool(n int) *tensor.Tensor {
	p := m.float(0)
	w := &window{size: m.spread(1, n, 1), padding: make([]int, n), dilation: slices.Repeat([]int{1}, n)}
	w.stride = m.strideOr(2, w.size)
	x, alone := m.batched(m.floats(m.x(0)), n)
	y := m.windowSums(m.binary("pow", x, number(p)), w, 1)
	return m.unbatched(m.binary("pow", m.unary("relu", y), number(1/p)), alone)
}

// dimsText tells of n dims, the last ones.
func dimsText(n int) string {
	if n == 1 {
		return "dim"
	}
	return fmt.Sprintf("%d dims", n)
}

// poolWindow returns the window of a call of a pooling operator.
func (m *maker) poolWindow(n int) *window {
	w := &window{size: m.spread(0, n, 1), padding: m.spread(2, n, 0), dilation: make([]int, n)}
	w.stride = m.strideOr(1, w.size)
	for i, p := range w.padding {
		w.dilation[i] = 1
		if 2*p > w.size[i] {
			m.refuse("padding", listText(w.padding), "half of kernel_size at most", "kernel_size is "+listText(w.size))
		}
	}
	return w
}

// strideOr returns the strides of Args[i], which are the sizes of the window if it is None
// or, as PyTorch has it, an empty list.
func (m *maker) strideOr(i int, size []int) []int {
	if len(m.c.Args[i].Ints) == 0 {
		return size
	}
	return m.spread(i, len(size), 1)
}

// averagePool returns the means of the windows of the call.
func (m *maker) averagePool(n int) *tensor.Tensor {
	w := m.poolWindow(n)
	x, alone := m.batched(m.floats(m.x(0)), n)
	if m.bool(3) {
		m.beyond(w, x.Shape()[2:])
	}
	if a := m.c.Args[5]; a.Set {
		if a.Int == 0 {
			m.refuse("divisor_override", "0", "a number other than 0", "")
		}
		return m.unbatched(m.windowSums(x, w, 1/float64(a.Int)), alone)
	}
	if m.bool(4) && w.after == nil {
		return m.unbatched(m.windowSums(x, w, 1/float64(shape.Shape(w.size).Numel())), alone)
	}
	y := m.windowSums(x, w, 1)
	s, counting := slices.Clone(x.Shape()), *w
	s[0], s[1] = 1, 1
	if m.bool(4) { // of what is put around x only that beyond padding does not count
		counting.after = slices.Clone(w.after)
		for i, p := range w.padding {
			s[2+i] += 2 * p
			counting.after[i] -= p
		}
		counting.padding = make([]int, n)
	}
	count := m.windowSums(m.Do("ones", nil, IntsN(s...), Int1(int(x.DType()))), &counting, 1)
	return m.unbatched(m.Div(y, count), alone)
}

// windowSums returns the sum of each window over x, times scale.
func (m *maker) windowSums(x *tensor.Tensor, w *window, scale float64) *tensor.Tensor {
	if n := len(w.size); !isCutAlong(x, n) && x.DType().IsFloat() {
		return m.do("window_sum", x, append(m.poolArgs(w, x.Shape()[len(x.Shape())-n:]), Float1(scale))...)
	}
	views := m.views(m.padded(x, w, 0), w)
	y := views[0]
	for _, v := range views[1:] {
		y = m.Add(y, v)
	}
	if scale == 1 {
		return y
	}
	return m.Scale(y, scale)
}

// mostWindows bounds the windows of adaptive pooling along a dim.
const mostWindows = 1 << 16

// overWindows returns the means, or the greatest elements, of n windows of x along dim
// d, which are as equal as can be and cover it; and what at, if it is not nil, has
// where these greatest elements are.
func (m *maker) overWindows(x, at *tensor.Tensor, d, n int, greatest bool) (y, places *tensor.Tensor) {
	size := x.Shape()[d]
	switch {
	case size == 0:
		m.refuse("x", Describe(m.x(0)), "images of at least one element", "")
	case n == size:
		return x, at
	case n > mostWindows:
		m.refuse("output_size", fmt.Sprint(n), fmt.Sprintf("at most %d windows along a dim", mostWindows), "each is an operation")
	}
	if k := size / n; !greatest && n*k == size { // the windows lie side by side
		s := x.Shape()
		return m.do("mean", m.Reshape(x, slices.Concat(s[:d], []int{n, k}, s[d+1:])), IntsN(d+1), Bool1(false)), nil
	}
	list, ats := make([]*tensor.Tensor, n), make([]*tensor.Tensor, n)
	for i := range list {
		lo, hi := i*size/n, ((i+1)*size+n-1)/n
		window := func(x *tensor.Tensor) *tensor.Tensor { return m.do("narrow", x, Int1(d), Int1(lo), Int1(hi-lo)) }
		if !greatest {
			list[i] = m.do("mean", window(x), IntsN(d), Bool1(true))
			continue
		}
		best := m.all("max", one(window(x)), Int1(d), Bool1(true))
		list[i] = best[0]
		if at != nil {
			ats[i] = m.do2("gather", window(at), best[1], Int1(d))
		}
	}
	if y = list[0]; n > 1 {
		y = m.Do("cat", list, Int1(d))
	}
	if at == nil {
		return y, nil
	}
	if places = ats[0]; n > 1 {
		places = m.Do("cat", ats, Int1(d))
	}
	return y, places
}

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

var (
	inCeil    = Param{Name: "ceil_mode", Kind: Bool, Doc: "whether windows that begin on x, or before it, and reach beyond what is put around it count", Default: Default(Bool1(false))}
	inIndices = Param{Name: "return_indices", Kind: Bool, Doc: "whether to return places, too", Default: Default(Bool1(false))}
)

func init() {
	for n := 1; n <= 3; n++ {
		compositeOf(&Def{
			Name: fmt.Sprintf("max_unpool%dd", n), Surface: Namespace,
			MakeDoc: func() string {
				return fmt.Sprintf("max_unpool%dd(x, indices, kernel_size, stride=None, padding=0, output_size=None) returns zeros with the elements of x [n, c, ..] at places that indices gives, as max_pool%dd with return_indices does.\n"+
					"output_size is the size of what was pooled, with or without n and c, or if it is None the least that the windows fill.\n"+
					"Of equal places the last wins; each element has the gradient of its place.\n"+
					">>> F.max_unpool%dd(*F.max_pool%dd(tensor([1.0, 3.0, 2.0, 4.0]).reshape(%s), %s, return_indices=True), %s).flatten().tolist()\n[0.0, 3.0, 0.0, 4.0]",
					n, n, n, n, onesText(n), pairText(n), pairText(n))
			},
			Params: []Param{inX, {Name: "indices", Kind: Tensor, Doc: "an int64 tensor of the shape of x"}, inKernel, ownStride, inPadding, {Name: "output_size", Kind: Dims, Doc: "sizes, or None", Default: Default(None)}},
		}, func(m *maker) []*tensor.Tensor { return one(m.unpooled(n)) })
	}
	for n := 2; n <= 3; n++ {
		compositeOf(&Def{
			Name: fmt.Sprintf("fractional_max_pool%dd", n), Surface: Namespace,
			MakeDoc: func() string {
				return fmt.Sprintf("fractional_max_pool%dd(x, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None) returns the greatest elements of windows over the last %s of x [n, c, ..], whose places are drawn: they are as far apart as output_size, or output_ratio of the size of x, needs, rounded up or down at random (Graham 2014).\n"+
					"It is one draw, of %d numbers for each channel, unless these are given. With return_indices it also returns where each element lies in its channel, counted in row-major order.\n"+
					">>> F.fractional_max_pool%dd(ones(1, 1%s), 2, output_size=2).shape\n(1, 1%s)", n, dimsText(n), n, n, strings.Repeat(", 4", n), strings.Repeat(", 2", n))
			},
			Params: []Param{inX, inKernel, {Name: "output_size", Kind: Dims, Doc: "sizes, or None", Default: Default(None)}, {Name: "output_ratio", Kind: OptFloats, Doc: "a number between 0 and 1, or one for each dim, instead", Default: Default(None)},
				inIndices, {Name: "_random_samples", Kind: OptTensor, Doc: fmt.Sprintf("numbers from 0 to 1 [n, c, %d], or None", n), Default: Default(None)}},
		}, func(m *maker) []*tensor.Tensor { return m.fractionalPool(n) })
	}
}

// pairText writes the size of a window of two elements along the last of n dims.
func pairText(n int) string { return listText(append(slices.Repeat([]int{1}, n-1), 2)) }

// beyond lets w reach beyond what it puts around a tensor of size s, so that what no
// whole window covers is covered: all windows count that begin on it or before it.
func (m *maker) beyond(w *window, s shape.Shape) {
	after := slices.Clone(w.padding)
	for i, n := range s {
		reach := w.dilation[i]*(w.size[i]-1) + 1
		room := n + 2*w.padding[i] - reach
		if room < 0 {
			continue // views refuses it
		}
		last := (room + w.stride[i] - 1) / w.stride[i] * w.stride[i]
		if last >= n+w.padding[i] {
			last -= w.stride[i]
		}
		after[i] += last - room
	}
	if slices.Equal(after, w.padding) {
		return
	}
	w.after = after
}

// placesLike returns where the elements of x [n, c, ..] lie in their channel.
func (m *maker) placesLike(x *tensor.Tensor) *tensor.Tensor {
	s := x.Shape()
	at := m.Reshape(m.upTo(s[2:].Numel()), slices.Concat(shape.Shape{1, 1}, s[2:]))
	return m.Add(m.do("zeros_like", x, Int1(int(dtype.Int64))), at)
}

// maxPool returns the greatest elements of the windows of w, and if places is set
// where they lie.
func (m *maker) maxPool(w *window, ceil, places bool) []*tensor.Tensor {
	n := len(w.size)
	x, alone := m.batched(m.floats(m.x(0)), n)
	s := x.Shape()[2:]
	if ceil {
		m.beyond(w, s)
	}
	args := m.poolArgs(w, s)
	if seen := windowsOf(args, s, args[0].Ints); isCutAlong(x, n) || !seen.See() {
		return m.maxPoolViews(x, w, alone, places)
	}
	best := m.all("window_max", one(x), args...)
	if !places {
		return one(m.unbatched(best[0], alone))
	}
	return []*tensor.Tensor{m.unbatched(best[0], alone), m.unbatched(best[1], alone)}
}

// poolArgs returns the arguments of an operator of the windows of w over channels of the sizes s.
func (m *maker) poolArgs(w *window, s shape.Shape) []Arg {
	after := w.after
	if after == nil {
		after = w.padding
	}
	out := make([]int, len(s))
	for i, n := range s {
		out[i] = m.windowCount(w, i, w.padding[i]+n+after[i])
	}
	return []Arg{IntsN(out...), IntsN(w.size...), IntsN(w.stride...), IntsN(w.padding...), IntsN(w.dilation...)}
}

// maxPoolViews is maxPool of x whose last dims are cut, of which windows take from neighbours
// the few elements that they reach there; or some of whose windows see nothing of x.
func (m *maker) maxPoolViews(x *tensor.Tensor, w *window, alone, places bool) []*tensor.Tensor {
	s := x.Shape()[2:]
	best := m.all("max", one(m.Do("stack", m.views(m.padded(x, w, math.Inf(-1)), w), Int1(-1))), Int1(-1), Bool1(false))
	y := m.unbatched(best[0], alone)
	if !places {
		return one(y)
	}
	return []*tensor.Tensor{y, m.unbatched(m.windowPlaces(w, s, best[1]), alone)}
}

// windowPlaces returns where in a channel of size s elements lie of which best says
// which of their window they are.
func (m *maker) windowPlaces(w *window, s shape.Shape, best *tensor.Tensor) *tensor.Tensor {
	within := m.full(integer(0), dtype.Int64)
	begins, out := within, best.Shape()
	for i, k := range w.size {
		step := s.Strides()[i]
		within = m.Add(m.column(within, i), m.Mul(m.upTo(k), integer(w.dilation[i]*step)))
		at := m.Mul(m.Sub(m.Mul(m.upTo(out[2+i]), integer(w.stride[i])), integer(w.padding[i])), integer(step))
		begins = m.Add(m.column(begins, i), at)
	}
	flat := m.do2("index_select", m.Reshape(within, shape.Shape{within.Numel()}), m.do("flatten", best, Int1(0), Int1(-1)), Int1(0))
	return m.Add(m.Reshape(flat, out), begins)
}

// unpooled puts the elements of x where indices says.
func (m *maker) unpooled(n int) *tensor.Tensor {
	w := m.poolWindow(n)
	x, alone := m.batched(m.x(0), n)
	index, _ := m.batched(m.x(1), n)
	m.check(m.c.checkInts("indices", index))
	if !index.Shape().Equal(x.Shape()) {
		m.refuse("indices", Describe(m.x(1)), "the shape of x", Describe(m.x(0)))
	}
	s := slices.Clone(x.Shape())
	for i := range n {
		s[2+i] = (s[2+i]-1)*w.stride[i] - 2*w.padding[i] + w.size[i]
	}
	if a := m.c.Args[3]; a.Set {
		given := a.Ints[max(0, len(a.Ints)-n):]
		for i, want := range s[2:] {
			if len(given) != n || given[i] <= want-w.stride[i] || given[i] >= want+w.stride[i] {
				m.refuse("output_size", listText(a.Ints), "sizes less than a stride from "+s[2:].String(), "")
			}
		}
		copy(s[2:], given)
	}
	flat := func(x *tensor.Tensor) *tensor.Tensor { return m.do("flatten", x, Int1(2), Int1(-1)) }
	y := m.do2("unpool_put", flat(x), flat(index), Int1(s[2:].Numel()))
	return m.unbatched(m.Reshape(y, s), alone)
}

// fractionalPool gathers the elements of all windows, each from where its channel's
// numbers put it.
func (m *maker) fractionalPool(n int) []*tensor.Tensor {
	kernel := m.spread(0, n, 1)
	x, alone := m.batched(m.floats(m.x(0)), n)
	s := x.Shape()
	out := m.fractionalSizes(s[2:], n)
	samples := m.x(1)
	if samples == nil {
		samples = m.Do("rand", nil, IntsN(s[0], s[1], n), Int1(int(x.DType())))
	}
	if !samples.Shape().Equal(shape.Shape{s[0], s[1], n}) {
		m.refuse("_random_samples", Describe(samples), fmt.Sprintf("a tensor (%d, %d, %d)", s[0], s[1], n), "")
	}
	at := m.full(integer(0), dtype.Int64, 1, 1)
	for i, size := range s[2:] { // of dim 2+i the number comes first of 3 dims, and last of 2
		draw := i
		if n == 2 {
			draw = 1 - i
		}
		if kernel[i]+out[i]-1 > size || out[i] < 1 {
			m.refuse("output_size", listText(out), fmt.Sprintf("at least 1 and at most %d along dim %d", size-kernel[i]+1, 2+i), "kernel_size is "+listText(kernel))
		}
		begin := m.fractionalStarts(m.do("select", samples, Int1(-1), Int1(draw)), size-kernel[i], out[i])
		along := m.Add(m.column(begin, 3), m.upTo(kernel[i]))
		for range i { // room for the positions and places of the dims before
			along = m.column(along, 2)
		}
		for k := range i {
			along = m.column(along, 2+i+1+k)
		}
		at = m.Add(m.roomFor(at, i), m.Mul(along, integer(s[2:].Strides()[i])))
	}
	places := shape.Shape(kernel).Numel()
	flat := m.Reshape(at, shape.Shape{s[0], s[1], shape.Shape(out).Numel() * places})
	seen := m.do2("gather", m.do("flatten", x, Int1(2), Int1(-1)), flat, Int1(2))
	to := slices.Concat(s[:2], out)
	best := m.all("max", one(m.Reshape(seen, append(slices.Clone(to), places))), Int1(-1), Bool1(false))
	y := m.unbatched(best[0], alone)
	if !m.bool(3) {
		return one(y)
	}
	rows := m.Reshape(flat, append(slices.Clone(to), places))
	index := m.do2("gather", rows, m.column(best[1], 2+n), Int1(-1))
	return []*tensor.Tensor{y, m.unbatched(m.Reshape(index, to), alone)}
}

// roomFor returns at [.., positions of i dims, places of as many] with a dim of size 1
// behind each group.
func (m *maker) roomFor(at *tensor.Tensor, i int) *tensor.Tensor {
	return m.column(m.column(at, 2+i), 2+2*i+1)
}

// fractionalStarts returns where windows begin along a dim, one after another up to last,
// for each channel's number: its sums with 0, 1, .. times the mean distance, rounded
// down, less that of the number itself.
func (m *maker) fractionalStarts(u *tensor.Tensor, last, n int) *tensor.Tensor {
	if n == 1 {
		return m.Add(m.Mul(m.column(m.Cast(m.Scale(u, 0), dtype.Int64), 2), integer(0)), integer(last))
	}
	distance := float64(last) / float64(n-1)
	down := func(x *tensor.Tensor) *tensor.Tensor {
		return m.Cast(m.unary("floor", m.Scale(x, distance)), dtype.Int64)
	}
	u = m.column(u, 2)
	at := m.Sub(down(m.Add(u, m.Cast(m.upTo(n), u.DType()))), down(u))
	return m.Where(m.same(m.upTo(n), integer(n-1)), integer(last), at)
}

// fractionalSizes returns the sizes of the result.
func (m *maker) fractionalSizes(s shape.Shape, n int) []int {
	if m.c.Args[1].Set == m.c.Args[2].Set {
		m.refuse("output_size", "both or neither of output_size and output_ratio", "one of them", "")
	}
	if m.c.Args[1].Set {
		return m.spread(1, n, 1)
	}
	ratios := m.c.Args[2].Floats
	if len(ratios) == 1 {
		ratios = slices.Repeat(ratios, n)
	}
	if len(ratios) != n || slices.ContainsFunc(ratios, func(r float64) bool { return !(r > 0 && r < 1) }) {
		m.refuse("output_ratio", fmt.Sprint(ratios), fmt.Sprintf("a number between 0 and 1, or %d of them", n), "")
	}
	out := make([]int, n)
	for i, size := range s {
		out[i] = int(float64(size) * ratios[i])
	}
	return out
}

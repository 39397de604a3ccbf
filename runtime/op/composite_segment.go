package op

import (
	"fmt"
	"math"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	compositeOf(&Def{Name: "segment_reduce", Surface: Function, Aliases: []string{"_segment_reduce"},
		Doc: "segment_reduce(data, reduce, lengths=None, offsets=None, axis=0, unsafe=False, initial=None) returns the sums, means, maxima, minima or products of segments of data along axis, which lie one behind the other.\n" +
			"lengths [.., n], of the dims of data before axis, says how many elements each has; or offsets [.., n + 1]\n" +
			"where each begins, and the last ends. Lengths add up to the size of axis, unless unsafe, with which elements\n" +
			"that belong to no segment are left out. Each reduction begins with initial; without it a segment of no elements\n" +
			"gives 0, NaN, -inf, inf or 1. Gradients of a maximum go in equal parts to all that are equal.\n" +
			">>> segment_reduce(tensor([1.0, 2.0, 4.0]), \"sum\", lengths=tensor([2, 0, 1])).tolist()\n[3.0, 0.0, 4.0]",
		Params: []Param{{Name: "data", Kind: Tensor, Doc: "a float tensor"},
			{Name: "reduce", Kind: Choice, Doc: "which reduction", Choices: []string{"sum", "mean", "max", "min", "prod"}},
			{Name: "lengths", Kind: OptTensor, Doc: "an integer tensor, or None", Default: Default(None)},
			{Name: "offsets", Kind: OptTensor, Doc: "an integer tensor, or None", Default: Default(None)},
			inDim("axis", 0),
			{Name: "unsafe", Kind: Bool, Doc: "whether lengths may leave elements out", Default: Default(Bool1(false))},
			{Name: "initial", Kind: OptFloat, Doc: "what each reduction begins with, or None", Default: Default(None)}}},
		func(m *maker) []*tensor.Tensor {
			x := m.x(0)
			m.check(m.c.checkFloat("data", x))
			if len(x.Shape()) == 0 {
				m.refuse("data", Describe(x), "a tensor of at least one dim", "")
			}
			y := m.segments(m.wide(x), m.dim(1, x), m.c.Args[0].Str, m.c.Args[3])
			return one(m.Cast(y, x.DType()))
		})
}

// emptySegments are what segments of no elements give.
var emptySegments = map[string]float64{"sum": 0, "mean": 0, "max": math.Inf(-1), "min": math.Inf(1), "prod": 1}

// segments returns x reduced along d in the segments that the arguments tell.
func (m *maker) segments(x *tensor.Tensor, d int, how string, initial Arg) *tensor.Tensor {
	starts, ends := m.segmentBounds(d)
	s, n := x.Shape(), ends.Shape()[d]
	size := s[d]
	// Elements before the first and behind the last make one more, which is left out.
	at := m.upTo(size)
	segment := m.placesIn(ends, at, true)
	if n > 0 {
		segment = m.Where(m.less(at, m.Narrow(starts, d, 0, 1)), integer(n), segment)
	}
	spread := func(x *tensor.Tensor, n int) *tensor.Tensor { // over the dims behind d
		return m.Expand(m.Reshape(x, append(slices.Clone(x.Shape()), make1s(len(s)-d-1)...)), replaced(s, d, n))
	}
	begin := emptySegments[how]
	if initial.Set {
		begin = initial.Float
	}
	in := []*tensor.Tensor{m.full(number(begin), x.DType(), replaced(s, d, n+1)...), spread(segment, size), x}
	segmentsOf := func(name string, args ...Arg) *tensor.Tensor {
		return m.Narrow(m.Do(name, in, append([]Arg{Int1(d)}, args...)...), d, 0, n)
	}
	switch how {
	case "sum":
		return segmentsOf("scatter_add")
	case "mean":
		last := integer(size)
		count := m.Sub(m.binary("minimum", ends, last), m.binary("minimum", starts, last))
		if initial.Set { // which a segment of no elements is
			count = m.binary("maximum", count, integer(1))
		}
		return m.Div(segmentsOf("scatter_add"), m.Cast(spread(count, n), x.DType()))
	case "prod":
		return segmentsOf("scatter_fold", Str1(how), Bool1(true))
	}
	y := segmentsOf("scatter_fold", Str1("a"+how), Bool1(false))
	if !initial.Set {
		return y
	}
	first := number(begin)
	if how == "max" {
		return m.Where(m.less(y, first), first, y)
	}
	return m.Where(m.greater(y, first), first, y)
}

// segmentBounds returns where segments along d begin and end, [.., n] each: of lengths In[1],
// or of offsets In[2].
func (m *maker) segmentBounds(d int) (starts, ends *tensor.Tensor) {
	x, given, name, last := m.x(0), m.x(1), "lengths", "n"
	if (given == nil) == (m.x(2) == nil) {
		m.refuse("offsets", Describe(m.x(2)), "either lengths or offsets", "lengths is "+Describe(given))
	}
	if given == nil {
		given, name, last = m.x(2), "offsets", "n + 1"
	}
	lead := x.Shape()[:d]
	if s := given.Shape(); !given.DType().IsInt() || len(s) != d+1 || !s[:d].Equal(lead) || name == "offsets" && s[d] == 0 {
		m.refuse(name, Describe(given), fmt.Sprintf("an integer tensor [%s]", shapeAnd(lead, last)), fmt.Sprintf("axis is %d of data %s", d, Describe(x)))
	}
	given = m.Cast(given.Detach(), dtype.Int64)
	m.checkSegments(given, x.Shape()[d], name, m.bool(2))
	if name == "offsets" {
		n := given.Shape()[d] - 1
		return m.Narrow(given, d, 0, n), m.Narrow(given, d, 1, n)
	}
	ends = m.do("cumsum", given, Int1(d))
	return m.Sub(ends, given), ends
}

// shapeAnd writes the sizes of lead and one more, which has a name.
func shapeAnd(lead shape.Shape, last string) string {
	if len(lead) == 0 {
		return last
	}
	return lead.Join() + ", " + last
}

// checkSegments refuses lengths or offsets of segments of an axis of so many elements, where they
// can be looked at.
func (m *maker) checkSegments(given *tensor.Tensor, size int, name string, unsafe bool) {
	if given.Buffer() == nil || given.Hollow() || given.Placed() || given.Numel() == 0 {
		return
	}
	last, of := given.Shape()[given.Ndim()-1], "axis has "+fmt.Sprint(size)+" elements"
	for row := range slices.Chunk(Int64s(given), last) {
		sum, before := int64(0), int64(0)
		for i, v := range row {
			switch {
			case name == "lengths" && v < 0:
				m.refuse(name, fmt.Sprintf("%d at index %d", v, i), "lengths from 0 on", "")
			case name == "offsets" && (v < before || v > int64(size)):
				m.refuse(name, fmt.Sprintf("%d at index %d", v, i), fmt.Sprintf("%d..%d", before, size), "offsets ascend, and "+of)
			}
			sum, before = sum+v, v
		}
		if name == "lengths" && sum != int64(size) && !unsafe {
			m.refuse(name, fmt.Sprintf("a sum of %d", sum), fmt.Sprint(size), of+"; with unsafe=True some belong to no segment")
		}
	}
}

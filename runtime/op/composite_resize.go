package op

import (
	"fmt"
	"math"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// resizeDims are the modes of interpolate and of how many dims each is; 0 for
// any.
var resizeDims = map[string]int{"nearest": 0, "nearest-exact": 0, "linear": 1, "bilinear": 2, "trilinear": 3}

func init() {
	compositeOf(&Def{
		Name: "interpolate", Surface: Namespace,
		Doc: "interpolate(x, size=None, scale_factor=None, mode=\"nearest\", align_corners=False) returns x [n, c, ..] with its last dims of other sizes.\n" +
			"An element is the nearest of x (\"nearest\" takes the one before, \"nearest-exact\" that at\n" +
			"its middle), or between its neighbours: \"linear\" of one dim, \"bilinear\" of two,\n" +
			"\"trilinear\" of three. With align_corners the first and last elements stay where they are.\n" +
			">>> F.interpolate(tensor([[[1.0, 3.0]]]), scale_factor=2).tolist()\n[[[1.0, 1.0, 3.0, 3.0]]]\n" +
			">>> F.interpolate(tensor([[[1.0, 3.0]]]), 3, mode=\"linear\", align_corners=True).tolist()\n[[[1.0, 2.0, 3.0]]]",
		Params: []Param{
			inX,
			{Name: "size", Kind: Dims, Doc: "the new sizes: an int, or one for each dim", Default: Default(None)},
			{Name: "scale_factor", Kind: OptFloat, Doc: "a factor of the sizes, instead of them", Default: Default(None)},
			{Name: "mode", Kind: Choice, Doc: "what lies between elements", Default: Default(Str1("nearest")), Choices: []string{"nearest", "nearest-exact", "linear", "bilinear", "trilinear"}},
			{Name: "align_corners", Kind: Bool, Doc: "whether corners stay where they are; not of \"nearest\"", Default: Default(Bool1(false))},
		},
	}, func(m *maker) []*tensor.Tensor { return one(m.resized(m.x(0))) })
}

// resized returns x with its last dims resized as the call says.
func (m *maker) resized(x *tensor.Tensor) *tensor.Tensor {
	n, mode := len(x.Shape())-2, m.c.Args[2].Str
	if of := resizeDims[mode]; n < 1 || of != 0 && n != of {
		want := "a tensor of at least 3 dims"
		if of != 0 {
			want = fmt.Sprintf("a tensor of %d dims", of+2)
		}
		m.refuse("x", Describe(x), want, fmt.Sprintf("mode %q", mode))
	}
	if m.c.Args[0].Set == m.c.Args[1].Set {
		m.refuse("size", "both or neither of size and scale_factor", "one of them", "")
	}
	factor, sizes := m.float(1), make([]int, n)
	if m.c.Args[0].Set {
		factor, sizes = 0, m.spread(0, n, 1)
	}
	for i := range sizes {
		from := x.Shape()[2+i]
		if factor != 0 || !m.c.Args[0].Set {
			sizes[i] = int(math.Floor(float64(from) * factor))
		}
		if from == 0 || sizes[i] < 1 {
			m.refuse("x", Describe(x), "images that have elements, before and after", "")
		}
		x = m.resizedAlong(x, 2+i, sizes[i], factor)
	}
	return x
}

// mostResized bounds the elements of a resized dim: where each comes from is listed.
const mostResized = 1 << 24

// resizedAlong returns x with n elements along dim d: factor times as many, or
// if that is 0, as n says.
func (m *maker) resizedAlong(x *tensor.Tensor, d, n int, factor float64) *tensor.Tensor {
	if n > mostResized {
		m.refuse("size", fmt.Sprint(n), fmt.Sprintf("at most %d elements along a dim", mostResized), "")
	}
	from, mode := x.Shape()[d], m.c.Args[2].Str
	step := float64(from) / float64(n)
	if factor != 0 {
		step = 1 / factor
	}
	if mode == "nearest" || mode == "nearest-exact" {
		at, middle := make([]int64, n), float32(0)
		if mode == "nearest-exact" {
			middle = 0.5
		}
		for i := range at {
			at[i] = min(int64((float32(i)+middle)*float32(step)), int64(from-1))
		}
		return m.do2("index_select", x, m.ints(m.c.Ctx, at), Int1(d))
	}
	x = m.floats(x)
	lo, hi, share := make([]int64, n), make([]int64, n), make([]float64, n)
	for i := range lo {
		at := max((float64(i)+0.5)*step-0.5, 0)
		if m.bool(3) {
			at = float64(i) * float64(from-1) / float64(max(n-1, 1))
		}
		lo[i] = min(int64(at), int64(from-1))
		hi[i] = min(lo[i]+1, int64(from-1))
		share[i] = at - float64(lo[i])
	}
	s := shape.Shape{n}
	for range x.Shape()[d+1:] {
		s = append(s, 1)
	}
	w, err := FromFloats(m.c.Ctx, x.DType(), s, share)
	m.check(err)
	below := m.do2("index_select", x, m.ints(m.c.Ctx, lo), Int1(d))
	above := m.do2("index_select", x, m.ints(m.c.Ctx, hi), Int1(d))
	return m.Add(below, m.Mul(m.Sub(above, below), w))
}

package op

import (
	"fmt"
	"math"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// resizeDims are the modes of interpolate and of how many dims each is; 0 for
// any.
var resizeDims = map[string]int{"nearest": 0, "nearest-exact": 0, "area": 0, "linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}

var (
	resizeModes = []string{"nearest", "nearest-exact", "area", "linear", "bilinear", "trilinear", "bicubic"}
	inCorners   = Param{Name: "align_corners", Kind: OptBool, Doc: "whether corners stay where they are, None for not; not of \"nearest\" and \"area\"", Default: Default(None)}
	inRecompute = Param{Name: "recompute_scale_factor", Kind: OptBool, Doc: "whether the sizes that scale_factor gives, rounded, say how far apart elements are, and not scale_factor", Default: Default(None)}
	inResize    = []Param{
		inX,
		{Name: "size", Kind: Dims, Doc: "the new sizes: an int, or one for each dim", Default: Default(None)},
		{Name: "scale_factor", Kind: OptFloats, Doc: "a factor of the sizes, or one for each dim, instead of them", Default: Default(None)},
	}
	inMode = Param{Name: "mode", Kind: Choice, Doc: "what lies between elements", Default: Default(Str1("nearest")), Choices: resizeModes}
)

func init() {
	compositeOf(&Def{
		Name: "interpolate", Surface: Namespace,
		Doc: "interpolate(x, size=None, scale_factor=None, mode=\"nearest\", align_corners=None, recompute_scale_factor=None, antialias=False) returns x [n, c, ..] with its last dims of other sizes.\n" +
			"An element is the nearest of x (\"nearest\" takes the one before, \"nearest-exact\" that at\n" +
			"its middle), the mean of what it covers (\"area\"), or between its neighbours: \"linear\" of\n" +
			"one dim, \"bilinear\" of two, \"trilinear\" of three, and \"bicubic\" of two by cubic polynomials\n" +
			"through four elements each (Keys 1981, a = -3/4). With align_corners the first and last\n" +
			"elements stay where they are. With antialias, of \"bilinear\" and \"bicubic\" (then a = -1/2), an\n" +
			"element of a smaller image is a weighted mean of all that it covers. Elements are 1 / scale_factor\n" +
			"apart, though sizes are whole; with recompute_scale_factor as far as the sizes have them.\n" +
			">>> F.interpolate(tensor([[[1.0, 3.0]]]), scale_factor=2).tolist()\n[[[1.0, 1.0, 3.0, 3.0]]]\n" +
			">>> F.interpolate(tensor([[[1.0, 3.0]]]), 3, mode=\"linear\", align_corners=True).tolist()\n[[[1.0, 2.0, 3.0]]]",
		Params: append(inResize[:3:3], inMode, inCorners, inRecompute, Param{Name: "antialias", Kind: Bool, Doc: "whether to average what an element covers", Default: Default(Bool1(false))}),
	}, func(m *maker) []*tensor.Tensor {
		return one(m.resized(&resizing{mode: m.c.Args[2].Str, corners: m.bool(3), whole: m.bool(4), smooth: m.bool(5)}))
	})
	compositeOf(&Def{Name: "upsample", Surface: Namespace, Params: append(inResize[:3:3], inMode, inCorners),
		Doc: "upsample(x, size=None, scale_factor=None, mode=\"nearest\", align_corners=None) is F.interpolate(x, size, scale_factor, mode, align_corners).\n>>> F.upsample(ones(1, 1, 1), 3).tolist()\n[[[1.0, 1.0, 1.0]]]"},
		func(m *maker) []*tensor.Tensor {
			return one(m.resized(&resizing{mode: m.c.Args[2].Str, corners: m.bool(3)}))
		})
	for name, mode := range map[string]string{"upsample_nearest": "nearest", "upsample_bilinear": "bilinear"} {
		corners := mode == "bilinear"
		doc := fmt.Sprintf("%s(x, size=None, scale_factor=None) is F.interpolate(x, size, scale_factor, %q%s).\n>>> F.%s(ones(1, 1, 1, 1), 2).shape\n(1, 1, 2, 2)",
			name, mode, map[bool]string{true: ", align_corners=True"}[corners], name)
		compositeOf(&Def{Name: name, Surface: Namespace, Params: inResize, Doc: doc},
			func(m *maker) []*tensor.Tensor { return one(m.resized(&resizing{mode: mode, corners: corners})) })
	}
	compositeOf(&Def{Name: "_upsample_bilinear2d_aa", Surface: Function, Doc: "_upsample_bilinear2d_aa(x, output_size, align_corners, scale_factors=None) is F.interpolate(x, output_size, scale_factors, \"bilinear\", align_corners, antialias=True).\n>>> _upsample_bilinear2d_aa(ones(1, 1, 4, 4), [2, 2], False).shape\n(1, 1, 2, 2)",
		Params: []Param{inX, {Name: "output_size", Kind: Dims, Doc: "the new sizes, or None"}, {Name: "align_corners", Kind: Bool, Doc: "whether corners stay where they are"},
			{Name: "scale_factors", Kind: OptFloats, Doc: "factors of the sizes instead of them, or None", Default: Default(None)}}},
		func(m *maker) []*tensor.Tensor {
			corners := m.bool(1)
			m.c.Args = []Arg{m.c.Args[0], m.c.Args[2]}
			return one(m.resized(&resizing{mode: "bilinear", corners: corners, smooth: true}))
		})
}

// A resizing is how interpolate finds what lies between elements.
type resizing struct {
	mode            string
	corners, smooth bool
	whole           bool    // whether the sizes say how far apart neighbours are, not the factors
	size, from      int     // of a dim, after and before
	step            float64 // how far apart neighbours of the result are, in x
}

// resized returns the call's x with its last dims resized: Args[0] and Args[1] are
// size and scale_factor.
func (m *maker) resized(r *resizing) *tensor.Tensor {
	x, n := m.x(0), len(m.x(0).Shape())-2
	if of := resizeDims[r.mode]; n < 1 || of != 0 && n != of {
		want := "a tensor of at least 3 dims"
		if of != 0 {
			want = fmt.Sprintf("a tensor of %d dims", of+2)
		}
		m.refuse("x", Describe(x), want, fmt.Sprintf("mode %q", r.mode))
	}
	if m.c.Args[0].Set == m.c.Args[1].Set {
		m.refuse("size", "both or neither of size and scale_factor", "one of them", "")
	}
	if r.smooth && resizeDims[r.mode] != 2 {
		m.refuse("antialias", "True", "False", fmt.Sprintf("mode %q", r.mode))
	}
	sizes, factors := m.resizedTo(x.Shape()[2:], n)
	for i, size := range sizes {
		from := x.Shape()[2+i]
		if from == 0 || size < 1 {
			m.refuse("x", Describe(x), "images that have elements, before and after", "")
		}
		if size > mostResized {
			m.refuse("size", fmt.Sprint(size), fmt.Sprintf("at most %d elements along a dim", mostResized), "")
		}
		if r.mode == "area" {
			x, _ = m.overWindows(m.floats(x), nil, 2+i, size, false)
			continue
		}
		r.size, r.from, r.step = size, from, float64(from)/float64(size)
		if factors != nil && !r.whole {
			r.step = 1 / factors[i]
		}
		x = m.resizedAlong(x, 2+i, r)
	}
	return x
}

// resizedTo returns the sizes that a call asks for, and the factors, nil if it names
// the sizes.
func (m *maker) resizedTo(from shape.Shape, n int) (sizes []int, factors []float64) {
	if m.c.Args[0].Set {
		return m.spread(0, n, 1), nil
	}
	given := m.c.Args[1].Floats
	if len(given) != n && len(given) != 1 {
		m.refuse("scale_factor", fmt.Sprint(given), fmt.Sprintf("a number, or %d of them", n), "")
	}
	for i := range n {
		f := given[min(i, len(given)-1)]
		factors, sizes = append(factors, f), append(sizes, int(math.Floor(float64(from[i])*f)))
	}
	return sizes, factors
}

// mostResized bounds the elements of a resized dim: where each comes from is listed.
const mostResized = 1 << 24

// resizedAlong returns x with dim d resized: the sum of selections, each times a weight.
func (m *maker) resizedAlong(x *tensor.Tensor, d int, r *resizing) *tensor.Tensor {
	if r.mode == "nearest" || r.mode == "nearest-exact" {
		at, middle := make([]int64, r.size), float32(0)
		if r.mode == "nearest-exact" {
			middle = 0.5
		}
		for i := range at {
			at[i] = min(int64((float32(i)+middle)*float32(r.step)), int64(r.from-1))
		}
		return m.do2("index_select", x, m.ints(m.c.Ctx, at), Int1(d))
	}
	x = m.floats(x)
	taps := r.linear
	switch {
	case r.smooth:
		taps = r.covering
	case r.mode == "bicubic":
		taps = r.cubic
	}
	s := append(shape.Shape{r.size}, make1s(len(x.Shape())-d-1)...)
	var y *tensor.Tensor
	for _, t := range r.list(taps) {
		w, err := FromFloats(m.c.Ctx, x.DType(), s, t.weight)
		m.check(err)
		y = m.sum(y, m.Mul(m.do2("index_select", x, m.ints(m.c.Ctx, t.at), Int1(d)), w))
	}
	return y
}

// A tap is an element of x for each of the result, and its weight.
type tap struct {
	at     []int64
	weight []float64
}

// list returns the taps of a dim: of gives first, which may lie outside, and the
// weights of it and those after it, for each element. What lies outside is the
// outermost element.
func (r *resizing) list(of func(i int) (first int, weights []float64)) []tap {
	var taps []tap
	for i := range r.size {
		first, weights := of(i)
		for k, w := range weights {
			if k == len(taps) {
				taps = append(taps, tap{make([]int64, r.size), make([]float64, r.size)})
			}
			taps[k].at[i] = int64(min(max(first+k, 0), r.from-1))
			taps[k].weight[i] = w
		}
	}
	return taps
}

// place returns where element i of the result lies in x.
func (r *resizing) place(i int) float64 {
	if r.corners {
		return float64(i) * float64(r.from-1) / float64(max(r.size-1, 1))
	}
	return float64((float64(i)+0.5)*r.step) - 0.5
}

func (r *resizing) linear(i int) (int, []float64) {
	at := max(r.place(i), 0)
	lo := min(int(at), r.from-1)
	share := at - float64(lo)
	return lo, []float64{1 - share, share}
}

func (r *resizing) cubic(i int) (int, []float64) {
	at := r.place(i)
	lo := int(math.Floor(at))
	weights := make([]float64, 4)
	for k := range weights {
		weights[k] = keys(at-float64(lo-1+k), -0.75)
	}
	return lo - 1, weights
}

// covering weighs all that an element of a smaller image covers.
func (r *resizing) covering(i int) (int, []float64) {
	step := r.step
	if r.corners {
		step = float64(r.from-1) / float64(max(r.size-1, 1))
	}
	wide, middle, reach := max(step, 1), float64(step*(float64(i)+0.5)), 1.0
	if r.mode == "bicubic" {
		reach = 2
	}
	lo := max(int(middle-float64(reach*wide)+0.5), 0)
	hi := min(int(middle+float64(reach*wide)+0.5), r.from)
	weights, sum := make([]float64, max(hi-lo, 1)), 0.0
	for k := range weights {
		t := (float64(lo+k) - middle + 0.5) / wide
		if r.mode == "bicubic" {
			weights[k] = keys(t, -0.5)
		} else {
			weights[k] = max(1-math.Abs(t), 0)
		}
		sum += weights[k]
	}
	for k := range weights {
		if sum != 0 {
			weights[k] /= sum
		}
	}
	return lo, weights
}

// keys is the kernel of cubic convolution: R. Keys, "Cubic convolution interpolation for
// digital image processing", IEEE ASSP 29(6), 1981.
func keys(t, a float64) float64 {
	switch t = math.Abs(t); {
	case t <= 1:
		return float64((float64((a+2)*t)-(a+3))*t*t) + 1
	case t < 2:
		return float64((float64((float64(a*t)-float64(5*a))*t)+float64(8*a))*t) - float64(4*a)
	}
	return 0
}

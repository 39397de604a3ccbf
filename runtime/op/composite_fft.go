package op

import (
	"fmt"
	"math"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A fourier is one of the transforms: what goes in and comes out is complex, or
// real on one side, of which half of the other is enough.
type fourier struct {
	name    string
	inverse bool
	real    bool // in, or of an inverse out
	turned  bool // of hfft and ihfft: the other side is real
	does    string
	example string
}

var fouriers = []fourier{
	{"fft", false, false, false, "the discrete Fourier transform of x", ">>> fft.fft(tensor([1.0, 0.0])).tolist()\n[(1+0j), (1+0j)]"},
	{"ifft", true, false, false, "the inverse of the discrete Fourier transform", ">>> fft.ifft(fft.fft(tensor([1.0, 2.0]))).real\n[1. 2.]"},
	{"rfft", false, true, false, "the first half, n // 2 + 1, of the discrete Fourier transform of a real tensor", ">>> fft.rfft(tensor([1.0, 2.0, 3.0, 4.0])).shape\n(3,)"},
	{"irfft", true, true, false, "the real tensor of which x is the first half of the transform; n is 2 (size - 1) if None", ">>> fft.irfft(fft.rfft(tensor([1.0, 2.0, 3.0])), n=3)\n[1. 2. 3.]"},
	{"hfft", false, true, true, "the real transform of x, the first half of a tensor that is its own conjugate read backwards; n is 2 (size - 1) if None", ">>> fft.hfft(fft.ihfft(tensor([1.0, 2.0])), n=2)\n[1. 2.]"},
	{"ihfft", true, true, true, "the inverse of hfft", ">>> fft.ihfft(tensor([1.0, 2.0])).shape\n(2,)"},
}

var (
	inNorm = Param{Name: "norm", Kind: Choice, Doc: "which transform is scaled by 1 / n: \"backward\" the inverse, \"forward\" the other, \"ortho\" both by its root", Choices: []string{"backward", "forward", "ortho"}, Default: Default(Str1("backward"))}
	inS    = Param{Name: "s", Kind: Dims, Doc: "the sizes to which dim is cut, or filled with zeros; None for what they are", Default: Default(None)}
)

func init() {
	for _, f := range fouriers {
		compositeOf(&Def{Name: f.name, Surface: FFT,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(x, n=None, dim=-1, norm=\"backward\") returns %s, along dim.\n"+
					"n is the size to which dim is cut, or filled with zeros. Rows of float32 and complex64 of a\n"+
					"power of two, up to 2^14 numbers, are computed in float32, others in complex128.\n"+
					"Of DTensors all dims but this may be cut; where it is, the cut moves to another dim, if\n"+
					"there is one, by an all_to_all.\n%s", f.name, f.does, f.example)
			},
			Params: []Param{inX, {Name: "n", Kind: OptInt, Doc: "a size, or None", Default: Default(None)}, inDim("dim", -1), inNorm}},
			func(m *maker) []*tensor.Tensor {
				var n *int
				if m.c.Args[0].Set {
					n = &m.c.Args[0].Int
				}
				return one(m.transformed(m.x(0), f, m.dim(1, m.x(0)), n, m.c.Args[2].Str))
			})
		for _, dims := range []string{"2", "n"} {
			which, def := "all dims", None
			if dims == "2" {
				which, def = "the last two dims", IntsN(-2, -1)
			}
			text := "None"
			if dims == "2" {
				text = "(-2, -1)"
			}
			half := ""
			if f.real {
				half = " Of the last of them half is kept on the complex side."
			}
			compositeOf(&Def{Name: f.name + dims, Surface: FFT,
				MakeDoc: func() string {
					return fmt.Sprintf("%s%s(x, s=None, dim=%s, norm=\"backward\") returns %s along several dims, by default %s.%s\nSee fft.%s.\n>>> fft.%s%s(ones(2, 2)).shape\n(2, 2)",
						f.name, dims, text, f.does, which, half, f.name, f.name, dims)
				},
				Params: []Param{inX, inS, {Name: "dim", Kind: Dims, Doc: "dims", Default: Default(def)}, inNorm}},
				func(m *maker) []*tensor.Tensor { return one(m.transformedAlong(f)) })
		}
	}
	for _, inverse := range []bool{false, true} {
		name, to := "fftshift", "to the middle"
		if inverse {
			name, to = "ifftshift", "back to the front"
		}
		compositeOf(&Def{Name: name, Surface: FFT,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(x, dim=None) returns x rolled so that what belongs to frequency 0 comes %s of dims.\n>>> fft.%s(tensor([0, 1, 2, 3])).tolist()\n[2, 3, 0, 1]", name, to, name)
			},
			Params: []Param{inX, {Name: "dim", Kind: Dims, Doc: "dims, None for all", Default: Default(None)}}},
			func(m *maker) []*tensor.Tensor { return one(m.shifted(inverse)) })
	}
	for _, half := range []bool{false, true} {
		name, which, shows := "fftfreq", "", "[0.0, 0.25, -0.5, -0.25]"
		if half {
			name, which, shows = "rfftfreq", " that rfft gives", "[0.0, 0.25, 0.5]"
		}
		compositeOf(&Def{Name: name, Surface: FFT,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(n, d=1.0, dtype=None) returns the frequencies%s of a transform of n samples that are d apart.\n>>> fft.%s(4).tolist()\n%s", name, which, name, shows)
			},
			Params: []Param{{Name: "n", Kind: Int, Doc: "how many samples"}, inFloat("d", "how far apart", 1),
				{Name: "dtype", Kind: OptDType, Doc: "a float dtype, None for the default one", Default: Default(None)}}},
			func(m *maker) []*tensor.Tensor { return one(m.frequencies(half)) })
	}
}

// transformed returns the transform f of x along dim d, of n elements if that is
// not nil.
func (m *maker) transformed(x *tensor.Tensor, f fourier, d int, n *int, norm string) *tensor.Tensor {
	if len(x.Shape()) == 0 {
		m.refuse("x", Describe(x), "a tensor of at least one dim", "")
	}
	gives := f.real && f.inverse != f.turned // the result is real
	if f.real && !gives && x.DType().IsComplex() {
		m.refuse("x", Describe(x), "a real tensor", "")
	}
	size := x.Shape()[d]
	if gives {
		size = 2 * (size - 1)
	}
	if n != nil {
		size = *n
	}
	if size < 1 {
		m.refuse("n", fmt.Sprint(size), "a positive int", fmt.Sprintf("dim %d of shape %v", d, x.Shape()))
	}
	in := size
	if gives {
		in = size/2 + 1
	}
	if scale := m.scaleOf(norm, size, f.inverse); !gives && !f.turned && !f.inverse && size%2 == 0 && !x.DType().IsComplex() {
		return m.unary("view_as_complex", m.do("fft_real", m.fitted(m.singleOf(x), d, in), Int1(d), Float1(scale), Bool1(!f.real)))
	}
	x = m.fitted(m.complexOf(x), d, in)
	if f.turned && gives {
		x = m.conjugated(x)
	}
	if gives {
		x = m.hermitian(x, d, size)
	}
	inverse := f.inverse != (f.turned && f.real)
	y := m.do("fft_parts", m.unary("view_as_real", x), Int1(d), Bool1(inverse), Float1(m.scaleOf(norm, size, f.inverse)))
	if gives {
		return m.do("select", y, Int1(-1), Int1(0))
	}
	y = m.unary("view_as_complex", y)
	if f.real {
		y = m.do("narrow", y, Int1(d), Int1(0), Int1(size/2+1))
	}
	if f.turned {
		y = m.conjugated(y)
	}
	return y
}

// scaleOf returns the factor of a transform of n elements.
func (m *maker) scaleOf(norm string, n int, inverse bool) float64 {
	switch {
	case norm == "ortho":
		return 1 / math.Sqrt(float64(n))
	case inverse == (norm == "backward"):
		return 1 / float64(n)
	}
	return 1
}

// complexOf returns x as a complex tensor.
func (m *maker) complexOf(x *tensor.Tensor) *tensor.Tensor {
	if x.DType().IsComplex() {
		return x
	}
	x = m.singleOf(x)
	return m.whole(couple{x, nil}, x.DType())
}

// singleOf returns a real x as float32 or float64.
func (m *maker) singleOf(x *tensor.Tensor) *tensor.Tensor { return m.wide(m.floats(x)) }

// fitted returns x with dim d cut to n elements, or filled up with zeros.
func (m *maker) fitted(x *tensor.Tensor, d, n int) *tensor.Tensor {
	size := x.Shape()[d]
	if n <= size {
		return m.do("narrow", x, Int1(d), Int1(0), Int1(n))
	}
	zeros := m.Zeros(x.DType(), replaced(x.Shape(), d, n-size))
	return m.Do("cat", []*tensor.Tensor{x, zeros}, Int1(d))
}

// hermitian returns x, the first half along d of n elements, with the other: the
// conjugates, backwards.
func (m *maker) hermitian(x *tensor.Tensor, d, n int) *tensor.Tensor {
	rest := n - x.Shape()[d]
	if rest <= 0 {
		return x
	}
	tail := m.do("flip", m.do("narrow", x, Int1(d), Int1(1), Int1(rest)), IntsN(d))
	return m.Do("cat", []*tensor.Tensor{x, m.conjugated(tail)}, Int1(d))
}

// transformedAlong returns a transform of several dims: a real one of the last of
// them, complex ones of the others.
func (m *maker) transformedAlong(f fourier) *tensor.Tensor {
	x := m.x(0)
	dims, sizes := m.fourierDims(x)
	order := slices.Clone(dims)
	gives := f.real && f.inverse != f.turned // the result is real
	if gives {                               // the real one comes last
		slices.Reverse(order)
		slices.Reverse(sizes)
	}
	if len(order) == 0 {
		return m.complexOf(x)
	}
	norm := m.c.Args[2].Str
	for i := range order {
		at := len(order) - 1 - i
		step := f
		step.real = f.real && at == len(order)-1
		if gives {
			step.real = at == 0
		}
		step.turned = f.turned && step.real
		x = m.transformed(x, step, order[at], sizes[at], norm)
	}
	return x
}

// fourierDims returns the dims of a transform of several, and the sizes to which
// they are brought, nil for what they are.
func (m *maker) fourierDims(x *tensor.Tensor) (dims []int, sizes []*int) {
	n := len(x.Shape())
	s, given := m.c.Args[0], m.c.Args[1]
	switch {
	case given.Set:
		dims = slices.Clone(given.Ints)
	case s.Set:
		for i := range s.Ints {
			dims = append(dims, n-len(s.Ints)+i)
		}
	default:
		for d := range n {
			dims = append(dims, d)
		}
	}
	sizes = make([]*int, len(dims))
	seen := map[int]bool{}
	for i, dim := range dims {
		d, ok := shape.Dim(dim, n)
		if !ok || seen[d] {
			m.refuse("dim", listText(dims), fmt.Sprintf("dims of %v, each once", x.Shape()), "")
		}
		dims[i], seen[d] = d, true
	}
	if s.Set {
		if len(s.Ints) != len(dims) {
			m.refuse("s", listText(s.Ints), fmt.Sprintf("%d sizes", len(dims)), "one for each of dim")
		}
		for i := range s.Ints {
			if s.Ints[i] != -1 {
				sizes[i] = &s.Ints[i]
			}
		}
	}
	return dims, sizes
}

// shifted returns x rolled by half of dims.
func (m *maker) shifted(inverse bool) *tensor.Tensor {
	x := m.x(0)
	in, err := m.c.Dims(0, x.Shape())
	m.check(err)
	var dims, by []int
	for d, on := range in {
		if on {
			n := x.Shape()[d] / 2
			if inverse {
				n = -n
			}
			dims, by = append(dims, d), append(by, n)
		}
	}
	if len(dims) == 0 {
		return m.unary("clone", x)
	}
	return m.do("roll", x, IntsN(by...), IntsN(dims...))
}

// frequencies returns those of a transform of Args[0] samples.
func (m *maker) frequencies(half bool) *tensor.Tensor {
	n, d := m.int(0), m.float(1)
	if n < 1 {
		m.refuse("n", fmt.Sprint(n), "a positive int", "")
	}
	dt := m.c.dtypeArg(2, m.c.Ctx.Float)
	if !dt.IsFloat() {
		m.refuse("dtype", dt.String(), "a float dtype", "")
	}
	if half {
		return m.Cast(m.Scale(m.Cast(m.upTo(n/2+1), dtype.Float64), 1/(float64(n)*d)), dt)
	}
	k := m.upTo(n)
	k = m.Where(m.binary("ge", k, integer((n+1)/2)), m.Sub(k, integer(n)), k)
	return m.Cast(m.Scale(m.Cast(k, dtype.Float64), 1/(float64(n)*d)), dt)
}

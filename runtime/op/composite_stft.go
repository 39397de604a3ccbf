package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

var (
	inFFT   = Param{Name: "n_fft", Kind: Int, Doc: "the samples of a transform"}
	inHop   = Param{Name: "hop_length", Kind: OptInt, Doc: "how far apart frames are; None for n_fft / 4", Default: Default(None)}
	inWin   = Param{Name: "win_length", Kind: OptInt, Doc: "the samples of the window; None for n_fft", Default: Default(None)}
	inFrame = Param{Name: "window", Kind: OptTensor, Doc: "a factor for each sample [win_length], None for ones", Default: Default(None)}
)

// inYesNo is a truth with a default.
func inYesNo(name, doc string, v bool) Param {
	return Param{Name: name, Kind: Bool, Doc: doc, Default: Default(Bool1(v))}
}

func init() {
	compositeOf(&Def{Name: "stft", Surface: bothSides,
		Doc: "stft(x, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode=\"reflect\", normalized=False, onesided=True, return_complex=True) returns the discrete Fourier transforms of frames of x [samples] or [n, samples]: [.., frequencies, frames].\n" +
			"Frames begin every hop_length samples; each is multiplied by window, which is filled up with\n" +
			"zeros on both sides to n_fft. With center x is padded so that frame t is around sample t\n" +
			"hop_length. onesided keeps the n_fft / 2 + 1 frequencies that those of a real x follow from;\n" +
			"of a complex x it is False. normalized divides by √n_fft. Without return_complex real and\n" +
			"imaginary parts are a last dim.\n>>> stft(ones(8), 4, center=False).shape\n(3, 5)",
		Params: []Param{inX, inFFT, inHop, inWin, inFrame, inYesNo("center", "whether to pad x", true),
			{Name: "pad_mode", Kind: Choice, Doc: "with what", Choices: []string{"constant", "reflect", "replicate", "circular"}, Default: Default(Str1("reflect"))},
			inYesNo("normalized", "whether to divide by √n_fft", false), inYesNo("onesided", "whether half of the frequencies is enough", true), inYesNo("return_complex", "whether the result is complex", true)}},
		func(m *maker) []*tensor.Tensor { return one(m.stft()) })
	compositeOf(&Def{Name: "istft", Surface: bothSides,
		Doc: "istft(x, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=True, length=None, return_complex=False) returns the samples whose stft with the same arguments is x, complex [.., frequencies, frames].\n" +
			"Frames are added where they overlap, and divided by the sum of the squares of their windows,\n" +
			"which is not 0 anywhere (Griffin and Lim 1984). length is how many samples there are, None for\n" +
			"what the frames hold; what they lack is 0.\n>>> istft(stft(ones(8), 4), 4).tolist()\n[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]",
		Params: []Param{inX, inFFT, inHop, inWin, inFrame, inYesNo("center", "whether x was padded", true), inYesNo("normalized", "whether it was divided by √n_fft", false),
			inYesNo("onesided", "whether x has half of the frequencies", true), {Name: "length", Kind: OptInt, Doc: "how many samples", Default: Default(None)}, inYesNo("return_complex", "whether the result is complex", false)}},
		func(m *maker) []*tensor.Tensor { return one(m.istft()) })
}

// A framing is how stft cuts samples into frames.
type framing struct {
	n, hop int
	window *tensor.Tensor // [n]
	norm   string
}

// framing reads the first arguments of stft and istft; normalized is Args[i].
func (m *maker) framing(i int, like *tensor.Tensor) *framing {
	f := &framing{n: m.int(0), norm: "backward"}
	if f.n < 1 {
		m.refuse("n_fft", fmt.Sprint(f.n), "a positive int", "")
	}
	f.hop = f.n / 4
	if a := m.c.Args[1]; a.Set {
		f.hop = a.Int
	}
	if f.hop < 1 {
		m.refuse("hop_length", fmt.Sprint(f.hop), "a positive int", "")
	}
	size := f.n
	if a := m.c.Args[2]; a.Set {
		size = a.Int
	}
	if size < 1 || size > f.n {
		m.refuse("win_length", fmt.Sprint(size), fmt.Sprintf("an int from 1 to n_fft, %d", f.n), "")
	}
	real := like.DType()
	if real.IsComplex() {
		real = real.Real()
	}
	f.window = m.x(1)
	if f.window == nil {
		f.window = m.Do("ones", nil, IntsN(size), Int1(int(real)))
	}
	if !f.window.Shape().Equal(shape.Shape{size}) || f.window.DType().IsComplex() {
		m.refuse("window", Describe(f.window), fmt.Sprintf("%d real numbers", size), "win_length says so")
	}
	if before := (f.n - size) / 2; size < f.n {
		f.window = m.do("pad", f.window, IntsN(before, f.n-size-before), Str1("constant"), Float1(0))
	}
	if m.bool(i) {
		f.norm = "ortho"
	}
	return f
}

func (m *maker) stft() *tensor.Tensor {
	x := m.x(0)
	if !x.DType().IsComplex() {
		x = m.floats(x)
	}
	f := m.framing(5, x)
	alone := len(x.Shape()) == 1
	if alone {
		x = m.column(x, 0)
	}
	if len(x.Shape()) != 2 {
		m.refuse("x", Describe(m.x(0)), "samples [n] or [batch, n]", "")
	}
	if m.bool(3) {
		x = m.do("pad", x, IntsN(f.n/2, f.n/2), Str1(m.c.Args[4].Str), Float1(0))
	}
	if have := x.Shape()[1]; have < f.n {
		m.refuse("x", Describe(m.x(0)), fmt.Sprintf("at least %d samples, with padding", f.n), "n_fft")
	}
	half := m.bool(6)
	if half && x.DType().IsComplex() {
		m.refuse("onesided", "True", "False", "x is complex")
	}
	frames := m.Mul(m.do("unfold", x, Int1(1), Int1(f.n), Int1(f.hop)), f.window)
	y := m.Transpose(m.transformed(frames, fourier{real: half}, 2, nil, f.norm), 1, 2)
	if alone {
		y = m.Reshape(y, y.Shape()[1:])
	}
	if !m.bool(7) {
		y = m.unary("view_as_real", y)
	}
	return y
}

func (m *maker) istft() *tensor.Tensor {
	x := m.x(0)
	if !x.DType().IsComplex() {
		m.refuse("x", Describe(x), "a complex tensor [.., frequencies, frames]", "view_as_complex makes one of two parts")
	}
	f := m.framing(4, x)
	alone := len(x.Shape()) == 2
	if alone {
		x = m.column(x, 0)
	}
	half, whole := m.bool(5), m.bool(7)
	want := f.n
	if half {
		want = f.n/2 + 1
	}
	if len(x.Shape()) != 3 || x.Shape()[1] != want || x.Shape()[2] == 0 {
		m.refuse("x", Describe(m.x(0)), fmt.Sprintf("a tensor [.., %d, frames]", want), "n_fft and onesided say so")
	}
	if half && whole {
		m.refuse("return_complex", "True", "False", "onesided stands for real samples")
	}
	frames := m.transformed(m.Transpose(x, 1, 2), fourier{inverse: true, real: half}, 2, &f.n, f.norm)
	if !half && !whole {
		frames = m.realPart(frames)
	}
	count := x.Shape()[2]
	y := m.overlapped(m.Mul(frames, f.window), f)
	squares := m.Expand(m.Mul(f.window, f.window), shape.Shape{1, count, f.n})
	weights := m.overlapped(squares, f)
	lo, hi := 0, y.Shape()[1]
	if m.bool(3) {
		lo, hi = f.n/2, hi-f.n/2
	}
	if a := m.c.Args[6]; a.Set {
		hi = lo + a.Int
		if a.Int < 1 || a.Int > 1<<40 {
			m.refuse("length", fmt.Sprint(a.Int), "a positive int", "")
		}
	}
	// what is cut off is not divided: the weights may be 0 there
	part := func(x *tensor.Tensor) *tensor.Tensor {
		return m.do("narrow", x, Int1(1), Int1(lo), Int1(max(min(hi, x.Shape()[1])-lo, 0)))
	}
	y = m.Div(part(y), part(weights))
	if hi-lo > y.Shape()[1] {
		y = m.fitted(y, 1, hi-lo)
	}
	if alone {
		y = m.Reshape(y, y.Shape()[1:])
	}
	return y
}

// overlapped adds frames [n, count, f.n] that begin f.hop apart.
func (m *maker) overlapped(frames *tensor.Tensor, f *framing) *tensor.Tensor {
	s := frames.Shape()
	at := m.Add(m.column(m.Mul(m.upTo(s[1]), integer(f.hop)), 1), m.upTo(f.n))
	index := m.Reshape(at, shape.Shape{s[1] * f.n})
	size := f.n + f.hop*(s[1]-1)
	add := func(x *tensor.Tensor) *tensor.Tensor {
		rows := slices.Clone(x.Shape()[3:])
		zeros := m.Zeros(x.DType(), slices.Concat(shape.Shape{s[0], size}, rows))
		flat := m.Reshape(x, slices.Concat(shape.Shape{s[0], s[1] * f.n}, rows))
		return m.Do("index_add", []*tensor.Tensor{zeros, index, flat}, Int1(1), Float1(1))
	}
	if frames.DType().IsComplex() {
		return m.unary("view_as_complex", m.unary("contiguous", add(m.unary("view_as_real", frames))))
	}
	return add(frames)
}

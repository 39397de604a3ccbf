package op

import (
	"math/bits"
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "fft_parts",
		Surface: Internal,
		Doc: "fft_parts(x, dim, inverse, scale) returns the discrete Fourier transform along dim, times scale, of complex numbers whose parts are the last dim of x.\n" +
			"Rows of float32 of a power of two, up to 2^14 numbers, are computed in float32, others in complex128.",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a float tensor [.., 2]"},
			{Name: "dim", Kind: Dim, Doc: "a dim before the last"},
			{Name: "inverse", Kind: Bool, Doc: "whether it is the inverse transform"},
			{Name: "scale", Kind: Float, Doc: "a factor"},
		},
		Infer: func(c *Call) error {
			x := c.In[0]
			s := x.Shape()
			if err := c.checkFloat("x", x); err != nil {
				return err
			}
			if len(s) < 2 || s[len(s)-1] != 2 {
				return c.Bad("x", Describe(x), "a tensor with a last dim of size 2, and one before it", "")
			}
			if d, err := c.Dim(0, s); err != nil {
				return err
			} else if d == len(s)-1 {
				return c.Bad("dim", "the last dim", "another", "it holds the parts")
			}
			return c.Result(x.DType(), s)
		},
		Run: runFourier,
		// The transform is symmetric: its adjoint is the other one of the two.
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.Do("fft_parts", dy, c.Args[0], Bool1(c.Args[1].Int == 0), c.Args[2]))
		},
		Shard: besides(func(c *Call) []bool {
			in := onAxis(0)(c)
			in[len(in)-1] = true
			return in
		}).with(mesh.Sum, mesh.Mean),
		Cost: fftCost,
	})
}

func init() {
	register(&Def{
		Name:    "fft_real",
		Surface: Internal,
		Doc: "fft_real(x, dim, scale, whole) returns the discrete Fourier transform along dim, times scale, of a real x, as pairs of parts in a new last dim: the n // 2 + 1 numbers from frequency 0 on, or if whole all n.\n" +
			"The size n of dim is an even number. Rows of float32 of a power of two are computed in float32, others in complex128.",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a float tensor"},
			{Name: "dim", Kind: Dim, Doc: "a dim"},
			{Name: "scale", Kind: Float, Doc: "a factor"},
			{Name: "whole", Kind: Bool, Doc: "whether all numbers are wanted"},
		},
		Infer: func(c *Call) error {
			x := c.In[0]
			s := x.Shape()
			if err := c.checkFloat("x", x); err != nil {
				return err
			}
			d, err := c.Dim(0, s)
			if err != nil {
				return err
			}
			n := s[d]
			if n == 0 || n%2 != 0 {
				return c.Bad("x", Describe(x), "an even size along dim", "")
			}
			if c.Args[2].Int == 0 {
				n = n/2 + 1
			}
			return c.Result(x.DType(), append(replaced(s, d, n), 2))
		},
		Run: runRealFourier,
		// The adjoint is the real part of the inverse of what is made, filled up with zeros.
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			s := c.In[0].Shape()
			d, _ := c.Dim(0, s)
			g := dy[0]
			if n := s[d] - g.Shape()[d]; n > 0 {
				ends := make([]int, 2*(len(s)+1-d)) // from the last dim on
				ends[len(ends)-1] = n
				g = t.Do("pad", one(g), IntsN(ends...), Str1("constant"), Float1(0))
			}
			y := t.Do("fft_parts", one(g), Int1(d), Bool1(true), c.Args[1])
			return one(t.Select(y, len(s), 0))
		},
		Shard: besides(onAxis(0)).with(mesh.Sum, mesh.Mean),
		Cost:  fftCost,
	})
}

// runRealFourier transforms the rows of In[0], real ones, along the dim of the call.
func runRealFourier(c *Call) error {
	d, err := c.Dim(0, c.In[0].Shape())
	if err != nil {
		return err
	}
	x, y, scale, whole := lastDim(c.In[0], d), beforeLast(c.Out[0], d), c.Args[1].Float, c.Args[2].Int != 0
	s := x.Shape()
	size, wide := s[len(s)-1], 2*y.Shape()[y.Ndim()-2]
	if x.DType().Compute() == dtype.Float32 {
		if f := kernel.NewFourierRows(size / 2); f != nil {
			defer f.Release()
			eachFourier(y, x, wide, size, kernel.SideBySide, func(dst, x []float32) { f.TransformReal(dst, x, scale, whole) })
			return nil
		}
	}
	f, row := kernel.NewFourier(size), make([]complex128, size)
	defer f.Release()
	eachFourier(y, x, wide, size, 1, func(dst, x []float64) {
		for i, v := range x {
			row[i] = complex(v, 0)
		}
		f.Transform(row, row, false, scale)
		for i, z := range row[:wide/2] {
			dst[2*i], dst[2*i+1] = real(z), imag(z)
		}
	})
	return nil
}

// eachFourier calls f with some rows of size elements of x at a time, and with room for as many
// of wide elements of dst.
func eachFourier[T dtype.Float](dst, x *tensor.Tensor, wide, size, some int, f func(dst, x []T)) {
	src, out, rows := newSource[T](x, x.Shape()), newSink[T](dst), x.Numel()/size
	for lo := 0; lo < rows; lo += some {
		hi := min(lo+some, rows)
		f(out.block(lo*wide, hi*wide), src.block(lo*size, hi*size))
		out.store(lo*wide, hi*wide)
	}
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(dst)
}

// runFourier transforms the rows of In[0] along the dim of the call.
func runFourier(c *Call) error {
	d, err := c.Dim(0, c.In[0].Shape())
	if err != nil {
		return err
	}
	x, y, inverse, scale := beforeLast(c.In[0], d), beforeLast(c.Out[0], d), c.Args[1].Int != 0, c.Args[2].Float
	s := x.Shape()
	size := s[len(s)-2]
	if x.Numel() == 0 {
		return nil
	}
	if x.DType().Compute() == dtype.Float32 {
		if f := kernel.NewFourierRows(size); f != nil {
			defer f.Release()
			eachFourier(y, x, 2*size, 2*size, kernel.SideBySide, func(dst, x []float32) { f.Transform(dst, x, inverse, scale) })
			return nil
		}
	}
	f, row := kernel.NewFourier(size), make([]complex128, size)
	defer f.Release()
	eachFourier(y, x, 2*size, 2*size, 1, func(dst, x []float64) {
		for i := range row {
			row[i] = complex(x[2*i], x[2*i+1])
		}
		f.Transform(row, row, inverse, scale)
		for i, z := range row {
			dst[2*i], dst[2*i+1] = real(z), imag(z)
		}
	})
	return nil
}

// beforeLast returns a view of x with dim d moved before the last one.
func beforeLast(x *tensor.Tensor, d int) *tensor.Tensor {
	n := x.Ndim()
	s, st := make([]int, 0, n), make([]int, 0, n)
	for i := range n - 1 {
		if i != d {
			s, st = append(s, x.Shape()[i]), append(st, x.Strides()[i])
		}
	}
	for _, i := range []int{d, n - 1} {
		s, st = append(s, x.Shape()[i]), append(st, x.Strides()[i])
	}
	return x.View(s, st, x.Offset())
}

// fftCost is 5 n log2 n operations for a row of n complex numbers, as is usual for transforms, and
// half as many for one of real numbers.
func fftCost(c *Call) Cost {
	k := c.costs(0)
	d, err := c.Dim(0, c.In[0].Shape())
	if err != nil {
		return k
	}
	n := c.In[0].Shape()[d]
	k.FLOPs = int64(5 * c.In[0].Numel() / 2 * bits.Len(uint(max(n-1, 0))))
	return k
}

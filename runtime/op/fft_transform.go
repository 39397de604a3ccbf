package op

import (
	"math/bits"
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/kernel"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "fft_parts",
		Surface: Internal,
		Doc: "fft_parts(x, dim, inverse, scale) returns the discrete Fourier transform along dim, times scale, of complex numbers whose parts are the last dim of x.\n" +
			"It is computed in complex128.",
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

// runFourier transforms the rows of In[0] along the dim of the call.
func runFourier(c *Call) error {
	d, err := c.Dim(0, c.In[0].Shape())
	if err != nil {
		return err
	}
	x, y := beforeLast(c.In[0], d), beforeLast(c.Out[0], d)
	s := x.Shape()
	size, n := s[len(s)-2], x.Numel()
	if n == 0 {
		return nil
	}
	f, row := kernel.NewFourier(size), make([]complex128, size)
	defer f.Release()
	src, out := newSource[float64](x, s), newSink[float64](y)
	for lo := 0; lo < n; lo += 2 * size {
		from := src.block(lo, lo+2*size)
		for i := range row {
			row[i] = complex(from[2*i], from[2*i+1])
		}
		f.Transform(row, row, c.Args[1].Int != 0, c.Args[2].Float)
		to := out.block(lo, lo+2*size)
		for i, z := range row {
			to[2*i], to[2*i+1] = real(z), imag(z)
		}
		out.store(lo, lo+2*size)
	}
	goruntime.KeepAlive(c)
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

// fftCost is 5 n log2 n operations for a row of n, as is usual for transforms.
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

package op

import (
	"fmt"
	goruntime "runtime"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// poolParams are the parameters of an operator of windows over x, which makes something of the
// given last sizes.
func poolParams(x, sizes string) []Param {
	return []Param{{Name: x, Kind: Tensor, Doc: "a float tensor [n, c, ..]"},
		{Name: "sizes", Kind: Ints, Doc: sizes},
		{Name: "kernel", Kind: Ints, Doc: "the size of a window"},
		{Name: "stride", Kind: Ints, Doc: "how far apart windows are"},
		{Name: "before", Kind: Ints, Doc: "how far before x the first begins"},
		{Name: "dilation", Kind: Ints, Doc: "how far apart the elements of a window are"}}
}

func init() {
	const windows = "\nElement t of window p of a dim stands at p stride + t dilation - before. What is outside does not count.\n"
	scale := Param{Name: "scale", Kind: Float, Doc: "a factor"}
	register(&Def{
		Name:    "window_max",
		Surface: Internal,
		Doc: "window_max(x, sizes, kernel, stride, before, dilation) returns the greatest elements of windows over x [n, c, ..], and where in their channel they stand." + windows +
			"The first of equal elements counts; NaN wins over all else.",
		Params: poolParams("x", "how many windows there are along each dim"),
		Infer: func(c *Call) error {
			if err := c.inferPool(); err != nil {
				return err
			}
			w := windowsOf(c.Args, c.In[0].Shape()[2:], c.Args[0].Ints)
			if !w.See() {
				return c.Bad("x", Describe(c.In[0]), "an element in each window", "kernel "+listText(c.Args[1].Ints))
			}
			s := c.Spec[0]
			return c.Results(s, Spec{dtype.Int64, s.Shape})
		},
		Run: func(c *Call) error {
			if c.Out[0].DType().Compute() == dtype.Float64 {
				return runWindowMax[float64](c)
			}
			return runWindowMax[float32](c)
		},
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			s := c.In[0].Shape()
			dx := t.Do("unpool_add", []*tensor.Tensor{channelsFlat(t, dy[0]), channelsFlat(t, c.Out[1])}, Int1(s[2:].Numel()))
			return one(t.Reshape(dx, s))
		},
		Reads:   ReadsResults,
		InParts: true,
		Shard:   besides(imageDims),
		Cost:    poolCost,
	})
	register(&Def{
		Name:    "window_sum",
		Surface: Internal,
		Doc: "window_sum(x, sizes, kernel, stride, before, dilation, scale) returns the sums of windows over x [n, c, ..], times scale." + windows +
			"Elements are added in row-major order.",
		Params: append(poolParams("x", "how many windows there are along each dim"), scale),
		Infer:  (*Call).inferPool,
		Run: func(c *Call) error {
			w := windowsOf(c.Args, c.In[0].Shape()[2:], c.Args[0].Ints)
			if c.Out[0].DType().Compute() == dtype.Float64 {
				return runPool(c, &w, kernel.WindowSumTo[float64])
			}
			return runPool(c, &w, kernel.WindowSumTo[float32])
		},
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.Do("window_spread", dy, append([]Arg{IntsN(c.In[0].Shape()[2:]...)}, c.Args[1:]...)...))
		},
		Reads:   ReadsShapes,
		InParts: true,
		Shard:   movedRows,
		Cost:    poolCost,
	})
	register(&Def{
		Name:    "window_spread",
		Surface: Internal,
		Doc: "window_spread(y, sizes, kernel, stride, before, dilation, scale) returns the sums, for each element of what has the given last sizes, of those elements of y whose windows see it, each times scale." + windows +
			"It is the gradient of window_sum. Elements are added in row-major order.",
		Params: append(poolParams("y", "the last dims of the result"), scale),
		Infer:  (*Call).inferPool,
		Run: func(c *Call) error {
			w := windowsOf(c.Args, c.Args[0].Ints, c.In[0].Shape()[2:])
			if c.Out[0].DType().Compute() == dtype.Float64 {
				return runPool(c, &w, kernel.WindowSpreadTo[float64])
			}
			return runPool(c, &w, kernel.WindowSpreadTo[float32])
		},
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.Do("window_sum", dy, append([]Arg{IntsN(c.In[0].Shape()[2:]...)}, c.Args[1:]...)...))
		},
		Reads:   ReadsShapes,
		InParts: true,
		Shard:   movedRows,
		Cost:    poolCost,
	})
	register(&Def{
		Name:    "unpool_add",
		Surface: Internal,
		Doc:     "unpool_add(x, index, size) returns zeros [n, c, size] with the elements of x [n, c, k] added at the places that index gives along the last dim, in their order.",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a float tensor [n, c, k]"},
			{Name: "index", Kind: Tensor, Doc: "an integer tensor of the shape of x"},
			{Name: "size", Kind: Int, Doc: "how many places there are"},
		},
		Infer: func(c *Call) error {
			if err := c.checkFloat("x", c.In[0]); err != nil {
				return err
			}
			return inferUnpool(c)
		},
		Run: func(c *Call) error {
			if c.Out[0].DType().Compute() == dtype.Float64 {
				return runUnpoolAdd[float64](c)
			}
			return runUnpoolAdd[float32](c)
		},
		Reads: ReadsRest,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.Do("gather", []*tensor.Tensor{dy[0], c.In[1]}, Int1(2)), nil}
		},
		Shard: besides(imageDims),
		Cost:  func(c *Call) Cost { return c.costs(c.In[0].Numel()) },
	})
}

// channelsFlat returns x [n, c, ..] as [n, c, elements].
func channelsFlat(t *Tape, x *tensor.Tensor) *tensor.Tensor {
	s := x.Shape()
	return t.Reshape(x, shape.Shape{s[0], s[1], s[2:].Numel()})
}

// imageDims are those of In[0] behind the first two, as besides takes them.
func imageDims(c *Call) []bool {
	in := make([]bool, c.In[0].Ndim())
	for d := 2; d < len(in); d++ {
		in[d] = true
	}
	return in
}

// movedRows is the rule of a sum of elements of In[0] [n, c, ..] along its last dims.
func movedRows(c *Call) []Row {
	return append(besides(imageDims)(c), togetherIn(c, []int{0}, mesh.Sum, mesh.Mean)...)
}

// inferPool checks a call of an operator of windows.
func (c *Call) inferPool() error {
	x, sizes := c.In[0], c.Args[0].Ints
	if err := c.checkFloat(c.InName(0), x); err != nil {
		return err
	}
	n := len(sizes)
	for _, a := range c.Args[1:5] {
		if len(a.Ints) != n || n < 1 || n > 3 {
			return c.Bad("sizes", listText(sizes), "1 to 3 ints", "as many as kernel, stride, before and dilation have")
		}
	}
	if x.Ndim() != n+2 {
		return c.Bad(c.InName(0), Describe(x), fmt.Sprintf("a tensor of %d dims", n+2), "2 and one for each of sizes")
	}
	if slices.Min(sizes) < 0 || slices.Min(c.Args[1].Ints) < 1 || slices.Min(c.Args[2].Ints) < 1 || slices.Min(c.Args[4].Ints) < 1 {
		return c.Bad("sizes", listText(sizes), "ints from 0, with windows, strides and dilations from 1", "")
	}
	return c.Result(x.DType(), append(slices.Clone(x.Shape()[:2]), sizes...))
}

// windowsOf returns the windows, as many as out says, that the arguments of an operator of windows
// describe, over channels of the sizes in.
func windowsOf(args []Arg, in, out []int) kernel.Windows {
	n := len(in)
	var w kernel.Windows
	for d := range 3 {
		w.In[d], w.Out[d], w.Size[d], w.Stride[d], w.Dilation[d] = 1, 1, 1, 1, 1
	}
	for i := range n {
		d := 3 - n + i
		w.In[d], w.Out[d], w.Size[d], w.Stride[d], w.Before[d], w.Dilation[d] = in[i], out[i], args[1].Ints[i], args[2].Ints[i], args[3].Ints[i], args[4].Ints[i]
	}
	return w
}

// eachChannels runs f on parts of the channels of c, of in elements each before and of out after.
func (c *Call) eachChannels(in, out int, f func(lo, hi int)) {
	s := c.In[0].Shape()
	if n := s[0] * s[1]; n > 0 && out > 0 {
		c.Ctx.Workers.Split(n, max(LeastPart/max(in, out), 1), f)
	}
}

func runWindowMax[T dtype.Float](c *Call) error {
	dt := c.Out[0].DType().Compute()
	x, err := c.inOrder(c.In[0], dt)
	if err != nil {
		return err
	}
	y, err := c.newOutput(c.Out[0], dt)
	if err != nil {
		return err
	}
	w := windowsOf(c.Args, c.In[0].Shape()[2:], c.Args[0].Ints)
	w.Plan()
	in, out := c.In[0].Shape()[2:].Numel(), c.Out[0].Shape()[2:].Numel()
	src, dst, at := tensor.Data[T](x), tensor.Data[T](y.room), tensor.Data[int64](c.Out[1])
	c.eachChannels(in, out, func(lo, hi int) {
		kernel.WindowMaxTo(dst[lo*out:hi*out], at[lo*out:hi*out], src[lo*in:hi*in], &w)
	})
	y.done()
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(c.Out[1])
	return nil
}

// runPool runs a kernel of windows on the channels of c.
func runPool[T dtype.Float](c *Call, w *kernel.Windows, run func(dst, x []T, scale T, w *kernel.Windows)) error {
	dt := c.Out[0].DType().Compute()
	x, err := c.inOrder(c.In[0], dt)
	if err != nil {
		return err
	}
	y, err := c.newOutput(c.Out[0], dt)
	if err != nil {
		return err
	}
	w.Plan()
	in, out := c.In[0].Shape()[2:].Numel(), c.Out[0].Shape()[2:].Numel()
	src, dst := tensor.Data[T](x), tensor.Data[T](y.room)
	c.eachChannels(in, out, func(lo, hi int) {
		run(dst[lo*out:hi*out], src[lo*in:hi*in], T(c.Args[5].Float), w)
	})
	y.done()
	goruntime.KeepAlive(x)
	return nil
}

func runUnpoolAdd[T dtype.Float](c *Call) error {
	dt := c.Out[0].DType().Compute()
	x, err := c.inOrder(c.In[0], dt)
	if err != nil {
		return err
	}
	index, err := c.inOrder(c.In[1], dtype.Int64)
	if err != nil {
		return err
	}
	y, err := c.newOutput(c.Out[0], dt)
	if err != nil {
		return err
	}
	src, at, dst := tensor.Data[T](x), tensor.Data[int64](index), tensor.Data[T](y.room)
	k, size := c.In[0].Shape()[2], c.Args[0].Int
	for row := 0; row*size < len(dst); row++ {
		to := dst[row*size : (row+1)*size]
		clear(to)
		for i, j := range at[row*k : (row+1)*k] {
			if uint(j) >= uint(size) {
				return c.badElement("index", c.In[1], row*k+i, j, fmt.Sprintf("0..%d", size-1), "places")
			}
			to[j] += src[row*k+i]
		}
	}
	y.done()
	goruntime.KeepAlive(x)
	goruntime.KeepAlive(index)
	return nil
}

// poolCost is an operation for each element that a window of the sizes given has, and one for each
// window whose sum is scaled.
func poolCost(c *Call) Cost {
	windows, each := c.Spec[0].Shape.Numel(), shape.Shape(c.Args[1].Ints).Numel()
	if c.Def.Name == "window_spread" {
		windows = c.In[0].Numel()
	}
	if len(c.Args) > 5 && c.Args[5].Float != 1 {
		each++
	}
	return c.costs(windows * each)
}

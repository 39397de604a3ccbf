package op

import (
	"fmt"
	goruntime "runtime"

	"tpsh/runtime/dtype"
	"tpsh/runtime/rng"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Random numbers.
func init() {
	shapeParam := Param{Name: "shape", Kind: Ints, Doc: "the sizes"}
	floatParam := Param{Name: "dtype", Kind: OptDType, Doc: "a float dtype; the default float if None", Default: Default(None)}
	likeParam := Param{Name: "dtype", Kind: OptDType, Doc: "a float dtype; that of x if None", Default: Default(None)}
	register(&Def{
		Name:    "rand",
		Surface: Function,
		Creates: true,
		Doc: "rand(*shape, dtype=None) returns random numbers, uniform in [0, 1).\n" +
			"Element i of the tensor in row-major order depends on the seed, on how many draws\n" +
			"came before, and on i.\n" +
			">>> rand(2, 3).shape\n" +
			"(2, 3)",
		Params: []Param{shapeParam, floatParam},
		Infer:  inferDraw,
		Run:    func(c *Call) error { return runDraw(c, &uniform) },
		Hollow: hollowDraw,
		Shard:  drawnRule,
		Local:  func(b *Blocks) ([]*tensor.Tensor, error) { return b.draw(uniform.fill) },
		Sited:  anywhere,
		Cost:   makes(1),
	})
	register(&Def{
		Name:    "randn",
		Surface: Function,
		Creates: true,
		Doc: "randn(*shape, dtype=None) returns random numbers of the normal distribution with mean 0 and variance 1.\n" +
			"Element i of the tensor in row-major order depends on the seed, on how many draws\n" +
			"came before, and on i.\n" +
			">>> randn(2, 3).shape\n" +
			"(2, 3)",
		Params: []Param{shapeParam, floatParam},
		Infer:  inferDraw,
		Run:    func(c *Call) error { return runDraw(c, &standardNormal) },
		Hollow: hollowDraw,
		Shard:  drawnRule,
		Local:  func(b *Blocks) ([]*tensor.Tensor, error) { return b.draw(standardNormal.fill) },
		Sited:  anywhere,
		Cost:   makes(1),
	})
	register(&Def{
		Name:    "rand_like",
		Surface: Function,
		Creates: true,
		Doc: "rand_like(x, dtype=None) returns rand of the shape of x.\n" +
			">>> rand_like(zeros(2, 3)).shape\n" +
			"(2, 3)",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, likeParam},
		Infer:  inferDrawLike,
		Run:    func(c *Call) error { return runDraw(c, &uniform) },
		Hollow: hollowDraw,
		Shard:  likeRule,
		Local:  func(b *Blocks) ([]*tensor.Tensor, error) { return b.draw(uniform.fill) },
		Sited:  anywhere,
		Cost:   makes(1),
	})
	register(&Def{
		Name:    "randn_like",
		Surface: Function,
		Creates: true,
		Doc: "randn_like(x, dtype=None) returns randn of the shape of x.\n" +
			">>> randn_like(zeros(2, 3)).shape\n" +
			"(2, 3)",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, likeParam},
		Infer:  inferDrawLike,
		Run:    func(c *Call) error { return runDraw(c, &standardNormal) },
		Hollow: hollowDraw,
		Shard:  likeRule,
		Local:  func(b *Blocks) ([]*tensor.Tensor, error) { return b.draw(standardNormal.fill) },
		Sited:  anywhere,
		Cost:   makes(1),
	})
}

// Random integers.
func init() {
	register(&Def{
		Name:    "randint",
		Surface: Function,
		Creates: true,
		Instead: "randint_below",
		Doc: "randint(low, high, shape, dtype=int64) returns random integers, uniform from low to high - 1; randint(high, shape) from 0 on.\n" +
			">>> randint(0, 10, (2, 3)).shape\n" +
			"(2, 3)",
		Params: []Param{
			{Name: "low", Kind: Int, Doc: "the smallest integer"},
			{Name: "high", Kind: Int, Doc: "one more than the largest"},
			{Name: "shape", Kind: Ints, Doc: "the sizes"},
			{Name: "dtype", Kind: DType, Doc: "a dtype that holds all of them", Default: Default(Int1(int(dtype.Int64)))},
		},
		Infer:  inferRandint,
		Run:    runRandint,
		Shard:  drawnRule,
		Local:  localRandint,
		Cost:   makes(1),
		Hollow: hollowDraw,
	})
	register(&Def{
		Name:    "randperm",
		Surface: Function,
		Creates: true,
		Doc: "randperm(n, dtype=int64) returns the integers 0 to n - 1 in a random order.\n" +
			">>> randperm(5).sort()[0]\n" +
			"[0 1 2 3 4]",
		Params: []Param{
			{Name: "n", Kind: Int, Doc: "how many"},
			{Name: "dtype", Kind: DType, Doc: "an integer or float dtype that holds all of them", Default: Default(Int1(int(dtype.Int64)))},
		},
		Infer:  inferRandperm,
		Run:    runRandperm,
		Cost:   makes(1),
		Hollow: hollowDraw,
	})
}

// A distribution is drawn from by position, in every float dtype.
type distribution struct {
	f32  func(dst []float32, seed, draw, first uint64)
	f64  func(dst []float64, seed, draw, first uint64)
	f16  func(dst []dtype.F16, seed, draw, first uint64)
	bf16 func(dst []dtype.BF16, seed, draw, first uint64)
}

var (
	uniform        = distribution{rng.Uniform32, rng.Uniform64, rng.UniformF16, rng.UniformBF16}
	standardNormal = distribution{rng.Normal32, rng.Normal64, rng.NormalF16, rng.NormalBF16}
)

// fill sets x, contiguous, to the elements of a draw from first on.
func (d *distribution) fill(x *tensor.Tensor, seed, draw, first uint64) {
	switch x.DType() {
	case dtype.Float32:
		d.f32(tensor.Data[float32](x), seed, draw, first)
	case dtype.Float64:
		d.f64(tensor.Data[float64](x), seed, draw, first)
	case dtype.Float16:
		d.f16(tensor.Data[dtype.F16](x), seed, draw, first)
	case dtype.BFloat16:
		d.bf16(tensor.Data[dtype.BF16](x), seed, draw, first)
	}
}

func runDraw(c *Call, d *distribution) error {
	seed, draw := c.Ctx.Draw()
	d.fill(c.Out[0], seed, draw, 0)
	return nil
}

func inferDraw(c *Call) error {
	s := shape.Shape(c.Args[0].Ints)
	if err := c.checkSizes("shape", s); err != nil {
		return err
	}
	return c.drawResult(c.Args[1], c.Ctx.Float, s)
}

func inferDrawLike(c *Call) error {
	return c.drawResult(c.Args[0], c.In[0].DType(), c.In[0].Shape())
}

// drawResult sets c.Spec to a float tensor of shape s: of the dtype that arg
// gives, else of dt.
func (c *Call) drawResult(arg Arg, dt dtype.DType, s shape.Shape) error {
	if arg.Set {
		dt = dtype.DType(arg.Int)
	}
	if !dt.IsFloat() || dt.IsFloat8() {
		return c.Bad("dtype", dt.String(), "a float dtype", "")
	}
	return c.Result(dt, s)
}

// checkSizes returns an error if s is no shape.
func (c *Call) checkSizes(param string, s shape.Shape) error {
	for i, n := range s {
		if n < 0 {
			return c.Bad(param, fmt.Sprintf("%d at index %d", n, i), "a non-negative int", "")
		}
	}
	return nil
}

func inferRandint(c *Call) error {
	low, high, dt := c.Args[0].Int, c.Args[1].Int, dtype.DType(c.Args[3].Int)
	if low >= high {
		return c.Bad("high", fmt.Sprint(high), fmt.Sprintf("more than %d", low), "low is below high")
	}
	if err := c.checkHolds("low", low, 0, dt); err != nil {
		return err
	}
	if err := c.checkHolds("high", high, 1, dt); err != nil {
		return err
	}
	s := shape.Shape(c.Args[2].Ints)
	if err := c.checkSizes("shape", s); err != nil {
		return err
	}
	return c.Result(dt, s)
}

// checkHolds returns an error if dt does not hold n - past exactly, as it does
// all integers between it and 0.
func (c *Call) checkHolds(param string, n, past int, dt dtype.DType) error {
	lo, hi := integersOf(dt)
	if k := n - past; k < lo || k > hi {
		return c.Bad(param, fmt.Sprint(n), fmt.Sprintf("%d..%d", lo+past, hi+past), "integers that "+dt.String()+" holds")
	}
	return nil
}

// integersOf returns the range of successive integers that dt holds exactly.
func integersOf(dt dtype.DType) (lo, hi int) {
	if dt.IsInt() {
		lo, hi := dt.Limits()
		return int(lo), int(hi)
	}
	switch dt {
	case dtype.Bool:
		return 0, 1
	case dtype.Float64:
		return -1 << 53, 1 << 53
	case dtype.Float32:
		return -1 << 24, 1 << 24
	case dtype.Float16:
		return -1 << 11, 1 << 11
	}
	return -1 << 8, 1 << 8
}

func runRandint(c *Call) error {
	return c.drawInts(func(dst []int64) {
		seed, draw := c.Ctx.Draw()
		rng.Ints(dst, seed, draw, 0, int64(c.Args[0].Int), int64(c.Args[1].Int))
	})
}

// drawInts sets the result, of any dtype, to what fill leaves in a slice of as
// many integers.
func (c *Call) drawInts(fill func(dst []int64)) error {
	x := c.Out[0]
	if x.DType() != dtype.Int64 {
		var err error
		if x, err = c.room(dtype.Int64, x.Shape()); err != nil {
			return err
		}
	}
	fill(tensor.Data[int64](x))
	if x != c.Out[0] {
		copyInto(c.Out[0], x)
	}
	goruntime.KeepAlive(x)
	return nil
}

func inferRandperm(c *Call) error {
	n, dt := c.Args[0].Int, dtype.DType(c.Args[1].Int)
	if n < 0 {
		return c.Bad("n", fmt.Sprint(n), "a non-negative int", "")
	}
	if dt == dtype.Bool {
		return c.Bad("dtype", "bool", "an integer or float dtype", "")
	}
	if n > 0 {
		if err := c.checkHolds("n", n, 1, dt); err != nil {
			return err
		}
	}
	return c.Result(dt, shape.Shape{n})
}

func runRandperm(c *Call) error {
	return c.drawInts(func(dst []int64) {
		seed, draw := c.Ctx.Draw()
		rng.Perm(dst, seed, draw)
	})
}

package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	sizes := Param{Name: "shape", Kind: Ints, Doc: "the sizes"}
	dt := Param{Name: "dtype", Kind: OptDType, Doc: "the dtype; None for the default float", Default: Default(None)}
	for _, f := range []struct {
		name, doc string
		run       func(c *Call) error
	}{
		{"zeros", "zeros(*shape, dtype=None) returns a tensor of zeros.\n" +
			">>> zeros(2, dtype=int64).tolist()\n" +
			"[0, 0]", runZeros},
		{"ones", "ones(*shape, dtype=None) returns a tensor of ones.\n" +
			">>> ones([2, 1]).tolist()\n" +
			"[[1.0], [1.0]]", runOnes},
		{"empty", "empty(*shape, dtype=None) returns a tensor whose elements are not set.\n" +
			"They are zero, so that a run does not depend on what memory held before.\n" +
			">>> empty(2, 3).shape\n" +
			"(2, 3)", runZeros},
	} {
		register(&Def{
			Name:    f.name,
			Surface: Function,
			Creates: true,
			Doc:     f.doc,
			Params:  []Param{sizes, dt},
			Infer:   inferCreated,
			Run:     f.run,
			Cost:    makes(0),
		})
	}
	register(&Def{
		Name:    "full",
		Surface: Function,
		Creates: true,
		Doc: "full(shape, v, dtype=None) returns a tensor filled with v.\n" +
			"Without a dtype it is that of v: int64, bool, or the default float.\n" +
			">>> full([2], 7).tolist()\n" +
			"[7, 7]",
		Params: []Param{
			sizes,
			{Name: "v", Also: []string{"fill_value", "value"}, Kind: Operand, Doc: "a number, or a tensor of one element"},
			{Name: "dtype", Kind: OptDType, Doc: "the dtype; None for that of v", Default: Default(None)},
		},
		Infer: inferFull,
		Run: func(c *Call) error {
			v := c.In[0]
			copyInto(c.Out[0], v.View(shape.Shape{}, nil, v.Offset()))
			return nil
		},
		Shard: fullRule,
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			return b.Apply(IntsN(b.OutShape(0)...), b.Args[1])
		},
		Cost: makes(0),
	})
	register(&Def{
		Name:    "eye",
		Surface: Function,
		Creates: true,
		Doc: "eye(n, m=None, dtype=None) returns the [n, m] matrix with ones on its diagonal and zeros elsewhere.\n" +
			"m is n if it is None.\n" +
			">>> eye(2).tolist()\n" +
			"[[1.0, 0.0], [0.0, 1.0]]",
		Params: []Param{
			{Name: "n", Kind: Int, Doc: "the number of rows"},
			{Name: "m", Kind: OptInt, Doc: "the number of columns; None for n", Default: Default(None)},
			dt,
		},
		Infer: inferEye,
		Run:   runEye,
		Cost:  makes(0),
	})
}

// Zeros returns zeros of shape s.
func (t *Tape) Zeros(dt dtype.DType, s shape.Shape) *tensor.Tensor {
	return t.Do("zeros", nil, IntsN(s...), Int1(int(dt)))
}

// eye returns the matrix with ones on its diagonal and zeros elsewhere.
func (t *Tape) eye(rows, cols int, dt dtype.DType) *tensor.Tensor {
	return t.Cast(t.Do("eye", nil, Int1(rows), Int1(cols), Int1(int(dt.Real()))), dt)
}

// full returns a tensor of given sizes, all of whose elements are the number v.
func (t *Tape) full(v *tensor.Tensor, dt dtype.DType, sizes ...int) *tensor.Tensor {
	return t.Do("full", one(v), IntsN(sizes...), Int1(int(dt)))
}

// dtypeArg returns the dtype that Args[i], an OptDType, names; dt if it is
// None.
func (c *Call) dtypeArg(i int, dt dtype.DType) dtype.DType {
	if c.Args[i].Set {
		return dtype.DType(c.Args[i].Int)
	}
	return dt
}

func inferCreated(c *Call) error { return c.create(0, c.dtypeArg(1, c.Ctx.Float)) }

// create sets c.Spec to a tensor of dt of the shape that Args[i] gives.
func (c *Call) create(i int, dt dtype.DType) error {
	s := shape.Shape(slices.Clone(c.Args[i].Ints))
	if err := c.checkSizes(c.argName(i), s); err != nil {
		return err
	}
	return c.Result(dt, s)
}

func runZeros(c *Call) error {
	kernel.Clear(c.Out[0].Bytes())
	return nil
}

func runOnes(c *Call) error {
	copyInto(c.Out[0], tensor.Number(int64(1)))
	return nil
}

func inferFull(c *Call) error {
	v := c.In[0]
	if v.Numel() != 1 {
		return c.Bad("v", Describe(v), "a number, or a tensor of one element", "")
	}
	dt := c.dtypeArg(1, promote(c.Ctx, v))
	if err := c.checkNumber("v", v, dt); err != nil {
		return err
	}
	return c.create(0, dt)
}

// fullRule: any dim may be cut, and v may be partial.
func fullRule(c *Call) []Row {
	return append(drawnRule(c), together(c, anyPartial...)...)
}

func inferEye(c *Call) error {
	n, m := c.Args[0].Int, c.Args[1].Int
	if n < 0 {
		return c.Bad("n", fmt.Sprint(n), "a non-negative int", "")
	}
	if !c.Args[1].Set {
		m = n
	}
	if m < 0 {
		return c.Bad("m", fmt.Sprint(m), "a non-negative int", "")
	}
	return c.Result(c.dtypeArg(2, c.Ctx.Float), shape.Shape{n, m})
}

func runEye(c *Call) error {
	y := c.Out[0]
	kernel.Clear(y.Bytes())
	n, m := y.Shape()[0], y.Shape()[1]
	if k := min(n, m); k > 0 {
		copyInto(y.View(shape.Shape{k}, []int{m + 1}, 0), tensor.Number(int64(1)))
	}
	return nil
}

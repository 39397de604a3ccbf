package op

import (
	"fmt"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The operators of this file speak of a region of a base: the elements of a
// contiguous tensor that a view with the given shape, strides and offset
// shows, the offset being counted from the base's first element. Gradients of
// views, and of in-place changes of views, are made of them.

func init() {
	region := []Param{
		{Name: "shape", Kind: Ints, Doc: "the sizes of the region"},
		{Name: "strides", Kind: Ints, Doc: "its strides in elements, none negative"},
		{Name: "offset", Kind: Int, Doc: "its first element"},
	}
	register(&Def{
		Name:    "region_get",
		Surface: Internal,
		Doc: "region_get(base, shape, strides, offset) returns the region of base, sharing its storage.\n" +
			"Of a base that is not contiguous it returns a region of a contiguous copy.",
		Params: append([]Param{{Name: "base", Kind: Tensor, Doc: "a tensor"}}, region...),
		Infer:  inferRegionGet,
		Run:    runRegionGet,
		Reads:  ReadsShapes,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.regionSpread(dy[0], c.In[0].Shape(), c.Args[1].Ints, c.Args[2].Int, c.Args[3:]...))
		},
		View: true,
		Blockwise: func(view, base *mesh.Placed) Blockwise {
			return Blockwise{In: []*mesh.Placed{base}, Out: view, Of: view}
		},
	})
	register(&Def{
		Name:    "region_set",
		Surface: Internal,
		Doc: "region_set(base, src, shape, strides, offset) returns a copy of base with its region replaced by src.\n" +
			"src is cast to the dtype of base and broadcast to the shape of the region, no two\n" +
			"elements of which are one.",
		Params: append([]Param{
			{Name: "base", Kind: Tensor, Doc: "a tensor"},
			{Name: "src", Kind: Operand, Doc: "what the region becomes"},
		}, region...),
		Infer: inferRegionSet,
		Run:   runRegionSet,
		Grad:  regionSetGrad,
		Cost:  moves,
		Blockwise: func(view, base *mesh.Placed) Blockwise {
			return Blockwise{In: []*mesh.Placed{base, view}, Out: base, Of: view}
		},
	})
	register(&Def{
		Name:    "region_spread",
		Surface: Internal,
		Doc: "region_spread(src, base, strides, offset) returns zeros of shape base with src in the region that has its shape.\n" +
			"It is the gradient of region_get. No two elements of the region are one.",
		Params: []Param{
			{Name: "src", Kind: Tensor, Doc: "what the region holds"},
			{Name: "base", Kind: Ints, Doc: "the shape of the result"},
			region[1], region[2],
		},
		Infer: inferRegionSpread,
		Run:   runRegionSpread,
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.regionGet(dy[0], c.In[0].Shape(), c.Args[1].Ints, c.Args[2].Int, c.Args[3:]...))
		},
		Cost: moves,
		Blockwise: func(view, base *mesh.Placed) Blockwise {
			return Blockwise{In: []*mesh.Placed{view}, Out: base, Of: base}
		},
	})
}

// regionGet returns a region of base. layouts are those of a placed one.
func (t *Tape) regionGet(base *tensor.Tensor, s shape.Shape, strides []int, offset int, layouts ...Arg) *tensor.Tensor {
	return t.Do("region_get", []*tensor.Tensor{base}, append([]Arg{IntsN(s...), IntsN(strides...), Int1(offset)}, layouts...)...)
}

// regionSpread returns zeros of shape base with dy added in a region. Elements
// of the region that are one, because a stride is 0, hold the sum.
func (t *Tape) regionSpread(dy *tensor.Tensor, base shape.Shape, strides []int, offset int, layouts ...Arg) *tensor.Tensor {
	var repeated []int
	for d, size := range dy.Shape() {
		if size > 1 && strides[d] == 0 {
			repeated = append(repeated, d)
		}
	}
	if repeated != nil {
		dy = t.Sum(dy, repeated, true)
	}
	return t.Do("region_spread", []*tensor.Tensor{dy}, append([]Arg{IntsN(base...), IntsN(strides...), Int1(offset)}, layouts...)...)
}

// For y = region_set(base, src), dbase is dy with the region zeroed, and dsrc
// the region of dy.
func regionSetGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	s, strides, offset := shape.Shape(c.Args[0].Ints), c.Args[1].Ints, c.Args[2].Int
	return []*tensor.Tensor{
		t.Do("region_set", []*tensor.Tensor{dy[0], tensor.Number(0.0)}, c.Args...),
		t.SumTo(t.regionGet(dy[0], s, strides, offset, c.Args[3:]...), c.In[1].Shape()),
	}
}

func inferRegionGet(c *Call) error {
	s := shape.Shape(c.Args[0].Ints)
	if err := checkRegion(c, c.In[0].Shape(), s, c.Args[1].Ints, c.Args[2].Int); err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), s)
}

// checkRegion returns an error unless the region lies inside a base of the
// given shape.
func checkRegion(c *Call, base, s shape.Shape, strides []int, offset int) error {
	if len(strides) != len(s) {
		return c.Bad("strides", listText(strides), fmt.Sprintf("%d strides", len(s)), "")
	}
	last := offset
	for d, size := range s {
		if size < 0 || strides[d] < 0 {
			return c.Bad("shape", s.String(), "no negative size or stride", fmt.Sprintf("strides %v", strides))
		}
		last += (size - 1) * strides[d]
	}
	if s.Numel() > 0 && (offset < 0 || last >= base.Numel()) {
		return c.Bad("offset", fmt.Sprint(offset), fmt.Sprintf("a region inside %d elements", base.Numel()), fmt.Sprintf("shape %v, strides %s", s, listText(strides)))
	}
	return nil
}

func runRegionGet(c *Call) error {
	base, err := contiguous(c.Ctx, c.In[0])
	if err != nil {
		return c.memory(err)
	}
	c.Out[0] = base.View(c.Spec[0].Shape, c.Args[1].Ints, base.Offset()+c.Args[2].Int)
	return nil
}

func inferRegionSet(c *Call) error {
	base, s := c.In[0], shape.Shape(c.Args[0].Ints)
	if err := checkRegion(c, base.Shape(), s, c.Args[1].Ints, c.Args[2].Int); err != nil {
		return err
	}
	if err := fits(c, "src", c.In[1], s); err != nil {
		return err
	}
	return c.Result(base.DType(), base.Shape())
}

func runRegionSet(c *Call) error {
	y := c.Out[0]
	copyInto(y, c.In[0])
	copyInto(y.View(slices.Clone(c.Args[0].Ints), c.Args[1].Ints, y.Offset()+c.Args[2].Int), c.In[1])
	return nil
}

// fits returns an error unless x can be broadcast to s.
func fits(c *Call, param string, x *tensor.Tensor, s shape.Shape) error {
	if b, ok := shape.Broadcast(x.Shape(), s); ok && b.Equal(s) {
		return nil
	}
	return c.Bad(param, Describe(x), fmt.Sprintf("a shape that broadcasts to %v", s), "")
}

func inferRegionSpread(c *Call) error {
	base := shape.Shape(c.Args[0].Ints)
	if err := base.Check(c.In[0].DType().Size()); err != nil {
		return c.Bad("base", base.String(), "the shape of a tensor", "")
	}
	if err := checkRegion(c, base, c.In[0].Shape(), c.Args[1].Ints, c.Args[2].Int); err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), base)
}

func runRegionSpread(c *Call) error {
	src, y := c.In[0], c.Out[0]
	clear(y.Bytes())
	moveElements(y, strided{y.Offset() + c.Args[2].Int, c.Args[1].Ints}, src, stridedOf(src), src.Shape())
	return nil
}

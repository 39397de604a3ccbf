package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The operators behind x[...] with tensors, and behind x[...] = v.

func init() {
	register(&Def{
		Name:    "index",
		Surface: Internal,
		Doc: "index(x, index) returns a copy of the elements of x that an index tensor or a mask selects.\n" +
			"Scripts write x[index]. An int64 or int32 tensor takes indices of dim 0, negative\n" +
			"ones from the end: the result has the index's shape in place of dim 0. A bool\n" +
			"tensor has the shape of x's first dims, which become one: where it is true.",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "index", Kind: Tensor, Doc: "an int64, int32 or bool tensor"},
		},
		Infer: inferIndex,
		Run:   runIndex,
		Reads: ReadsInputs, // of the first its layout, which goes with its elements
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			s, index := c.In[0].Shape(), c.In[1]
			lead := 1
			if index.DType() == dtype.Bool {
				lead, index = index.Ndim(), c.places(t, index)
			}
			n, like := s[:lead].Numel(), t.like(c.In[0])
			if lead != 1 {
				like = nil
			}
			g := t.Reshape(dy[0], append(shape.Shape{index.Numel()}, s[lead:]...))
			g = t.indexSpread(g, 0, n, t.flat(index), like)
			return []*tensor.Tensor{t.Reshape(g, s), nil}
		},
		Shard:   indexRows,
		Local:   indexLocal,
		ByValue: byMask,
		Cost:    takes,
	})
	values := Param{Name: "value", Kind: Operand, Doc: "a tensor that broadcasts to what is replaced, or a number"}
	registerSet(&Def{Name: "setitem", Infer: inferSetitem, Grad: setitemGrad, Shard: setitemRows, Local: setitemLocal, Sited: anywhere, Cost: setCost(itemRegion)}, setitem,
		"setitem(x, index, value) returns a copy of x with value at one index of each of its first dims.",
		"setitem_(x, index, value) stores value in x at one index of each of its first dims, and returns x.\n"+
			"Scripts write x[i] = value and x[i, j] = value. Negative indices count from the\n"+
			"end; value is broadcast and converted.",
		[]Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "index", Kind: Ints, Doc: "an index of each of the first dims"},
			values,
		})
	registerSet(&Def{Name: "index_put", Infer: inferIndexPut, Grad: indexPutGrad, Shard: indexPutRows, Local: indexPutLocal, Sited: anywhere, Cost: setCost(putRegion),
		ByValue: func(c *Call) bool { return byMask(c) && c.In[2].Numel() != 1 }}, indexPut,
		"index_put(x, index, value) returns a copy of x with value at an index tensor or a mask.",
		"index_put_(x, index, value) stores value in x where an index tensor or a mask selects, and returns x.\n"+
			"Scripts write x[index] = value; see index. value is broadcast and converted; of\n"+
			"equal indices the last wins.",
		[]Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "index", Kind: Tensor, Doc: "an int64, int32 or bool tensor"},
			values,
		})
}

// registerSet registers d, which returns a copy of x in which run has replaced
// something, and the operator of the name with an underscore, which replaces it
// in x.
func registerSet(d *Def, run func(c *Call, y *tensor.Tensor) error, doc, docInPlace string, params []Param) {
	d.Surface, d.Doc, d.Params = Internal, doc, params
	d.Run = func(c *Call) error {
		copyInto(c.Out[0], c.In[0])
		return run(c, c.Out[0])
	}
	register(d)
	into := *d
	into.Name, into.Doc, into.InPlace, into.Base, into.Grad = d.Name+"_", docInPlace, true, d.Name, nil
	into.Run = func(c *Call) error { return run(c, c.In[0]) }
	register(&into)
}

// byMask reports whether In[1] is a mask.
func byMask(c *Call) bool { return c.In[1].DType() == dtype.Bool }

// inferIndex checks the index tensor In[1] of In[0].
func inferIndex(c *Call) error {
	s, err := selectedShape(c)
	if err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), s)
}

// selectedShape returns the shape of what the index tensor In[1] selects of In[0].
func selectedShape(c *Call) (shape.Shape, error) {
	x, index := c.In[0], c.In[1]
	s, is := x.Shape(), index.Shape()
	if index.DType() == dtype.Bool {
		if err := checkMaskOf(c, s, index); err != nil {
			return nil, err
		}
		n, err := c.countTrues("index", index)
		if err != nil {
			return nil, err
		}
		return append(shape.Shape{n}, s[len(is):]...), nil
	}
	if err := c.checkIndex("index", index, index.Ndim()); err != nil {
		return nil, c.Bad("index", Describe(index), "an int, or an int64, int32 or bool tensor", "")
	}
	if len(s) == 0 {
		return nil, c.Bad("index", Describe(index), "no index", "shape ()")
	}
	return slices.Concat(is, s[1:]), nil
}

// checkMaskOf returns an error unless mask has the shape of the first dims of s.
func checkMaskOf(c *Call, s shape.Shape, mask *tensor.Tensor) error {
	if is := mask.Shape(); len(is) > len(s) || !s[:len(is)].Equal(is) {
		return c.Bad("index", Describe(mask), fmt.Sprintf("the shape of the first dims of %v", s), "a mask")
	}
	return nil
}

// selectedBy returns what the index tensor In[1] selects of In[0].
func selectedBy(c *Call) (p selection, err error) {
	s, index := c.In[0].Shape(), c.In[1]
	if index.DType() != dtype.Bool {
		p.at, err = c.indices("index", index, 0, s)
		p.rows, p.size, p.width = 1, s[0], s[1:].Numel()
		return p, err
	}
	p.at, err = c.trues("index", index)
	p.rows, p.size, p.width = 1, index.Numel(), s[index.Ndim():].Numel()
	return p, err
}

func runIndex(c *Call) error {
	p, err := selectedBy(c)
	if err != nil {
		return err
	}
	if c.In[1].DType() == dtype.Bool {
		if err := c.savePlaces(p.at); err != nil {
			return err
		}
	}
	return p.take(c, c.Out[0], c.In[0])
}

// checkValue checks that value, of the parameter called "value", can be stored
// in a region of shape s of In[0]. Dims of size 1 in front of the region's
// are allowed.
func checkValue(c *Call, value *tensor.Tensor, s shape.Shape) error {
	if err := fits(c, "value", withoutOnes(value, len(s)), s); err != nil {
		return c.Bad("value", Describe(value), fmt.Sprintf("a shape that broadcasts to %v", s), "")
	}
	return c.checkNumber("value", value, c.In[0].DType())
}

// withoutOnes returns a view of x without dims of size 1 in front, if it has
// more than ndim dims.
func withoutOnes(x *tensor.Tensor, ndim int) *tensor.Tensor {
	lead := leadingOnes(x.Shape(), ndim)
	if lead == 0 {
		return x
	}
	return x.View(x.Shape()[lead:], x.Strides()[lead:], x.Offset())
}

// leadingOnes returns how many dims of size 1 in front of s are more than ndim
// dims.
func leadingOnes(s shape.Shape, ndim int) int {
	lead := 0
	for len(s)-lead > ndim && s[lead] == 1 {
		lead++
	}
	return lead
}

func inferSetitem(c *Call) error {
	w, err := item(c)
	if err != nil {
		return err
	}
	if err := checkValue(c, c.In[1], w.shape); err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), c.In[0].Shape())
}

// setitem stores the value in y, which has the shape of In[0].
func setitem(c *Call, y *tensor.Tensor) error {
	w, err := item(c)
	if err != nil {
		return err
	}
	value, err := c.apart(withoutOnes(c.In[1], len(w.shape)))
	if err != nil {
		return err
	}
	copyInto(w.view(y), value)
	return nil
}

// For y = setitem(x, value), dx is dy with zeros at the index, and dvalue is
// dy at the index.
func setitemGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, value := c.In[0], c.In[1]
	grads := make([]*tensor.Tensor, 2)
	if x.RequiresGrad() {
		grads[0] = t.Do("setitem", []*tensor.Tensor{dy[0], tensor.Number(0.0)}, c.Args...)
	}
	if value.RequiresGrad() {
		grads[1] = t.sumToValue(t.Do("getitem", dy, c.Args...), value)
	}
	return grads
}

// sumToValue returns g, the gradient of a region, as that of the value that
// was stored there.
func (t *Tape) sumToValue(g, value *tensor.Tensor) *tensor.Tensor {
	s := value.Shape()
	return t.Reshape(t.SumTo(g, s[leadingOnes(s, g.Ndim()):]), s)
}

func inferIndexPut(c *Call) error {
	if index := c.In[1]; index.DType() == dtype.Bool && index.Buffer() == nil && c.In[2].Numel() == 1 {
		if err := checkMaskOf(c, c.In[0].Shape(), index); err != nil {
			return err
		}
		return c.Result(c.In[0].DType(), c.In[0].Shape())
	}
	s, err := selectedShape(c)
	if err != nil {
		return err
	}
	if err := checkValue(c, c.In[2], s); err != nil {
		return err
	}
	return c.Result(c.In[0].DType(), c.In[0].Shape())
}

// indexPut stores the value in y, which has the shape of In[0].
func indexPut(c *Call, y *tensor.Tensor) error {
	p, err := selectedBy(c)
	if err != nil {
		return err
	}
	s, err := selectedShape(c)
	if err != nil {
		return err
	}
	whole, err := contiguous(c.Ctx, y)
	if err != nil {
		return c.memory(err)
	}
	if err := p.put(c, whole, withoutOnes(c.In[2], len(s)), s); err != nil {
		return err
	}
	if whole != y {
		copyInto(y, whole)
	}
	return nil
}

// For y = index_put(x, value), dx is dy with zeros at the indices, and dvalue
// is dy at the indices, with zeros where a later index is the same.
func indexPutGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	x, index, value := c.In[0], c.In[1], c.In[2]
	grads := make([]*tensor.Tensor, 3)
	if x.RequiresGrad() {
		grads[0] = t.Do("index_put", []*tensor.Tensor{dy[0], index, tensor.Number(0.0)})
	}
	if value.RequiresGrad() {
		g := t.Do("index", []*tensor.Tensor{dy[0], index})
		if index.DType() != dtype.Bool {
			column := append(slices.Clone(index.Shape()), make(shape.Shape, x.Ndim()-1)...)
			for d := index.Ndim(); d < len(column); d++ {
				column[d] = 1
			}
			g = t.onlyLast(g, index, column, x.Shape()[0])
		}
		grads[2] = t.sumToValue(g, value)
	}
	return grads
}

package op

import (
	"fmt"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Tensors made by a method of another, which says where they are: beside a plain tensor
// they are plain, beside a distributed one they lie on its mesh. One of the same shape is
// cut as that is, any other is whole on every rank.

func init() {
	register(&Def{
		Name:    "blank_beside",
		Surface: Internal,
		Doc:     "blank_beside(x, shape) returns bools of a shape, none true, whole on every rank that has a part of x.",
		Params:  []Param{{Name: "x", Kind: Tensor, Doc: "a tensor whose elements do not count"}, {Name: "shape", Kind: Ints, Doc: "the sizes"}},
		Infer:   func(c *Call) error { return c.create(0, dtype.Bool) },
		Run:     runZeros,
		Shard: func(c *Call) []Row {
			rows := unread(c)
			for d := range c.In[0].Shape() {
				row := rowOf(c)
				row.In[0] = mesh.Shard(d)
				rows = append(rows, row)
			}
			return rows
		},
		Cost: makes(0),
	})

	sizes := Param{Name: "shape", Kind: Sizes, Doc: "sizes"}
	dt := Param{Name: "dtype", Kind: OptDType, Doc: "a dtype, None for that of x", Default: Default(None)}
	const where = "Of a DTensor it is one, cut as x is if it has the same shape, and else whole on every rank.\n"
	for name, of := range map[string]string{"new_zeros": "zeros", "new_ones": "ones", "new_empty": "empty"} {
		compositeOf(&Def{Name: name, Surface: Method, Creates: true, Params: []Param{inX, sizes, dt},
			MakeDoc: func() string {
				return fmt.Sprintf("%s(x, *shape, dtype=None) returns a tensor that %s makes, of the dtype of x.\n%s>>> tensor([1]).%s(2).shape\n(2,)", name, of, where, name)
			}},
			func(m *maker) []*tensor.Tensor {
				dt := Int1(int(m.c.dtypeArg(1, m.x(0).DType())))
				if like := m.beside(m.c.Args[0].Ints); like != nil {
					return one(m.do(of+"_like", like, dt))
				}
				return one(m.Do(of, nil, m.c.Args[0], dt))
			})
	}
	compositeOf(&Def{Name: "new_full", Surface: Method, Creates: true, Params: []Param{inX, {Name: "shape", Kind: Ints, Doc: "sizes"}, {Name: "fill_value", Kind: Operand, Doc: "a number, or a tensor of one element"}, dt},
		Doc: "new_full(x, shape, fill_value, dtype=None) returns a tensor that full makes, of the dtype of x.\n" + where + ">>> tensor([1]).new_full([2], 3).tolist()\n[3, 3]"},
		func(m *maker) []*tensor.Tensor {
			dt := Int1(int(m.c.dtypeArg(1, m.x(0).DType())))
			if like := m.beside(m.c.Args[0].Ints); like != nil {
				return one(m.do2("full_like", like, m.x(1), dt))
			}
			return one(m.Do("full", one(m.x(1)), m.c.Args[0], dt))
		})
}

// beside returns a tensor of shape s that lies where one made beside x, the first input,
// is to lie; nil if x is plain.
func (m *maker) beside(s shape.Shape) *tensor.Tensor {
	x := m.x(0)
	if !x.Placed() {
		return nil
	}
	if x.DType().IsComplex() {
		x = m.realPart(x)
	}
	if x.Shape().Equal(s) {
		return x
	}
	return m.do("blank_beside", x, IntsN(s...))
}

package op

import (
	"fmt"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A complex element is two floats that lie side by side, the real part first. So a
// complex tensor is seen as a real one with a last dim of 2, and back, without a
// copy. Arithmetic on complex tensors is that of their parts; see complexForms.

func init() {
	register(&Def{
		Name:    "view_as_real",
		Surface: Function,
		Doc: "view_as_real(x) returns a complex tensor as floats with a last dim of 2, real and imaginary part, sharing its storage.\n" +
			">>> view_as_real(tensor([complex(1, 2)])).tolist()\n[[1.0, 2.0]]",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a complex tensor"}},
		View:   true,
		Infer: func(c *Call) error {
			x := c.In[0]
			if !x.DType().IsComplex() {
				return c.Bad("x", Describe(x), "a complex tensor", "")
			}
			return c.Result(x.DType().Real(), append(slices.Clone(x.Shape()), 2))
		},
		Run: func(c *Call) error {
			x := c.In[0]
			strides := make([]int, 0, len(x.Strides())+1)
			for _, n := range x.Strides() {
				strides = append(strides, 2*n)
			}
			c.Out[0] = x.As(c.Spec[0].DType, c.Spec[0].Shape, append(strides, 1), 2*x.Offset())
			return nil
		},
		Grad: func(t *Tape, _ *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.unary("view_as_complex", t.unary("contiguous", dy[0])))
		},
		Shard: partsRows,
	})
	register(&Def{
		Name:    "view_as_complex",
		Surface: Function,
		Doc: "view_as_complex(x) returns floats with a last dim of 2, real and imaginary part, as a complex tensor, sharing its storage.\n" +
			"The two parts lie side by side, as those of a contiguous tensor do.\n" +
			">>> view_as_complex(tensor([[1.0, 2.0]]))\n[1.+2.j]",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a float32 or float64 tensor [.., 2]"}},
		View:   true,
		Infer: func(c *Call) error {
			x := c.In[0]
			s := x.Shape()
			if len(s) == 0 || s[len(s)-1] != 2 || !x.DType().IsFloat() || x.DType().IsHalf() {
				return c.Bad("x", Describe(x), "a float32 or float64 tensor with a last dim of size 2", "")
			}
			return c.Result(x.DType().Complex(), s[:len(s)-1])
		},
		Run: func(c *Call) error {
			x, n := c.In[0], len(c.Spec[0].Shape)
			strides, whole := make([]int, n), x.Offset()%2 == 0 && x.Strides()[n] == 1
			for i := range strides {
				strides[i] = x.Strides()[i] / 2
				whole = whole && (x.Strides()[i]%2 == 0 || x.Shape()[i] == 1)
			}
			if !whole && x.Numel() > 0 {
				return c.Bad("x", fmt.Sprintf("strides %v from element %d", x.Strides(), x.Offset()), "parts that lie side by side", ".contiguous() puts them so")
			}
			c.Out[0] = x.As(c.Spec[0].DType, c.Spec[0].Shape, strides, x.Offset()/2)
			return nil
		},
		Grad: func(t *Tape, _ *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return one(t.unary("view_as_real", dy[0]))
		},
		Shard: partsRows,
	})
}

// partsRows is the rule of the views between complex tensors and their parts: all
// dims but that of the parts may be cut, and a sum of parts is one of pairs.
func partsRows(c *Call) []Row {
	n := min(len(c.In[0].Shape()), len(c.Spec[0].Shape))
	var rows []Row
	for d := range n {
		rows = append(rows, cutting(c, d, d))
	}
	return append(rows, together(c, mesh.Sum, mesh.Mean)...)
}

// pair returns the complex tensor of two parts, of one shape and dtype.
func (t *Tape) pair(re, im *tensor.Tensor) *tensor.Tensor {
	y := t.Do("stack", []*tensor.Tensor{re, im}, Int1(len(re.Shape())))
	return t.unary("view_as_complex", y)
}

// realPart and imagPart return the parts of a complex tensor, sharing its storage.
func (t *Tape) realPart(x *tensor.Tensor) *tensor.Tensor { return t.part(x, 0) }
func (t *Tape) imagPart(x *tensor.Tensor) *tensor.Tensor { return t.part(x, 1) }

func (t *Tape) part(x *tensor.Tensor, i int) *tensor.Tensor {
	return t.Do("select", one(t.unary("view_as_real", x)), Int1(len(x.Shape())), Int1(i))
}

// broadcastShape returns the shape of an operation on x and y; nil where they do
// not fit, which the operation then says.
func broadcastShape(x, y *tensor.Tensor) shape.Shape {
	s, _ := shape.Broadcast(x.Shape(), y.Shape())
	return s
}

package op

import (
	"fmt"
	goruntime "runtime"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/conv"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A convolution has three tensors, of which each is a sum of products of the other
// two: x [n, c, ..], weight [o, c / groups, ..] and y [n, o, ..], or the gradients of
// these. There is an operator for each, and the gradients of one are the other two.
type convolved int

const (
	convX convolved = iota
	convWeight
	convY
)

// A convolver is the operator that makes one of the three.
type convolver struct {
	name, what string
	of         [2]convolved
	room       func(s *conv.Shape) int
}

var convolvers = [...]convolver{
	convX:      {"convolve_data", "the gradient of x", [2]convolved{convY, convWeight}, (*conv.Shape).DataRoom},
	convWeight: {"convolve_weight", "the gradient of weight", [2]convolved{convX, convY}, (*conv.Shape).WeightRoom},
	convY:      {"convolve", "y", [2]convolved{convX, convWeight}, (*conv.Shape).ForwardRoom},
}

func init() {
	params := [...]Param{
		convX:      {Name: "x", Kind: Tensor, Doc: "a float tensor [n, c, ..]"},
		convWeight: {Name: "weight", Kind: Tensor, Doc: "a float tensor [o, c / groups, ..]"},
		convY:      {Name: "y", Kind: Tensor, Doc: "a float tensor [n, o, ..]"},
	}
	for to, op := range convolvers {
		a, b := params[op.of[0]], params[op.of[1]]
		register(&Def{
			Name:    op.name,
			Surface: Internal,
			MakeDoc: func() string {
				return fmt.Sprintf("%s(%s, %s, sizes, stride, before, dilation, groups) returns %s of the convolution y of x and weight, of the given last sizes.\n"+
					"Element t of window p stands at p stride + t dilation - before of x, and outside is 0.\n"+
					"groups 0 is for as many groups as weight has in dim 0. The order of sums is that of\n"+
					"package conv.", op.name, a.Name, b.Name, op.what)
			},
			Params: []Param{a, b,
				{Name: "sizes", Kind: Ints, Doc: "the last dims of the result"},
				{Name: "stride", Kind: Ints, Doc: "how far apart windows are"},
				{Name: "before", Kind: Ints, Doc: "how many zeros are in front of x"},
				{Name: "dilation", Kind: Ints, Doc: "how far apart the elements of a window are"},
				{Name: "groups", Kind: Int, Doc: "into how many parts channels are split, or 0"}},
			Infer: func(c *Call) error { return inferConvolver(c, convolved(to)) },
			Run:   func(c *Call) error { return runConvolver(c, convolved(to)) },
			Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
				return convolverGrad(t, c, dy[0], convolved(to))
			},
			Apart:  true,
			Reads:  ReadsFactors,
			Shard:  func(c *Call) []Row { return convolverRows(c, convolved(to)) },
			Spoils: spoilsProduct,
			Cost:   func(c *Call) Cost { return convolverCost(c, convolved(to)) },
		})
	}
}

// inferConvolver checks a call that makes to.
func inferConvolver(c *Call, to convolved) error {
	a, b, sizes := c.In[0], c.In[1], c.Args[0].Ints
	for i, x := range c.In {
		if err := c.checkFloat(c.InName(i), x); err != nil {
			return err
		}
		if n := len(sizes) + 2; x.Ndim() != n {
			return c.Bad(c.InName(i), Describe(x), fmt.Sprintf("a tensor of %d dims", n), "2 and one for each of sizes")
		}
	}
	if n := len(sizes); n < 1 || n > 3 || len(c.Args[1].Ints) != n || len(c.Args[2].Ints) != n || len(c.Args[3].Ints) != n {
		return c.Bad("sizes", listText(sizes), "1 to 3 ints", "as many as stride, before and dilation have")
	}
	if slices.Min(sizes) < 0 || slices.Min(c.Args[1].Ints) < 1 || slices.Min(c.Args[3].Ints) < 1 || c.Args[4].Int < 0 {
		return c.Bad("sizes", listText(sizes), "ints from 0, with strides and dilations from 1", "")
	}
	lead, fits := convolverLead(a.Shape(), b.Shape(), c.Args[4].Int, to)
	if !fits {
		return c.Bad(c.InName(1), Describe(b), "channels that fit "+c.InName(0), fmt.Sprintf("%s is %s, groups %d", c.InName(0), Describe(a), c.Args[4].Int))
	}
	return c.Result(promote(c.Ctx, a, b), append(lead, sizes...))
}

// convolverLead returns the first two dims of what is made of tensors of shapes a and
// b, and whether these fit together.
func convolverLead(a, b shape.Shape, groups int, to convolved) (lead shape.Shape, fits bool) {
	if groups == depthwise {
		switch to {
		case convWeight:
			return shape.Shape{b[1], 1}, a[0] == b[0] && a[1] == b[1]
		default:
			return shape.Shape{a[0], b[0]}, a[1] == b[0] && b[1] == 1
		}
	}
	switch to {
	case convY:
		return shape.Shape{a[0], b[0]}, a[1] == b[1]*groups && b[0]%groups == 0
	case convX:
		return shape.Shape{a[0], b[1] * groups}, a[1] == b[0] && b[0]%groups == 0
	}
	return shape.Shape{b[1], a[1] / groups}, a[0] == b[0] && a[1]%groups == 0 && b[1]%groups == 0
}

// convolverShapes returns the shapes of the three tensors of a call.
func convolverShapes(c *Call, to convolved) (s [3]shape.Shape) {
	s[to] = c.Spec[0].Shape
	for i, from := range convolvers[to].of {
		s[from] = c.In[i].Shape()
	}
	return s
}

// convolution returns the sizes of a call that makes to.
func (c *Call) convolution(to convolved) conv.Shape {
	s := convolverShapes(c, to)
	sizes := conv.Shape{Images: s[convX][0], Channels: s[convX][1], Outputs: s[convY][1], Groups: c.Args[4].Int}
	if sizes.Groups == depthwise {
		sizes.Groups = s[convWeight][0]
	}
	for d := range 3 {
		sizes.In[d], sizes.Size[d], sizes.Out[d], sizes.Stride[d], sizes.Dilation[d] = 1, 1, 1, 1, 1
	}
	n := len(c.Args[0].Ints)
	for i := range n {
		d := 3 - n + i
		sizes.In[d], sizes.Size[d], sizes.Out[d] = s[convX][2+i], s[convWeight][2+i], s[convY][2+i]
		sizes.Stride[d], sizes.Before[d], sizes.Dilation[d] = c.Args[1].Ints[i], c.Args[2].Ints[i], c.Args[3].Ints[i]
	}
	return sizes
}

func runConvolver(c *Call, to convolved) error {
	if c.Out[0].DType().Compute() == dtype.Float64 {
		return convolve[float64](c, to)
	}
	return convolve[float32](c, to)
}

// convolve computes a call that makes to.
func convolve[T dtype.Float](c *Call, to convolved) error {
	dt := c.Out[0].DType().Compute()
	a, err := c.inOrder(c.In[0], dt)
	if err != nil {
		return err
	}
	b, err := c.inOrder(c.In[1], dt)
	if err != nil {
		return err
	}
	out, err := c.newOutput(c.Out[0], dt)
	if err != nil {
		return err
	}
	s := c.convolution(to)
	room, err := c.room(dt, shape.Shape{convolvers[to].room(&s)})
	if err != nil {
		return err
	}
	run := [...]func(*crew.Workers, conv.Shape, []T, []T, []T, []T){convX: conv.Data[T], convWeight: conv.Weight[T], convY: conv.Forward[T]}[to]
	run(c.Ctx.Workers, s, tensor.Data[T](out.room), tensor.Data[T](a), tensor.Data[T](b), tensor.Data[T](room))
	room.Buffer().Discard()
	out.done()
	goruntime.KeepAlive(a)
	goruntime.KeepAlive(b)
	return nil
}

// convolverGrad: as the result is linear in each input, and dy stands in its place,
// the gradient of an input is what is made of dy and the other one.
func convolverGrad(t *Tape, c *Call, dy *tensor.Tensor, to convolved) []*tensor.Tensor {
	var have [3]*tensor.Tensor
	have[to] = dy
	of := convolvers[to].of
	have[of[0]], have[of[1]] = c.In[0], c.In[1]
	grads := make([]*tensor.Tensor, 2)
	for i, wanted := range of {
		if x := c.In[i]; x.RequiresGrad() {
			op := convolvers[wanted]
			args := append([]Arg{IntsN(x.Shape()[2:]...)}, c.Args[1:]...)
			grads[i] = t.Do(op.name, []*tensor.Tensor{have[op.of[0]], have[op.of[1]]}, args...)
		}
	}
	return grads
}

// convolverRows: a sum of products over dims n, o and c. Of groups, these are as many
// as channels where c is cut, and else are not cut.
func convolverRows(c *Call, to convolved) []Row {
	letters := [...]string{convX: "n", convWeight: "", convY: "n"}
	switch c.Args[4].Int {
	case depthwise:
		letters = [...]string{convX: "nc", convWeight: "c", convY: "nc"}
	case 1:
		letters = [...]string{convX: "nc", convWeight: "oc", convY: "no"}
	}
	of := convolvers[to].of
	return letterRows(c, []string{letters[of[0]], letters[of[1]]}, letters[to])
}

// convolverCost: each element of y is a product of as many as a window has, in all
// three.
func convolverCost(c *Call, to convolved) Cost {
	s := convolverShapes(c, to)
	places, window := s[convY][2:].Numel(), s[convWeight][1:].Numel()
	groups := c.Args[4].Int
	if groups == depthwise {
		groups = s[convWeight][0]
	}
	groups = max(groups, 1)
	n, outputs := s[convX][0], s[convY][1]/groups
	switch to {
	case convY:
		return c.productCost(Product{n * groups, outputs, places, window})
	case convWeight:
		return c.productCost(Product{groups, outputs, window, n * places})
	}
	return c.productCost(Product{n * groups, window, places, outputs})
}

package colossal

import (
	"slices"

	"tpsh/builtins"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// The operators behind the rules, looked up once.
var (
	matmulOp = op.Lookup("matmul")
	addOp    = op.Lookup("add")
	mulOp    = op.Lookup("mul")
)

// first applies an operator and returns its first result.
func (c *opCall) first(d *op.Def, in []*tensor.Tensor, args []op.Arg) (*tensor.Tensor, error) {
	out, err := c.env.Runtime.Apply(d, in, args)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// linear is the rule of linear(x, weight, bias), weight [out, in]. A weight cut
// along in takes x cut along its last dim: the products are added up, and the
// bias is added once. One cut along out takes the whole of x and gives results
// cut along their last dim.
func (c *opCall) linear() ([]*tensor.Tensor, error) {
	s, err := c.mannerOf(1, -1, 0)
	if err != nil {
		return nil, err
	}
	if err := c.addend(2, s, false); err != nil {
		return nil, err
	}
	if err := c.takes(0, s); err != nil {
		return nil, err
	}
	if s != rowwise {
		y, err := c.first(c.def, c.in, c.args)
		if err != nil {
			return nil, err
		}
		return c.finish(y, s, 1)
	}
	y, err := c.first(c.def, []*tensor.Tensor{c.in[0], c.in[1], nil}, c.args)
	if err != nil {
		return nil, err
	}
	if y, err = replicated(c.env, y); err == nil && c.in[2] != nil {
		y, err = c.first(addOp, []*tensor.Tensor{y, c.in[2]}, nil)
	}
	return []*tensor.Tensor{y}, err
}

// addmm is the rule of addmm(c, a, b, beta, alpha), b [in, out], as that of
// linear: where b is cut along in, beta c is added once.
func (c *opCall) addmm() ([]*tensor.Tensor, error) {
	s, err := c.mannerOf(2, 0, -1)
	if err != nil {
		return nil, err
	}
	if err := c.addend(0, s, true); err != nil {
		return nil, err
	}
	if err := c.takes(1, s); err != nil {
		return nil, err
	}
	if s != rowwise {
		y, err := c.first(c.def, c.in, c.args)
		if err != nil {
			return nil, err
		}
		return c.finish(y, s, 2)
	}
	y, err := c.first(matmulOp, c.in[1:3], nil)
	if err != nil {
		return nil, err
	}
	if y, err = replicated(c.env, y); err != nil {
		return nil, err
	}
	if y, err = c.scaled(y, c.args[1]); err != nil || c.args[0].Float == 0 {
		return []*tensor.Tensor{y}, err
	}
	z, err := c.scaled(c.in[0], c.args[0])
	if err == nil {
		y, err = c.first(addOp, []*tensor.Tensor{z, y}, nil)
	}
	return []*tensor.Tensor{y}, err
}

// scaled returns x times a factor.
func (c *opCall) scaled(x *tensor.Tensor, factor op.Arg) (*tensor.Tensor, error) {
	if factor.Float == 1 {
		return x, nil
	}
	by := tensor.Number(factor.Float)
	if !x.DType().IsFloat() {
		by = tensor.Number(int64(factor.Float))
	}
	return c.first(mulOp, []*tensor.Tensor{x, by}, nil)
}

// embedding is the rule of embedding(x, weight) and embedding_bag(x, weight),
// weight [rows, features]: cut along rows, the parts of the result are added up;
// along features, the result is cut along its last dim.
func (c *opCall) embedding() ([]*tensor.Tensor, error) {
	s, err := c.mannerOf(1, 0, -1)
	if err != nil {
		return nil, err
	}
	if s != alone {
		if err := c.replicate(0); err != nil {
			return nil, err
		}
	}
	y, err := c.first(c.def, c.in, c.args)
	if err != nil {
		return nil, err
	}
	return c.finish(y, s, 1)
}

// normalize is the rule of layer_norm and batch_norm, which take x whole.
func (c *opCall) normalize() ([]*tensor.Tensor, error) {
	if err := c.replicate(0); err != nil {
		return nil, err
	}
	return c.plain()
}

// crossEntropy is the rule of cross_entropy. Whatever dims are cut, its loss is
// that of the whole. Where classes are cut, the greatest of them, the sum of
// their exponentials and the one that the target names are each made whole as
// soon as they are there, by one all-reduce: the gradient then takes none.
func (c *opCall) crossEntropy() (out []*tensor.Tensor, err error) {
	if err := c.onlyTP1D(0); err != nil {
		return nil, err
	}
	x := c.in[0]
	if !isColo(x) || !slices.Contains(specOf(c.env, x).dims, min(x.Ndim()-1, 1)) {
		return c.plain()
	}
	defer op.Recover(&err)
	call := &op.Call{Def: c.def, Ctx: c.env.Runtime.Ops(), In: c.in, Args: c.args}
	if out = c.def.Compose(&op.Tape{A: settling{c.env}}, call); out == nil {
		return c.plain()
	}
	return out, nil
}

// settling applies operators whose results are settled at once.
type settling struct{ env *builtins.Env }

// Apply implements op.Applier.
func (s settling) Apply(d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*tensor.Tensor, error) {
	out, err := s.env.Runtime.Apply(d, in, args)
	for i := range out {
		if err == nil && !d.InPlace {
			out[i], err = settled(s.env, out[i])
		}
	}
	return out, err
}

// reshape is the rule of reshape and view. A tensor that is cut along dim 0, or
// along its last one, and keeps the size of that dim is cut as before; any other
// that is cut is gathered.
func (c *opCall) reshape() ([]*tensor.Tensor, error) {
	x := c.in[0]
	if dims, _, _ := layoutDims(x.Layout()); len(dims) == 0 {
		return c.plain()
	}
	call := &op.Call{Def: c.def, Ctx: c.env.Runtime.Ops(), In: []*tensor.Tensor{tensor.ShapeOnly(x.DType(), x.Shape())}, Args: c.args}
	if err := c.def.Infer(call); err != nil {
		return nil, err
	}
	if keepsCut(x, call.Spec[0].Shape) {
		return c.plain()
	}
	if err := c.replicate(0); err != nil {
		return nil, err
	}
	out, err := c.plain()
	if err == nil {
		out[0].Copied = out[0].Copied || out[0].Buffer() != x.Buffer()
	}
	return out, err
}

// keepsCut reports whether the dim along which x is cut, its first or last one,
// has the same place and size in the shape to.
func keepsCut(x *tensor.Tensor, to []int) bool {
	dim, one := oneCut(x)
	from := x.Shape()
	if !one || len(to) == 0 {
		return false
	}
	last := len(from) - 1
	return dim == 0 && to[0] == from[0] || dim == last && to[len(to)-1] == from[last]
}

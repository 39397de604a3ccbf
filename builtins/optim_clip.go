package builtins

import (
	"math"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Row{
		Name: "optim.clip_grad_norm_",
		Doc: "clip_grad_norm_(params, max_norm, norm_type=2.0) scales the gradients of params so that their norm, as one vector, is at most max_norm, and returns the norm before, a tensor of shape ().\n" +
			"params is a tensor or a list of tensors; those without a gradient are left out. They are\n" +
			"multiplied by max_norm / (norm + 1e-6), if that is less than 1. norm_type is the order\n" +
			"of the norm; float(\"inf\") makes it the greatest absolute value.\n" +
			">>> w = zeros(2, requires_grad=True)\n" +
			">>> w.grad = tensor([3.0, 4.0])\n" +
			">>> optim.clip_grad_norm_([w], max_norm=2.5).item()\n5.0\n" +
			">>> w.grad\n[1.4999998 1.9999996]",
		Fn: clipGradNorm,
	})
}

func clipGradNorm(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		params tensors
		most   arg.Float
		order  = arg.Float(2)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "params|parameters", &params, "max_norm", &most, "norm_type?", &order); err != nil {
		return nil, err
	}
	if !(most >= 0) {
		return nil, &op.ArgError{Func: b.Name(), Param: "max_norm", Got: arg.Show(starlark.Float(most)), Want: "a non-negative number"}
	}
	if !(order > 0) {
		return nil, &op.ArgError{Func: b.Name(), Param: "norm_type", Got: arg.Show(starlark.Float(order)), Want: "a positive number"}
	}
	var grads []*tensor.Tensor
	for _, t := range params {
		if t.Auto != nil && t.Auto.Grad != nil {
			if err := checkFrozen(b.Name(), t); err != nil {
				return nil, err
			}
			grads = append(grads, t.Auto.Grad)
		}
	}
	defer e.rank.Tape.SetEnabled(false)()
	c := &chain{e: e, fn: b.Name()}
	norm := c.norm(grads, float64(order))
	c.clip(grads, norm, float64(most))
	if c.err != nil {
		return nil, c.err
	}
	return e.wrap(norm), nil
}

// norm returns the norm of the elements of list, the norm of the norms.
func (c *chain) norm(list []*tensor.Tensor, order float64) *tensor.Tensor {
	of := func(x *tensor.Tensor) *tensor.Tensor {
		return c.do("norm", []*tensor.Tensor{x}, op.Float1(order), op.None, op.Bool1(false))
	}
	var norms []*tensor.Tensor
	for _, x := range list {
		if x.Numel() > 0 || !math.IsInf(order, 0) {
			norms = append(norms, of(x))
		}
	}
	if len(norms) == 0 {
		return c.do("zeros", nil, op.IntsN(), op.None)
	}
	if c.err != nil {
		return nil
	}
	return of(c.do("stack", norms, op.Int1(0)))
}

// clip scales list, whose norm is norm, down to a norm of most.
func (c *chain) clip(list []*tensor.Tensor, norm *tensor.Tensor, most float64) {
	divisor := c.do("add", []*tensor.Tensor{norm, tensor.Number(1e-6)})
	factor := c.do("div", []*tensor.Tensor{tensor.Number(most), divisor})
	factor = c.do("clamp", []*tensor.Tensor{factor}, op.None, op.Float1(1))
	for _, x := range list {
		c.do("mul_", []*tensor.Tensor{x, factor})
	}
}

package nn

import (
	"math"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{
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

func clipGradNorm(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		params builtins.TensorValues
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
	var all []*tensor.Tensor
	var classes []*gradClass
	for _, x := range params {
		t, err := Leaf(x)
		if err == nil {
			err = builtins.CheckFrozen(b.Name(), t)
		}
		if err != nil {
			return nil, err
		}
		if t.Auto == nil || t.Auto.Grad == nil {
			continue
		}
		over, err := storeOf(x).GradGroups(x, t)
		if err != nil {
			return nil, err
		}
		all = append(all, t.Auto.Grad)
		classes = addGrad(classes, over, t.Auto.Grad)
	}
	defer e.Runtime.Tape.SetEnabled(false)()
	c := &builtins.OpChain{E: e, Fn: b.Name()}
	var norm *tensor.Tensor
	_ = e.Runtime.Optimizing(func() error {
		norm = normOfAll(c, classes, float64(order))
		clip(c, all, norm, float64(most))
		return c.Err
	})
	if c.Err != nil {
		return nil, c.Err
	}
	return e.Wrap(norm), nil
}

// A gradClass is gradients that lie over the same ranks: plain ones, of which the
// ranks of some groups may have parts, or distributed ones on one mesh.
type gradClass struct {
	mesh *mesh.Mesh       // nil for plain ones
	over []*runtime.Group // the norm is that of the norms of their members, in turn
	list []*tensor.Tensor
}

// addGrad adds g to the class of those that lie over the same mesh and groups.
func addGrad(classes []*gradClass, over []*runtime.Group, g *tensor.Tensor) []*gradClass {
	var m *mesh.Mesh
	if g.Placed() {
		m = g.Layout().Mesh()
	}
	for _, c := range classes {
		if c.mesh == m && slices.Equal(c.over, over) {
			c.list = append(c.list, g)
			return classes
		}
	}
	return append(classes, &gradClass{m, over, []*tensor.Tensor{g}})
}

// normOfAll returns the norm of the elements of classes, which ranks have parts
// of: a distributed tensor if all are on one mesh, else a plain one.
func normOfAll(c *builtins.OpChain, classes []*gradClass, order float64) *tensor.Tensor {
	var norms []*tensor.Tensor
	for _, class := range classes {
		n := norm(c, class.list, order)
		for _, g := range class.over {
			n = c.Do("reshape", []*tensor.Tensor{n}, op.IntsN(1))
			if c.Err != nil {
				return nil
			}
			all, err := c.E.Runtime.Run(g, runtime.Collective{Op: "all_gather"}, n)
			c.Fail(err)
			n = c.Do("norm", []*tensor.Tensor{all}, op.Float1(order), op.None, op.Bool1(false))
		}
		if c.Err == nil && len(classes) > 1 {
			var err error
			n, err = c.E.Whole(c.Fn, n)
			c.Fail(err)
		}
		norms = append(norms, n)
	}
	if len(norms) == 1 {
		return norms[0]
	}
	if c.Err != nil {
		return nil
	}
	return norm(c, norms, order)
}

// norm returns the norm of the elements of list, the norm of the norms.
func norm(c *builtins.OpChain, list []*tensor.Tensor, order float64) *tensor.Tensor {
	of := func(x *tensor.Tensor) *tensor.Tensor {
		return c.Do("norm", []*tensor.Tensor{x}, op.Float1(order), op.None, op.Bool1(false))
	}
	var norms []*tensor.Tensor
	for _, x := range list {
		if x.Numel() > 0 || !math.IsInf(order, 0) {
			norms = append(norms, of(x))
		}
	}
	if len(norms) == 0 {
		return c.Do("zeros", nil, op.IntsN(), op.None)
	}
	if c.Err != nil {
		return nil
	}
	return of(c.Do("stack", norms, op.Int1(0)))
}

// clip scales list, whose norm is norm, down to a norm of most.
func clip(c *builtins.OpChain, list []*tensor.Tensor, norm *tensor.Tensor, most float64) {
	divisor := c.Do("add", []*tensor.Tensor{norm, tensor.Number(1e-6)})
	factor := c.Do("div", []*tensor.Tensor{tensor.Number(most), divisor})
	factor = c.Do("clamp", []*tensor.Tensor{factor}, op.None, op.Float1(1))
	for _, x := range list {
		c.Do("mul_", []*tensor.Tensor{x, factor})
	}
}

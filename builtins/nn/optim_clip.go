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

const docGradients = "params is a tensor or a list of tensors; those without a gradient are left out."

func init() {
	example := func(module string) string {
		return ">>> w = zeros(2, requires_grad=True)\n" +
			">>> w.grad = tensor([3.0, 4.0])\n" +
			">>> " + module + ".clip_grad_norm_([w], max_norm=2.5).item()\n5.0\n" +
			">>> w.grad\n[1.4999998 1.9999996]"
	}
	builtins.Register(&builtins.Row{
		Name: "optim.clip_grad_norm_",
		Doc: "clip_grad_norm_(params, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None) scales the gradients of params so that their norm, as one vector, is at most max_norm, and returns the norm before, a tensor of shape ().\n" +
			docGradients + " They are\n" +
			"multiplied by max_norm / (norm + 1e-6), if that is less than 1. norm_type is the order\n" +
			"of the norm; float(\"inf\") makes it the greatest absolute value. With error_if_nonfinite a\n" +
			"norm that is infinite or NaN is an error, and no gradient changes. foreach changes nothing.\n" + example("optim"),
		Fn: clipGradNorm,
	}, &builtins.Row{
		Name: "nn.utils.clip_grad_norm_",
		Doc: "clip_grad_norm_(params, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None) returns what optim.clip_grad_norm_ does, which it is.\n" +
			example("nn.utils"),
		Fn: clipGradNorm,
	}, &builtins.Row{
		Name: "nn.utils.get_total_norm",
		Doc: "get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None) returns the norm of tensors as one vector, a tensor of shape (), unrecorded.\n" +
			"Of gradients that fully_shard has left in parts it is that of this rank's parts: optim.clip_grad_norm_,\n" +
			"which is given parameters, knows of the other ranks' and returns the norm of all.\n" +
			">>> nn.utils.get_total_norm([tensor([3.0]), tensor([4.0])])\n5.0",
		Fn: totalNorm,
	}, &builtins.Row{
		Name: "nn.utils.clip_grads_with_norm_",
		Doc: "clip_grads_with_norm_(params, max_norm, total_norm, foreach=None) returns None and multiplies the gradients of params by max_norm / (total_norm + 1e-6), if that is less than 1.\n" +
			docGradients + " total_norm\nis a tensor of shape (), of get_total_norm.\n" +
			">>> w = zeros(1, requires_grad=True)\n" +
			">>> w.grad = tensor([3.0])\n" +
			">>> nn.utils.clip_grads_with_norm_([w], 1.0, tensor(6.0))\n" +
			">>> fmt(w.grad, \".4f\")\n\"0.5000\"",
		Fn: clipGradsWithNorm,
	}, &builtins.Row{
		Name: "nn.utils.clip_grad_value_",
		Doc: "clip_grad_value_(params, clip_value, foreach=None) returns None and brings the elements of the gradients of params into the range from -clip_value to clip_value.\n" +
			docGradients + "\n" +
			">>> w = zeros(3, requires_grad=True)\n" +
			">>> w.grad = tensor([-3.0, 0.5, 4.0])\n" +
			">>> nn.utils.clip_grad_value_([w], 1.0)\n" +
			">>> w.grad\n[-1.   0.5  1. ]",
		Fn: clipGradValue,
	})
}

// A normOrder says which norm is taken, and whether it has to be finite.
type normOrder struct {
	order  arg.Float
	finite arg.Bool
	each   starlark.Value // changes nothing
}

func newNormOrder() *normOrder { return &normOrder{order: 2, each: starlark.None} }

// pairs returns what arg.Unpack reads it by.
func (n *normOrder) pairs() []any {
	return []any{"norm_type?", &n.order, "error_if_nonfinite?", &n.finite, "foreach?", &n.each}
}

// check refuses, for the function fn, an order that is none.
func (n *normOrder) check(fn string) error {
	if err := truthOrNone(n.each); err != nil {
		return arg.In(fn, "foreach", err)
	}
	if !(n.order > 0) {
		return &op.ArgError{Func: fn, Param: "norm_type", Got: arg.Show(starlark.Float(n.order)), Want: "a positive number"}
	}
	return nil
}

// checkNorm refuses a norm that is not finite, where it has to be. A plan has none.
func (n *normOrder) checkNorm(c *builtins.OpChain, norm *tensor.Tensor) error {
	if !bool(n.finite) || norm.Hollow() {
		return nil
	}
	v, err := builtins.Nested(c.E, c.Fn, norm)
	if err != nil {
		return err
	}
	if f, _ := starlark.AsFloat(v); math.IsNaN(f) || math.IsInf(f, 0) {
		return &op.ArgError{Func: c.Fn, Got: "gradients whose norm is " + arg.Show(starlark.Float(f)), Want: "a finite norm", Rule: "error_if_nonfinite=False scales them all the same"}
	}
	return nil
}

// gradsOf returns the gradients of params, and which of them lie over the same
// ranks, for the function fn that changes them.
func gradsOf(fn string, params builtins.TensorValues) (all []*tensor.Tensor, classes []*gradClass, err error) {
	for _, x := range params {
		t, err := Leaf(x)
		if err == nil {
			err = builtins.CheckFrozen(fn, t)
		}
		if err != nil {
			return nil, nil, err
		}
		if t.Auto == nil || t.Auto.Grad == nil {
			continue
		}
		over, err := storeOf(x).GradGroups(x, t)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, t.Auto.Grad)
		classes = addGrad(classes, over, t.Auto.Grad)
	}
	return all, classes, nil
}

// optimizing calls f, unrecorded and as part of an optimiser's step, with a chain
// of operators for the function fn. A norm over all ranks is what it is called for.
func optimizing(e *builtins.Env, fn string, f func(c *builtins.OpChain)) error {
	defer e.Runtime.Tape.SetEnabled(false)()
	defer e.Runtime.Shard.AskedFor()()
	c := &builtins.OpChain{E: e, Fn: fn}
	return e.Runtime.Optimizing(func() error { f(c); return c.Err })
}

// maxNorm checks a greatest norm, for the function fn.
func maxNorm(fn, param string, most arg.Float) error {
	if !(most >= 0) {
		return &op.ArgError{Func: fn, Param: param, Got: arg.Show(starlark.Float(most)), Want: "a non-negative number"}
	}
	return nil
}

func clipGradNorm(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		params builtins.TensorValues
		most   arg.Float
		order  = newNormOrder()
	)
	pairs := append([]any{"params|parameters", &params, "max_norm", &most}, order.pairs()...)
	if err := arg.Unpack(b.Name(), args, kwargs, pairs...); err != nil {
		return nil, err
	}
	if err := maxNorm(b.Name(), "max_norm", most); err != nil {
		return nil, err
	}
	if err := order.check(b.Name()); err != nil {
		return nil, err
	}
	all, classes, err := gradsOf(b.Name(), params)
	if err != nil {
		return nil, err
	}
	var norm *tensor.Tensor
	err = optimizing(e, b.Name(), func(c *builtins.OpChain) {
		if norm = normOfAll(c, classes, float64(order.order)); c.Err == nil {
			c.Fail(order.checkNorm(c, norm))
		}
		clip(c, all, norm, float64(most))
	})
	if err != nil {
		return nil, err
	}
	return e.Wrap(norm), nil
}

func totalNorm(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		tensors builtins.TensorValues
		order   = newNormOrder()
	)
	if err := arg.Unpack(b.Name(), args, kwargs, append([]any{"tensors", &tensors}, order.pairs()...)...); err != nil {
		return nil, err
	}
	if err := order.check(b.Name()); err != nil {
		return nil, err
	}
	var classes []*gradClass
	for _, x := range tensors {
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		classes = addGrad(classes, nil, t)
	}
	var norm *tensor.Tensor
	err := optimizing(e, b.Name(), func(c *builtins.OpChain) {
		if norm = normOfAll(c, classes, float64(order.order)); c.Err == nil {
			c.Fail(order.checkNorm(c, norm))
		}
	})
	if err != nil {
		return nil, err
	}
	return e.Wrap(norm), nil
}

func clipGradsWithNorm(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		params builtins.TensorValues
		most   arg.Float
		norm   builtins.OneTensor
		each   starlark.Value = starlark.None
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "params|parameters", &params, "max_norm", &most, "total_norm", &norm, "foreach?", &each); err != nil {
		return nil, err
	}
	if err := maxNorm(b.Name(), "max_norm", most); err != nil {
		return nil, err
	}
	if norm.T.Numel() != 1 {
		return nil, &op.ArgError{Func: b.Name(), Param: "total_norm", Got: op.Describe(norm.T), Want: "a tensor of shape ()", Rule: "nn.utils.get_total_norm returns one"}
	}
	all, _, err := gradsOf(b.Name(), params)
	if err != nil {
		return nil, err
	}
	return starlark.None, optimizing(e, b.Name(), func(c *builtins.OpChain) { clip(c, all, norm.T, float64(most)) })
}

func clipGradValue(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		params builtins.TensorValues
		most   arg.Float
		each   starlark.Value = starlark.None
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "params|parameters", &params, "clip_value", &most, "foreach?", &each); err != nil {
		return nil, err
	}
	if err := maxNorm(b.Name(), "clip_value", most); err != nil {
		return nil, err
	}
	all, _, err := gradsOf(b.Name(), params)
	if err != nil {
		return nil, err
	}
	return starlark.None, optimizing(e, b.Name(), func(c *builtins.OpChain) {
		for _, g := range all {
			c.Do("clamp_", []*tensor.Tensor{g}, op.Float1(-float64(most)), op.Float1(float64(most)))
		}
	})
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

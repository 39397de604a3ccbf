package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	Register(&Row{
		Name: "autocast",
		Doc: "autocast(dtype, fn) returns fn(), in which products are computed in dtype and norms, losses and reductions in float32.\n" +
			"dtype is bfloat16 or float16; float32 turns a region around it off. Matrix products, linear, einsum and attention take\n" +
			"their operands in dtype and give it; softmax, norms, losses, sums, means, exp, log and pow take float32 and give it; all\n" +
			"else keeps the dtype that comes. float64 and integers stay. Parameters keep their dtype, and their gradients have it:\n" +
			"the casts are part of what backward goes through. Works alike on distributed tensors.\n" +
			">>> w = ones(2, 2, requires_grad=True)\n" +
			">>> y = autocast(bfloat16, lambda: w.matmul(w))\n" +
			">>> y.dtype, autocast(bfloat16, lambda: y.sum()).dtype\n(bfloat16, float32)\n" +
			">>> y.sum().backward()\n>>> w.grad.dtype\nfloat32",
		Fn: autocast,
	})
	Register(methodRow("register_post_accumulate_grad_hook",
		"register_post_accumulate_grad_hook(fn) calls fn(tensor) whenever a backward pass has added to the gradient of the tensor, a leaf.\n"+
			"It may take the gradient away, to keep it elsewhere or in another dtype.\n"+
			">>> x = tensor(3.0, requires_grad=True)\n"+
			">>> kept = []\n"+
			">>> def keep(p):\n...     kept.append(p.grad.item())\n...     p.grad = None\n"+
			">>> x.register_post_accumulate_grad_hook(keep)\n"+
			">>> (x * x).backward()\n>>> kept, x.grad\n([6.0], None)", registerAccumulateHook))
}

func autocast(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		dt arg.DType
		fn arg.Callable
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "dtype", &dt, "fn", &fn); err != nil {
		return nil, err
	}
	if d := dt.D; !d.IsHalf() && d != dtype.Float32 {
		return nil, &op.ArgError{Func: b.Name(), Param: "dtype", Got: d.String(), Want: "bfloat16 or float16", Rule: "float32 turns autocast off"}
	}
	defer e.Runtime.Tape.SetAutocast(dt.D)()
	return e.Call(fn.Fn)
}

func registerAccumulateHook(e *Env, fn string, x *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var hook arg.Callable
	if err := arg.Unpack(fn, args, kwargs, "fn", &hook); err != nil {
		return nil, err
	}
	e.Runtime.Tape.Refresh(t)
	if !t.RequiresGrad() || t.Auto.Node != nil {
		return nil, &op.ArgError{Func: fn, Got: op.Describe(t), Want: "a leaf that requires grad", Rule: "gradients are accumulated in leaves; register_hook sees those of other tensors"}
	}
	if err := CheckFrozen(fn, t); err != nil {
		return nil, err
	}
	t.Auto.Accumulated = append(t.Auto.Accumulated, func() error {
		_, err := e.Call(hook.Fn, x)
		return err
	})
	return starlark.None, nil
}

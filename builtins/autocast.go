package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
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

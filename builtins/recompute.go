package builtins

import (
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	Register(&Row{
		Name: "checkpoint",
		Doc: "checkpoint(fn, *args, **kwargs) returns fn(*args, **kwargs), a tensor or a tuple of tensors, and keeps nothing in between: backward calls fn again.\n" +
			"fn draws the same random numbers again, and the rank's draws are counted once. Tensors\n" +
			"that fn uses without taking them as arguments get their gradients too.\n" +
			">>> x = tensor(3.0, requires_grad=True)\n" +
			">>> checkpoint(lambda v: v * v, x).backward()\n" +
			">>> x.grad.item()\n6.0",
		Fn: checkpoint,
	}, &Row{
		Name: "regather",
		Doc: "regather(fn, *args, **kwargs) returns fn(*args, **kwargs), and what redistribute gathers in it is not kept: where gradients read it, backward gathers it again.\n" +
			"It is for what ranks hold a part of between the parts of a layer (sequence parallelism):\n" +
			"they keep their parts alone, and backward communicates more. Inside checkpoint it is\n" +
			"called by what checkpoint calls.\n" +
			">>> x = DTensor.ones((2, 2), DeviceMesh(\"cpu\", [0]), [Shard(0)]).requires_grad_()\n" +
			">>> regather(lambda x: x.redistribute(placements=[Replicate()]) * 2, x).sum().backward()\n" +
			">>> x.grad.full_tensor().tolist()\n[[2.0, 2.0], [2.0, 2.0]]",
		Fn: regather,
	}, &Row{
		Name: "custom_vjp",
		Doc: "custom_vjp(forward, backward) returns a function that calls forward, and whose gradient is backward.\n" +
			"forward returns (out, saved): a tensor or a tuple of tensors, and anything that\n" +
			"backward needs. backward(saved, grad) is given the gradient of out, a tuple if that\n" +
			"is one, and returns the gradient of the tensor argument, or a tuple or list with one for\n" +
			"each, None where there is none. What forward does is not recorded.\n" +
			">>> f = custom_vjp(lambda x: (x * x, x), lambda x, g: 2 * x * g)\n" +
			">>> x = tensor(3.0, requires_grad=True)\n" +
			">>> f(x).backward()\n" +
			">>> x.grad.item()\n6.0",
		Fn: customVJP,
	})
}

func regather(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	fn, args, err := fnArg(b, args)
	if err != nil {
		return nil, err
	}
	defer e.Runtime.Tape.SetAgain(true)()
	return starlark.Call(e.Thread, fn, args, kwargs)
}

func checkpoint(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	fn, args, err := fnArg(b, args)
	if err != nil {
		return nil, err
	}
	seed, draws := e.Runtime.RNG()
	var single, again bool
	around := aroundRecomputed(e)
	run := func() (list []*tensor.Tensor, err error) {
		defer around()()
		if again {
			defer e.Runtime.SetRNG(e.Runtime.RNG())
			e.Runtime.SetRNG(seed, draws)
		}
		again = true
		v, err := starlark.Call(e.Thread, fn, args, kwargs)
		if err != nil {
			return nil, err
		}
		list, single, err = ResultsOf(b.Name(), v)
		return list, err
	}
	var given []*tensor.Tensor
	for _, v := range args {
		if x, ok := v.(*Tensor); ok && x.T != nil {
			given = append(given, x.T)
		}
	}
	out, err := e.Runtime.Tape.Checkpoint(run, given...)
	if err != nil {
		return nil, err
	}
	return asResult(e, out, single), nil
}

// A vjp is an operation whose gradient a script gives.
type vjp struct {
	e                 *Env
	forward, backward arg.Callable
}

// NewVJP returns a function called name whose gradient is as custom_vjp says it.
func NewVJP(e *Env, name string, forward, backward starlark.Callable) *starlark.Builtin {
	v := &vjp{e: e}
	v.forward.Fn, v.backward.Fn = forward, backward
	return starlark.NewBuiltin(name, v.call)
}

func customVJP(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	v := &vjp{e: e}
	if err := arg.Unpack(b.Name(), args, kwargs, "forward", &v.forward, "backward", &v.backward); err != nil {
		return nil, err
	}
	return starlark.NewBuiltin(v.forward.Fn.Name(), v.call), nil
}

// call carries out a call of the function that custom_vjp made.
func (v *vjp) call(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	in, err := tensorsAmong(args)
	if err != nil {
		return nil, err
	}
	restore := v.e.Runtime.Tape.SetEnabled(false)
	res, err := starlark.Call(v.e.Thread, v.forward.Fn, args, kwargs)
	restore()
	if err != nil {
		return nil, err
	}
	pair, ok := res.(starlark.Tuple)
	if !ok || len(pair) != 2 {
		return nil, &op.ArgError{Func: "custom_vjp", Got: "a result of forward that is " + arg.Show(res), Want: "a tuple (out, saved)"}
	}
	out, single, err := ResultsOf("custom_vjp", pair[0])
	if err != nil {
		return nil, err
	}
	for i, t := range out {
		out[i] = t.Detach() // it may be one of in
	}
	v.e.Runtime.Tape.Custom("custom_vjp", in, out, func(t *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) {
		return v.gradients(t, args, out, dy, pair[1], single)
	})
	return asResult(v.e, out, single), nil
}

// gradients calls backward with the gradients dy of out, and returns those of
// the tensors among args.
func (v *vjp) gradients(t *op.Tape, args starlark.Tuple, out, dy []*tensor.Tensor, saved starlark.Value, single bool) ([]*tensor.Tensor, error) {
	full := make([]*tensor.Tensor, len(dy))
	for i, g := range dy {
		if g == nil {
			g = t.Do("zeros_like", []*tensor.Tensor{out[i].Detach()}, op.None)
		}
		full[i] = g
	}
	res, err := v.e.Call(v.backward.Fn, saved, asResult(v.e, full, single))
	if err != nil {
		return nil, err
	}
	var list starlark.Tuple
	switch res := res.(type) {
	case starlark.Tuple:
		list = res
	case *starlark.List:
		list = slices.Collect(res.Elements())
	default:
		list = starlark.Tuple{res}
	}
	return v.match(args, list)
}

// match returns the gradients in list, one for each tensor among args, or for
// each of args.
func (v *vjp) match(args, list starlark.Tuple) ([]*tensor.Tensor, error) {
	var in []int // the places of tensors in args
	for i, a := range args {
		if _, ok := a.(*Tensor); ok {
			in = append(in, i)
		}
	}
	if len(list) != len(in) && len(list) != len(args) {
		return nil, &op.ArgError{Func: "custom_vjp", Got: units.Count(len(list), "gradient") + " from backward", Want: units.Count(len(in), "gradient"), Rule: "one for each tensor argument"}
	}
	dx := make([]*tensor.Tensor, len(in))
	for j := range dx {
		at := j
		if len(list) != len(in) {
			at = in[j]
		}
		var g OptTensor
		if err := g.Unpack(list[at]); err != nil {
			return nil, &op.ArgError{Func: "custom_vjp", Got: "a gradient from backward that is " + arg.Show(list[at]), Want: "a tensor or None"}
		}
		dx[j] = g.T
	}
	return dx, nil
}

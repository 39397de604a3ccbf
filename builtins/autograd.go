package builtins

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/internal/units"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	Register(&Row{
		Name: "grad",
		Doc: "grad(outputs, inputs, create_graph=False, grad_outputs=None, allow_unused=True, materialize_grads=False) returns the gradients of the sum of outputs with respect to inputs: a list, with None for an input that no output depends on.\n" +
			"outputs is a tensor of one element, or a list of such; inputs is a tensor that\n" +
			"requires grad, or a list of such. Nothing is accumulated in .grad. With\n" +
			"create_graph the gradients can be differentiated again. grad_outputs are the gradients\n" +
			"of outputs, which may then have any shape; None stands for 1. Without allow_unused an\n" +
			"input that no output depends on is an error; with materialize_grads it gets zeros.\n" +
			">>> x = tensor(3.0, requires_grad=True)\n" +
			">>> grad(x * x, [x])[0].item()\n6.0",
		Fn: gradients,
	}, &Row{
		Name: "no_grad",
		Doc: "no_grad(fn) returns fn(), run without recording: its results require no grad.\n" +
			">>> x = ones(2, requires_grad=True)\n" +
			">>> no_grad(lambda: x * 2).requires_grad\nFalse",
		Fn: noGrad,
	})
	Register(
		tensorRow("requires_grad", "requires_grad is whether gradients flow to the tensor.\n>>> ones(2).requires_grad\nFalse",
			func(e *Env, t *tensor.Tensor) (starlark.Value, error) {
				e.Runtime.Tape.Refresh(t)
				return starlark.Bool(t.RequiresGrad()), nil
			}),
		tensorRow("grad", "grad is the gradient that backward has accumulated in a leaf, or None. It can be assigned.\n"+
			">>> x = tensor(3.0, requires_grad=True)\n>>> (x * x).backward()\n>>> x.grad.item()\n6.0\n>>> x.grad = None",
			func(e *Env, t *tensor.Tensor) (starlark.Value, error) {
				if t.Auto == nil {
					return starlark.None, nil
				}
				t.Auto.Sole = false
				return gradOf(e, t, t.Auto.Grad)
			}),
		tensorRow("is_leaf", "is_leaf is whether the tensor was not made by a recorded operation.\n>>> x = ones(1, requires_grad=True)\n>>> x.is_leaf, (x * 2).is_leaf\n(True, False)",
			func(e *Env, t *tensor.Tensor) (starlark.Value, error) {
				e.Runtime.Tape.Refresh(t)
				return starlark.Bool(grad.IsLeaf(t)), nil
			}),
		methodRow("backward", "backward(grad=None, create_graph=False) accumulates the gradients of the tensor in .grad of the leaves it depends on.\n"+
			"grad is the gradient of the tensor itself, of its shape; None stands for 1, and the\n"+
			"tensor then has one element. With create_graph the gradients can be differentiated\n"+
			"again.\n"+
			">>> x = tensor([1.0, 2.0], requires_grad=True)\n>>> (x * x).sum().backward()\n>>> x.grad\n[2. 4.]", backward),
		methodRow("requires_grad_", "requires_grad_(requires_grad=True) says whether gradients are wanted in a leaf, and returns it.\n"+
			">>> ones(2).requires_grad_().requires_grad\nTrue",
			func(e *Env, fn string, x *Tensor, _ *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
				on := arg.Bool(true)
				if err := arg.Unpack(fn, args, kwargs, "requires_grad?", &on); err != nil {
					return nil, err
				}
				return x, x.requiresGrad(fn, bool(on))
			}),
	)
}

// gradOf returns g, the gradient of t or nil, as scripts have it.
func gradOf(e *Env, t, g *tensor.Tensor) (starlark.Value, error) {
	var err error
	if l := OperatorLensOf(t); l != nil && g != nil {
		g, err = l.Grad(e, g)
	}
	return e.WrapOrNone(g), err
}

// Tensors is an argument that is a tensor, or a list or tuple of tensors.
type Tensors []*tensor.Tensor

// Unpack implements starlark.Unpacker.
func (p *Tensors) Unpack(v starlark.Value) error {
	if x, ok := v.(*Tensor); ok {
		t, err := x.Tensor()
		*p = Tensors{t}
		return err
	}
	var list arg.List
	if list.Unpack(v) != nil {
		return arg.Bad(v, "a tensor or a list of tensors", "")
	}
	ts, err := ToTensors(v)
	*p = ts
	return err
}

// TensorValues is an argument that is a tensor, or a list or tuple of tensors, as
// scripts have them.
type TensorValues []*Tensor

// Unpack implements starlark.Unpacker.
func (p *TensorValues) Unpack(v starlark.Value) error {
	if x, ok := v.(*Tensor); ok {
		*p = TensorValues{x}
		return nil
	}
	if _, err := ToTensors(v); err != nil {
		return err
	}
	var list arg.List
	if err := list.Unpack(v); err != nil {
		return err
	}
	for _, item := range list {
		*p = append(*p, item.(*Tensor))
	}
	return nil
}

// OneTensor is an argument that is a tensor.
type OneTensor struct{ T *tensor.Tensor }

// Unpack implements starlark.Unpacker.
func (p *OneTensor) Unpack(v starlark.Value) (err error) {
	p.T, err = ToTensor(v)
	return err
}

// OptTensor is an argument that is a tensor or None.
type OptTensor struct{ T *tensor.Tensor }

// Unpack implements starlark.Unpacker.
func (p *OptTensor) Unpack(v starlark.Value) (err error) {
	if v == starlark.None {
		return nil
	}
	p.T, err = ToTensor(v)
	return err
}

func gradients(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		outputs, inputs Tensors
		again, zeros    arg.Bool
		unused                         = arg.Bool(true)
		given           starlark.Value = starlark.None
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "outputs", &outputs, "inputs", &inputs, "create_graph?", &again, "grad_outputs?", &given, "allow_unused?", &unused, "materialize_grads?", &zeros); err != nil {
		return nil, err
	}
	dys := make([]*tensor.Tensor, len(outputs))
	if given != starlark.None {
		list, err := gradOutputs(given)
		if err == nil {
			dys, err = givenGrads(e, b.Name(), outputs, list)
		}
		if err != nil {
			return nil, arg.In(b.Name(), "grad_outputs", err)
		}
	}
	grads, err := e.Runtime.Tape.GradGiven(outputs, dys, inputs, bool(again))
	if err != nil {
		return nil, err
	}
	list := make([]starlark.Value, len(grads))
	for i, g := range grads {
		switch {
		case g == nil && bool(zeros):
			if g, err = zerosOf(e, inputs[i]); err != nil {
				return nil, err
			}
		case g == nil && !bool(unused):
			return nil, &op.ArgError{Func: b.Name(), Param: "inputs", Got: fmt.Sprintf("%s at index %d", DescribeTensor(e, inputs[i]), i), Want: "a tensor that an output depends on", Rule: "allow_unused=True gives None for it"}
		}
		if list[i], err = gradOf(e, inputs[i], g); err != nil {
			return nil, err
		}
	}
	return starlark.NewList(list), nil
}

// givenGrads returns dys, which a script gives as the gradients of outputs, as tensors that a backward pass
// takes for them.
func givenGrads(e *Env, fn string, outputs Tensors, dys []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if len(dys) != len(outputs) {
		return nil, &op.ArgError{Func: fn, Param: "grad_outputs", Got: units.Count(len(dys), "tensor"), Want: units.Count(len(outputs), "tensor"), Rule: "one for each of outputs"}
	}
	given := make([]*tensor.Tensor, len(dys))
	for i, y := range outputs {
		if dys[i] != nil && !dys[i].Shape().Equal(y.Shape()) {
			return nil, &op.ArgError{Func: fn, Param: "grad_outputs", Got: op.Describe(dys[i]), Want: op.Describe(y), Rule: "a gradient is like its tensor"}
		}
		var err error
		if given[i], err = asGradOf(e, fn, "grad_outputs", y, dys[i]); err != nil {
			return nil, err
		}
	}
	return given, nil
}

// gradOutputs returns v, a tensor, or a list of tensors and Nones, or None for none.
func gradOutputs(v starlark.Value) ([]*tensor.Tensor, error) {
	list := arg.List{v}
	if _, one := v.(*Tensor); !one {
		list = nil
		if err := list.Unpack(v); err != nil {
			return nil, arg.Bad(v, "a tensor or a list of tensors", "")
		}
	}
	dys := make([]*tensor.Tensor, len(list))
	for i, x := range list {
		if x == starlark.None {
			continue
		}
		t, err := ToTensor(x)
		if err != nil {
			return nil, err
		}
		dys[i] = t
	}
	return dys, nil
}

// zerosOf returns zeros that stand for the gradient of t, placed as it is.
func zerosOf(e *Env, t *tensor.Tensor) (*tensor.Tensor, error) {
	return invokeOne(e, zerosLike, []*tensor.Tensor{t.Detach()}, op.None)
}

var zerosLike = op.Lookup("zeros_like")

func backward(e *Env, fn string, _ *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		dy    OptTensor
		again arg.Bool
	)
	if err := arg.Unpack(fn, args, kwargs, "grad?", &dy, "create_graph?", &again); err != nil {
		return nil, err
	}
	given, err := asGradOf(e, fn, "grad", t, dy.T)
	if err != nil {
		return nil, err
	}
	return starlark.None, e.Runtime.Tape.Backward(t, given, bool(again))
}

// asGradOf returns dy, which a script gives the function fn as the gradient of y, its argument param,
// where that is to lie: a plain one of a distributed tensor counts as replicated.
func asGradOf(e *Env, fn, param string, y, dy *tensor.Tensor) (*tensor.Tensor, error) {
	switch {
	case dy == nil || !y.Placed() && !dy.Placed() || !dy.Shape().Equal(y.Shape()):
		return dy, nil // whoever takes it looks at the shape
	case !y.Placed():
		return nil, &op.ArgError{Func: fn, Param: param, Got: DescribeTensor(e, dy), Want: "a plain tensor", Rule: "it is the gradient of one; .full_tensor() gives the whole"}
	case dy.Placed():
		return dy, nil
	}
	to := e.Runtime.Shard.GradLayout(y.Layout())
	dy, err := e.Runtime.Shard.FromLocal(dy, e.Runtime.Shard.Replicated(to.Mesh(), y.Shape()))
	if err != nil {
		return nil, err
	}
	return e.Runtime.Shard.Move(dy, to)
}

func noGrad(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn arg.Callable
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn); err != nil {
		return nil, err
	}
	defer e.Runtime.Tape.SetEnabled(false)()
	return e.Call(fn.Fn)
}

// keepState returns a function that restores what a function of the script
// may leave behind when an error ends it: whether operations are recorded.
// Traces, seeds and hooks are restored by those who set them.
func keepState(e *Env) (restore func()) {
	return e.Runtime.Tape.SetEnabled(e.Runtime.Tape.Enabled())
}

// ResultsOf returns v, the result of a function of the script called fn: a
// tensor, or a tuple or list of them. single tells whether it is one tensor.
func ResultsOf(fn string, v starlark.Value) (list []*tensor.Tensor, single bool, err error) {
	var ts Tensors
	if err := ts.Unpack(v); err != nil {
		return nil, false, &op.ArgError{Func: fn, Got: "a result of " + arg.Show(v), Want: "a tensor or a tuple of tensors"}
	}
	_, single = v.(*Tensor)
	return ts, single, nil
}

// asResult is the inverse of ResultsOf.
func asResult(e *Env, list []*tensor.Tensor, single bool) starlark.Value {
	if single {
		return e.Wrap(list[0])
	}
	tuple := make(starlark.Tuple, len(list))
	for i, t := range list {
		tuple[i] = e.Wrap(t)
	}
	return tuple
}

// tensorsAmong returns the tensors among args.
func tensorsAmong(args starlark.Tuple) ([]*tensor.Tensor, error) {
	var list []*tensor.Tensor
	for _, v := range args {
		if x, ok := v.(*Tensor); ok {
			t, err := x.Tensor()
			if err != nil {
				return nil, err
			}
			list = append(list, t)
		}
	}
	return list, nil
}

// fnArg takes the function that is the first argument of the builtin b, and
// returns it and the other arguments.
func fnArg(b *starlark.Builtin, args starlark.Tuple) (starlark.Callable, starlark.Tuple, error) {
	if len(args) == 0 {
		return nil, nil, arg.Missing(b.Name(), "fn")
	}
	var fn arg.Callable
	if err := arg.Set(b.Name(), "fn", &fn, args[0]); err != nil {
		return nil, nil, err
	}
	return fn.Fn, args[1:], nil
}

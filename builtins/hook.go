package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A RemovableHandle takes a hook away.
type RemovableHandle struct {
	env    *Env
	remove func(fn string) error // any number of times; fn is the function of the script
	freeze func()
}

// NewHandle returns a handle whose .remove() calls remove. freeze freezes what the
// hook is on.
func NewHandle(e *Env, remove func(fn string) error, freeze func()) *RemovableHandle {
	return &RemovableHandle{e, remove, freeze}
}

var _ starlark.HasAttrs = (*RemovableHandle)(nil)

func (h *RemovableHandle) String() string        { return "RemovableHandle" }
func (h *RemovableHandle) Type() string          { return "RemovableHandle" }
func (h *RemovableHandle) Freeze()               { h.freeze() }
func (h *RemovableHandle) Truth() starlark.Bool  { return true }
func (h *RemovableHandle) Hash() (uint32, error) { return 0, Unhashable(h) }
func (h *RemovableHandle) AttrNames() []string   { return AttrNames("RemovableHandle") }
func (h *RemovableHandle) Attr(name string) (starlark.Value, error) {
	return h.env.Attr("RemovableHandle", h, name)
}

func init() {
	Register(
		&Row{Name: "RemovableHandle", Doc: "RemovableHandle is the type of what register_hook and register_forward_hook return."},
		&Row{Name: "RemovableHandle.remove", Doc: "remove() takes the hook away. Once it is gone, it does nothing.\n" +
			">>> nn.ReLU().register_forward_hook(print).remove()",
			Fn: removeHook},
		methodRow("register_hook", "register_hook(fn) calls fn(grad) with the gradient of the tensor whenever a backward pass has computed it, and returns a handle with .remove().\n"+
			"What fn returns replaces the gradient, unless it is None.\n"+
			">>> x = tensor(3.0, requires_grad=True)\n>>> h = x.register_hook(lambda g: g * 10)\n>>> (x * x).backward()\n>>> x.grad.item()\n60.0", registerHook),
		methodRow("register_post_accumulate_grad_hook",
			"register_post_accumulate_grad_hook(fn) calls fn(tensor) whenever a backward pass has added to the gradient of the tensor, a leaf.\n"+
				"It may take the gradient away, to keep it elsewhere or in another dtype.\n"+
				">>> x = tensor(3.0, requires_grad=True)\n"+
				">>> kept = []\n"+
				">>> def keep(p):\n...     kept.append(p.grad.item())\n...     p.grad = None\n"+
				">>> x.register_post_accumulate_grad_hook(keep)\n"+
				">>> (x * x).backward()\n>>> kept, x.grad\n([6.0], None)", registerAccumulateHook),
	)
}

func removeHook(_ *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	return starlark.None, b.Receiver().(*RemovableHandle).remove(b.Name())
}

func registerHook(e *Env, fn string, x *Tensor, t *tensor.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var hook arg.Callable
	if err := arg.Unpack(fn, args, kwargs, "fn", &hook); err != nil {
		return nil, err
	}
	e.Runtime.Tape.Refresh(t)
	if !t.RequiresGrad() {
		return nil, &op.ArgError{Func: fn, Got: op.Describe(t) + " that does not require grad", Want: "a tensor that does"}
	}
	if err := CheckFrozen(fn, t); err != nil {
		return nil, err
	}
	removed := false
	grad.OnGrad(t, func(g *tensor.Tensor) (*tensor.Tensor, error) {
		if removed {
			return nil, nil // it stays as it is
		}
		seen, err := gradOf(e, t, g)
		if err != nil {
			return nil, err
		}
		v, err := e.Call(hook.Fn, seen)
		if err != nil {
			return nil, err
		}
		var out OptTensor
		if err := out.Unpack(v); err != nil {
			return nil, &op.ArgError{Func: fn, Got: arg.Show(v) + " from " + hook.Fn.Name(), Want: "a tensor or None"}
		}
		return asGradOf(e, fn, "grad", t, out.T)
	})
	remove := func(string) error {
		removed = true
		return nil
	}
	return NewHandle(e, remove, x.Freeze), nil
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

package colossal

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// rankState is what a rank keeps of ColoTensors: the hooks on ColoParameters that
// are active, and what stands for operators on ColoTensors.
type rankState struct {
	hooks    []*ColoParamOpHook
	replaced map[*op.Def]*replacement
}

// The phases of an operator in which a hook is called.
const (
	preForward = iota
	postForward
	preBackward
	postBackward
	phases
)

var phaseNames = [phases]string{"pre_forward", "post_forward", "pre_backward", "post_backward"}

// A ColoParamOpHook sees the operators that ColoParameters are operands of.
type ColoParamOpHook struct {
	fns [phases]starlark.Callable // nil for nothing to call
}

var _ starlark.Value = (*ColoParamOpHook)(nil)

func (h *ColoParamOpHook) Type() string          { return "ColoParamOpHook" }
func (h *ColoParamOpHook) Truth() starlark.Bool  { return true }
func (h *ColoParamOpHook) Hash() (uint32, error) { return 0, builtins.Unhashable(h) }

// String names the phases that h has functions for.
func (h *ColoParamOpHook) String() string {
	text := ""
	for i, fn := range h.fns {
		if fn != nil {
			if text != "" {
				text += ", "
			}
			text += phaseNames[i] + "=" + fn.Name()
		}
	}
	return "ColoParamOpHook(" + text + ")"
}

// Freeze implements starlark.Value.
func (h *ColoParamOpHook) Freeze() {
	for _, fn := range h.fns {
		if fn != nil {
			fn.Freeze()
		}
	}
}

func init() {
	const example = ">>> hook = ColoParamOpHook(pre_forward=lambda params: print(\"before\", len(params)))\n"
	builtins.Register(&builtins.Row{
		Name: "ColoParamOpHook",
		Doc: "ColoParamOpHook(pre_forward=None, post_forward=None, pre_backward=None, post_backward=None) returns a hook: functions of a list of ColoParameters, called where an operator has such operands.\n" +
			"pre_forward(params) is called before the operator runs and post_forward(params) after it,\n" +
			"pre_backward(params) when the gradient of its result is known and post_backward(params)\n" +
			"when those of its operands are. params are the ColoParameters among the operands, in their\n" +
			"order, one that stands twice twice. None is for nothing to call. A hook may change how a\n" +
			"parameter is cut: the operator takes it as it is then.\n" +
			"ColoParamOpHookManager.use_hooks makes hooks active.\n" +
			example + ">>> hook\nColoParamOpHook(pre_forward=lambda)",
		Fn: newColoParamOpHook,
	}, &builtins.Row{
		Name: "ColoParamOpHookManager", Namespace: true,
		Doc: "ColoParamOpHookManager is the module of active hooks on ColoParameters.\n" +
			">>> ColoParamOpHookManager.use_hooks(ColoParamOpHook(), body=ColoParamOpHookManager.has_hook)\nTrue",
	}, &builtins.Row{
		Name: "ColoParamOpHookManager.use_hooks",
		Doc: "use_hooks(*hooks, body) returns body(), with hooks and no others active while it runs.\n" +
			"Hooks are called in the order in which they are given, in all phases; those active when\n" +
			"something happens are called, so a backward pass outside body calls none. Without hooks,\n" +
			"none are active in body. What was active before is so again when body ends, in whichever\n" +
			"way. An error of a hook is an error of the operator.\n" +
			example + ">>> p = ColoParameter(ones(2))\n" +
			">>> ColoParamOpHookManager.use_hooks(hook, body=lambda: (p * 2).shape)\nbefore 1\n(2,)",
		Fn: useHooks,
	}, &builtins.Row{
		Name: "ColoParamOpHookManager.has_hook",
		Doc:  "has_hook() returns whether a hook is active.\n>>> ColoParamOpHookManager.has_hook()\nFalse",
		Fn: func(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			return starlark.Bool(len(builtins.StateOf[rankState](e).hooks) > 0), arg.Unpack(b.Name(), args, kwargs)
		},
	})
}

func newColoParamOpHook(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fns [phases]arg.OptCallable
	pairs := make([]any, 0, 2*phases)
	for i, name := range phaseNames {
		pairs = append(pairs, name+"?", &fns[i])
	}
	if err := arg.Unpack(b.Name(), args, kwargs, pairs...); err != nil {
		return nil, err
	}
	h := &ColoParamOpHook{}
	for i, fn := range fns {
		h.fns[i] = fn.V.Fn
	}
	return h, nil
}

func useHooks(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var body arg.Callable
	if err := arg.Unpack(b.Name(), nil, kwargs, "body", &body); err != nil {
		return nil, err
	}
	hooks := make([]*ColoParamOpHook, len(args))
	for i, v := range args {
		h, ok := v.(*ColoParamOpHook)
		if !ok {
			return nil, &op.ArgError{Func: b.Name(), Param: "hooks", Got: fmt.Sprintf("%s at index %d", arg.Show(v), i), Want: "a ColoParamOpHook"}
		}
		hooks[i] = h
	}
	state := builtins.StateOf[rankState](e)
	before := state.hooks
	state.hooks = hooks
	defer func() { state.hooks = before }()
	return e.Call(body.Fn)
}

// modelData returns the ColoParameters among in, as scripts have them.
func modelData(e *builtins.Env, in []*tensor.Tensor) []starlark.Value {
	var params []starlark.Value
	for _, x := range in {
		if v := viewOf(x); v != nil && v.model {
			p := e.Wrap(x)
			p.Parameter = true
			params = append(params, p)
		}
	}
	return params
}

// fire calls the functions that the active hooks have for a phase.
func fire(e *builtins.Env, phase int, params []starlark.Value) error {
	for _, h := range builtins.StateOf[rankState](e).hooks {
		if fn := h.fns[phase]; fn != nil {
			list := starlark.NewList(append([]starlark.Value(nil), params...))
			if _, err := e.Call(fn, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// hooked is invokeColo seen by hooks: params are the ColoParameters among in.
func hooked(e *builtins.Env, params []starlark.Value, d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*tensor.Tensor, error) {
	if err := fire(e, preForward, params); err != nil {
		return nil, err
	}
	w := &hookWatch{env: e, params: params}
	watched := in
	if !d.InPlace {
		watched = w.gates(in)
	}
	out, err := invokeColo(e, d, watched, args)
	if err != nil {
		return nil, err
	}
	if !d.InPlace {
		w.results(out)
	}
	return out, fire(e, postForward, params)
}

// A hookWatch calls the hooks of the backward phases of one operator. Its gates
// are recorded before the operator and do nothing: a backward pass comes to them
// when the gradients of all operands are known.
type hookWatch struct {
	env    *builtins.Env
	params []starlark.Value
	inside bool // between the two phases
}

// gates returns in with a gate before each tensor that requires grad. What is a
// view of a gate is one of the tensor itself.
func (w *hookWatch) gates(in []*tensor.Tensor) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(in))
	made := map[*tensor.Tensor]*tensor.Tensor{}
	tape := w.env.Runtime.Tape
	for i, x := range in {
		out[i] = x
		if x == nil || !tape.Enabled() {
			continue
		}
		tape.Refresh(x)
		if !x.RequiresGrad() {
			continue
		}
		if made[x] == nil {
			y := x.Detach()
			y.Base = x
			if x.Base != nil {
				y.Base = x.Base
			}
			y.Changes = y.Base.Changes
			tape.Custom("hook", []*tensor.Tensor{x}, []*tensor.Tensor{y}, func(_ *op.Tape, dy []*tensor.Tensor) ([]*tensor.Tensor, error) { return dy, nil })
			grad.OnGrad(y, w.leave)
			made[x] = y
		}
		out[i] = made[x]
	}
	return out
}

// results has the hooks called when the gradient of one of out is known.
func (w *hookWatch) results(out []*tensor.Tensor) {
	for _, y := range out {
		if y != nil && y.RequiresGrad() {
			grad.OnGrad(y, w.enter)
		}
	}
}

// enter sees the gradient of a result.
func (w *hookWatch) enter(*tensor.Tensor) (*tensor.Tensor, error) {
	if w.inside {
		return nil, nil
	}
	w.inside = true
	return nil, fire(w.env, preBackward, w.params)
}

// leave sees the gradient of an operand.
func (w *hookWatch) leave(*tensor.Tensor) (*tensor.Tensor, error) {
	if !w.inside {
		return nil, nil
	}
	w.inside = false
	return nil, fire(w.env, postBackward, w.params)
}

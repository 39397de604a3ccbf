package colossal

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "colo_op_impl",
		Doc: "colo_op_impl(op, fn) returns None and has fn stand for the operator op wherever an operand is a ColoTensor.\n" +
			"op is an operator or its name: F.linear, \"add\" for +. fn gets the arguments of the call, and of a\n" +
			"method the receiver first; by name those that the call names, as modules do with their fields: weight=,\n" +
			"bias=. What it returns is the result. Inside fn the operator is itself. The last function counts, and\n" +
			"None takes it away.\n" +
			">>> colo_op_impl(F.relu, lambda x: x * 10)\n>>> F.relu(ColoTensor(ones(2))).tolist()\n[10.0, 10.0]\n" +
			">>> colo_op_impl(F.relu, None)",
		Fn: opImpl,
	})
}

func opImpl(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		of starlark.Value
		fn arg.OptCallable
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "op", &of, "fn", &fn); err != nil {
		return nil, err
	}
	d := operatorOf(of)
	if d == nil {
		return nil, &op.ArgError{Func: b.Name(), Param: "op", Got: arg.Show(of), Want: "an operator or its name", Rule: `F.linear, matmul, "add"`}
	}
	addReplacement(e, d, fn.V.Fn)
	return starlark.None, nil
}

// operatorOf returns the operator that v is or names; nil if it is none.
func operatorOf(v starlark.Value) *op.Def {
	name, isName := starlark.AsString(v)
	if f, ok := v.(*starlark.Builtin); ok {
		name = f.Name()
		if builtins.IsRow(name) && f.Receiver() == nil {
			return nil // a function of that name that is no operator
		}
	} else if !isName {
		return nil
	}
	for _, d := range op.All() {
		if d.Surface&^op.Internal == 0 {
			continue
		}
		if d.Name == name {
			return d
		}
		for _, alias := range d.Aliases {
			if alias == name {
				return d
			}
		}
	}
	return nil
}

// addReplacement notes fn as the rule of d on ColoTensors; nil takes it away.
func addReplacement(e *builtins.Env, d *op.Def, fn starlark.Callable) {
	state := builtins.StateOf[rankState](e)
	if fn == nil {
		delete(state.replaced, d)
		return
	}
	if state.replaced == nil {
		state.replaced = map[*op.Def]*replacement{}
	}
	state.replaced[d] = &replacement{fn: fn}
}

// A replacement is the function of a script that stands for an operator on
// ColoTensors.
type replacement struct {
	fn     starlark.Callable
	active bool // it runs: the operator is then itself
}

// StandIn returns what stands for d; nil for nothing.
func (*specView) StandIn(e *builtins.Env, d *op.Def) builtins.StandIn {
	r := builtins.StateOf[rankState](e).replaced[d]
	if r == nil || r.active {
		return nil
	}
	return func(self *builtins.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return r.call(e, self, args, kwargs)
	}
}

// call calls the function with the arguments of the operator, and with the
// receiver before them if it was called as a method.
func (r *replacement) call(e *builtins.Env, self *builtins.Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if self != nil {
		args = append(starlark.Tuple{self}, args...)
	}
	r.active = true
	defer func() { r.active = false }()
	return starlark.Call(e.Thread, r.fn, args, kwargs)
}

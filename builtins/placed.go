package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/runtime/op"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// PlainOnly returns an error if t, an argument of fn, is a distributed tensor.
func PlainOnly(fn, param string, t *tensor.Tensor) error {
	if t == nil || !t.Placed() {
		return nil
	}
	return &op.ArgError{Func: fn, Param: param, Got: shard.Describe(t), Want: "a plain tensor", Rule: ".to_local() gives this rank's block, .full_tensor() the whole"}
}

// PlainArg returns v, the argument called param of fn, which must be a plain
// tensor.
func (e *Env) PlainArg(fn, param string, v starlark.Value) (*tensor.Tensor, error) {
	t, err := e.TensorArg(fn, param, v)
	if err == nil {
		err = PlainOnly(fn, param, t)
	}
	return t, err
}

// Whole returns t with its elements at hand: of a distributed tensor the whole,
// which communicates unless it is replicated. Every rank of its mesh calls it.
func (e *Env) Whole(fn string, t *tensor.Tensor) (*tensor.Tensor, error) {
	if !t.Placed() {
		return t, nil
	}
	defer e.Runtime.Tape.SetEnabled(false)()
	return e.Runtime.Shard.Full(fn, t, nil)
}

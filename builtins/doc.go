// Package builtins is the language: what tpsh scripts see, as Starlark values over
// package runtime. It is the host: tensors with their operators, derivatives,
// assertions and faults, and the tables in which everything is registered.
// Vocabularies (networks, distributed tensors, files ...) are packages below it,
// which it does not know.
//
// A name of the language is an operator of package op, with its methods, functions
// and documentation; or a Row of the table here, which says what `tpsh doc` prints
// and what is called. The predeclared names, completion and the reference page are
// made from both. A vocabulary adds rows in its init functions:
//
//	package greeting
//
//	func init() {
//		builtins.Register(&builtins.Row{Name: "greet", Fn: greet,
//			Doc: "greet(name) returns a greeting.\n>>> greet(\"Ada\")\n\"hello, Ada\""})
//	}
//
//	func greet(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
//		var name arg.String
//		if err := arg.Unpack(b.Name(), args, kwargs, "name", &name); err != nil {
//			return nil, err
//		}
//		return "hello, " + starlark.String(name), nil
//	}
//
// An Env is one rank's: the rank itself (Env.Runtime), the thread of its program, and
// what each vocabulary keeps for it (StateOf). A Tensor is a tensor of the runtime as
// scripts have it; Env.Wrap makes one, and Tensor.Tensor gives the other back, waiting
// if it is still under way. Arguments are read by package arg, and by the kinds here
// that are tensors (OneTensor, Tensors).
//
// A Lens (lens.go) is how a vocabulary sees tensors of its own: what type(x) says,
// how x is shown, described and frozen, what it has besides, and what operators on it
// do. Distributed, flat and ColoTensors are such.
//
// Where things are: operators are called in bind.go, written between tensors in
// tensor_ops.go and tensor_notation.go; the tables are in table.go and reference.go,
// failures that scripts catch in failure.go, derivatives in autograd.go and
// recompute.go.
package builtins

// Package arg reads the arguments of builtins: one type for each kind of
// argument, so that a kind has one error message everywhere.
//
//	var (
//		shape arg.Shape           // an int, or a list or tuple of ints, none negative
//		dt    = arg.DType{D: dtype.Float32}
//		group starlark.Value      // anything
//	)
//	err := arg.Unpack("zeros", args, kwargs, "shape", &shape, "dtype?", &dt, "group|parallel_mode??", &group)
//
// Errors are *op.ArgError where an argument does not fit, and *CallError where
// the arguments do not fit the parameters.
package arg

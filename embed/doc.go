// Package embed runs sharded tensor programs inside of programs in Go. It is the
// language of the command tpsh, on ranks that are goroutines.
//
// Terms:
//
//   - A rank is one of Options.Ranks participants that all run the program; see
//     package tpsh/lang. They meet in collectives.
//   - A value in Go is nil, a bool, an int, a float64, a string, a []any, a
//     map[string]any, or a *Tensor. What programs are given may also be any other
//     kind of integer or float, a []float32 and the like, which become tensors of
//     one dim, and slices and maps of all these, which become lists and dicts.
//   - A Func is a function in Go that programs call, on whatever rank they run.
//
// The example of Run gives four ranks a matrix, and gets back what the ranks have
// added up. A mistake in the program is an *Error, whose text is the report that
// tpsh would print, with the ranks, the traceback and the line.
package embed

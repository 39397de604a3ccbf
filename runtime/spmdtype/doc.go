// Package spmdtype says what a local tensor is along each axis of a mesh: a type. It is
// integers and names alone, and knows no tensors.
//
// A type is one of
//
//	R     replicated: all ranks of the axis have the same, and each a summand of its gradient
//	I     invariant: all have the same, and so they have its gradient
//	V     varying: each has its own, and its own gradient
//	P     partial: each has a summand, and all have the same gradient
//	S(i)  varying, and known to be block i of a whole: the rank's chunk of dim i
//
// Types is a record of one type for each axis, which is never changed; a tensor refers to
// a Mark, which adds the line at which the tensor got it.
//
// A type changes by the transitions of one table (transition.go) and by no other: each says
// what a rank does forwards and what backwards, and so which other row is its gradient.
// Megatron's functions are rows of a second one over these (megatron.go). What an operator
// makes of the types of its operands says Meet (meet.go). For example
//
//	t := spmdtype.Types{}.With("tp", spmdtype.P)
//	row, _ := spmdtype.Find("all_reduce", spmdtype.P, spmdtype.R)
//	t = t.With("tp", row.Dst)                  // {tp: R}
//	spmdtype.Meet([]spmdtype.Type{R, V}, nil)  // [V]
//
// The lattice is that of PyTorch's spmd_types and of JAX's varying, invariant and unreduced
// values.
package spmdtype

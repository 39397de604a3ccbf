// Package spmdtype defines the types of local tensors: what the ranks along one axis of a mesh
// hold of a tensor. It deals in names and integers, and knows no tensors.
//
// A type is one of
//
//	R     replicated: every rank has the same value; the gradient is partial
//	I     invariant: every rank has the same value; the gradient is invariant
//	V     varying: each rank has its own value, and its own gradient
//	P     partial: the value is the sum over the ranks; the gradient is replicated
//	S(i)  sharded: varying, and known to be this rank's chunk of dim i of a whole
//
// Types is an immutable record of one type per axis. A tensor refers to a Mark, which adds the
// line of the script where the tensor got its types.
//
// A type changes only by the transitions of one table (transition.go). Each row says what a rank
// does in the forward pass and in the backward pass, so its gradient is another row. Megatron's
// functions are a second table over these rows (megatron.go). Meet (meet.go) gives the types of an
// operator's results from those of its operands. For example
//
//	var t *spmdtype.Types
//	t = t.With("tp", spmdtype.P)
//	row, _ := spmdtype.Find("all_reduce", spmdtype.P, spmdtype.R)
//	t = t.With("tp", row.Dst)                                     // {tp: R}
//	spmdtype.Meet([]spmdtype.Type{spmdtype.R, spmdtype.V}, nil)   // [V]
//
// The lattice is that of PyTorch's spmd_types and of JAX's varying, invariant and unreduced
// values.
package spmdtype

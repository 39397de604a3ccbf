// Package typing infers the types of operators' results (package spmdtype) from those of their
// operands. Where types are on, it is asked before every operator, in the forward and the backward pass.
//
// It names no operator: op.PlainRow derives from an operator's sharding rule what its result is if each
// rank applies it to its own blocks or summands. A Scope knows the size of each axis, and the line of the
// script. Types do not depend on elements, so plans infer them, too.
//
// For example, with x {tp: S(1)} and w {tp: S(0)}
//
//	s := &typing.Scope{...}
//	marks, err := s.Infer(matmul, []*tensor.Tensor{x, w}, nil)  // [{tp: P}]: summands
//
// and a relu of that is an error that names the axis, the types, the lines where the operands got
// them, and what to write instead.
package typing

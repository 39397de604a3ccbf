// Package typing says what operators make of the types of local tensors (package spmdtype):
// it is asked before an operator is applied, where types are on, and of gradients.
//
// The knowledge is that of the operators' rules: op.PlainRow says which blocks or summands an
// operator gives that each rank applies to its own. So nothing here names an operator. A Scope knows
// how many ranks an axis has, and where the program is. Types need no elements: a plan has them, too.
//
// For example, with x {tp: S(1)} and w {tp: S(0)}
//
//	s := &typing.Scope{...}
//	marks, err := s.Infer(matmul, []*tensor.Tensor{x, w}, nil)  // [{tp: P}]: summands
//
// and a relu of that is an error: it names the axis, the types, where they come from, and what
// to write instead.
package typing

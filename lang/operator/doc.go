// Package operator carries out the notations of the language that Starlark
// lacks: a @ b, a ** b, a % b of text, the fields of f-strings, x.format(...),
// and slices among the elements of an index. It knows numbers, text and
// containers; the meaning of a notation for a tensor or any other value, the value
// has itself.
//
// Terms:
//
//   - A hidden function is one that the core tree of a program calls (see
//     package lang/source), under a name that no source can write. Library has
//     them all.
//   - An operand has one of HasMatMul, HasPower and HasFormat for each
//     operator that it takes. As for starlark.HasBinary, the left operand is
//     asked first, and nil means that the operand does not know the other.
//   - A Slice is lo:hi:step in x[lo:hi:step, 0], and Ellipsis is the ... of
//     x[..., 0]: the elements of the tuple by which x is indexed. The starlark.Mapping
//     or starlark.HasSetKey of a value gets them.
//
// A host puts the library among the names of every program:
//
//	for name, f := range operator.Library {
//		predeclared[name] = f
//	}
package operator

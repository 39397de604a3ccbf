// Package source reads the text of programs: Starlark, and the notations that people who
// know Python write besides. It knows text and syntax trees, and nothing of
// values or ranks.
//
// Terms:
//
//   - A source is the text of a file, of a chunk of the shell, or of -c.
//   - The surface tree of a source is the text as it was written, in the nodes of package
//     syntax: whatever formats, checks or completes programs looks at it. A notation that
//     Starlark has no node for is told by tokens of this package (AT, ISNOT)
//     and by the marks of File.
//   - The core tree is made of Starlark alone: Lower turns the one into the
//     other. A notation that Starlark lacks becomes a call of a function whose name no
//     source can write (MatMul, Power, Format, ...); package lang/operator has
//     these functions.
//   - A refusal is the sentence with advice for something
//     that Python has and the language has not.
//
// Every node of both trees has the position of the text that it stands for, so
// errors of the resolver and tracebacks are right without a map.
//
// The language has, beside Starlark's: a @ b and a ** b with Python's
// precedence, a is None, a < b < c, f-strings, "..." % x and "...".format(x)
// in full, strings side by side, x[1:-1, ..., None] also as a target, numbers
// such as 1_000, generator expressions (as lists), a comma behind the last
// element of a tuple without brackets, sets {a, b}, *x among elements and in
// any order among arguments, **x among entries, a, *b = x, and a = b = x.
//
//	f, err := source.Parse("train.star", text, source.Options{})
//	if err != nil {
//		var e *source.Error // one mistake, with its position
//		errors.As(err, &e)
//	}
//	for _, c := range f.Comments { ... }
//	source.Walk(f, func(n syntax.Node) bool { ... }) // goes into f-strings, too
//	core := source.Lower(f)                          // for the resolver; f is used up
package source

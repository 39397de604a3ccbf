// Package format writes programs in one style. It knows text, tokens and syntax
// trees, and nothing of values.
//
// Terms:
//
//   - A lexeme is a token of a source (see package source). A formatter writes
//     the lexemes of a program one after the other, unchanged but for quotes, and
//     decides the space between them. So no notation can get lost.
//   - A gap is the text between two lexemes: space, ends of lines, comments.
//   - A level is the number of blocks that a line is in.
//
// The style: four spaces a level, and four more inside brackets that go on in
// another line; spaces around operators, behind commas and colons, none around
// the = of keywords and the : of slices; double quotes where the text needs no
// escape for it; two blank lines around functions of the file, at most two
// elsewhere and none where a block begins; comments stay at their lines, two
// spaces behind code. Where lines break is the author's.
//
// Source ends with a proof: the tree and the comments of what it wrote are those
// of the text it read, or it returns an error instead of text.
//
//	out, err := format.Source("train.star", "x=f( 1,b = 'c' )")
//	// out is `x = f(1, b="c")` and a newline
package format

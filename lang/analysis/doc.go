// Package analysis says what the names and the expressions of a program stand for,
// without running it. It reads no files and writes nothing: the text of a program
// and of those that it loads is given to it, and so is the language.
//
// Terms:
//
//   - A Language has all that programs have without a load: names, signatures,
//     documentation, members of types, and of which type results are.
//   - A path is a name of the language in full: "all_reduce", "F.relu", "Tensor.sum".
//   - A symbol is one name of one scope of a program, with the places where it is
//     bound and used. A name of the language that a program uses is a symbol, too.
//   - A Type is all that is known of the value of an expression; nil is for nothing.
//     A fact of a type is true whatever happens when the program runs, so
//     that a finding that stands on it is certain.
//   - A File is a program that was read: its tree, its symbols, its types.
//   - A Cursor is a place in a text that may be half typed. It is found by tokens
//     alone, since such a text has no tree.
//
// Package check reports mistakes; package lsp shows the rest to an
// editor:
//
//	f := analysis.New("train.star", text, language, nil)
//	sym := f.SymbolAt(3, 7)          // where it is bound, where it is used
//	t := f.TypeOf(expr)              // t.Name == "Tensor"
//	names := f.Members(t)            // the names that may stand behind the dot
package analysis

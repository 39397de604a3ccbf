// Package check finds mistakes of programs without running them. It knows all that
// package analysis knows of a text.
//
// Terms:
//
//   - A finding is one mistake: its place, its rule, and a message.
//   - A rule is a kind of mistake: Rules lists them.
//   - A Language is package analysis's, with where loaded files lie.
//   - A guarded expression is one that may fail on purpose, since it goes to attempt
//     or assert.fails, perhaps by way of other functions. Nothing is said of it.
//   - A given attribute is one that the program, a file that it loads, or a program
//     that loads it gives to some value: by struct, by nn.Module, by assignment.
//
// A finding is certain: code that may be right, by whatever values the names have when
// the program runs, is not reported.
//
//	for _, f := range check.Source("train.star", text, language) {
//		fmt.Println(f) // train.star:3:7: F has no .reluu (did you mean relu?) (member)
//	}
package check

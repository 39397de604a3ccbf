// Package check finds mistakes of programs without running them. It knows syntax
// trees, and of values only what a Language says of them.
//
// Terms:
//
//   - A finding is one mistake: its place, its rule, and what is wrong.
//   - A rule is a kind of mistake: syntax, undefined, member, arguments, load,
//     unused-load, unreachable, no-assert.
//   - A Language holds the names that programs have without a load, and the
//     signatures of those that are functions.
//   - A known name is one that the program nowhere binds itself, so that it is the
//     language's, or that it binds once, by def.
//   - A guarded expression is one that may fail on purpose, since it goes to attempt
//     or assert.fails, perhaps by way of other functions. Nothing is said of it.
//
// A finding is certain: what may be right, by whatever values the names have when
// the program runs, is not reported.
//
//	for _, f := range check.Source("train.star", text, lang) {
//		fmt.Println(f) // train.star:3:7: F has no .reluu (did you mean relu?) (member)
//	}
package check

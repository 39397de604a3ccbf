// Package halt decides where a thread of the interpreter stops for a debugger.
//
// A program that was marked says at each of its statements that it is there, and an
// Engine answers whether it stops. In the middle of a statement it stops by the
// interpreter's count of steps: that calls a function of the thread (OnMaxSteps) before
// an instruction, with a limit of 1 before every one. An Engine knows nothing of ranks,
// of sessions, or of any use of a thread that has stopped.
//
// Terms:
//
//   - A Map says, of a source, to which statement each of its lines belongs, and to
//     which function.
//   - Mark gives every statement a mark, an instruction by which an Engine is told
//     that a thread arrives at it.
//   - Orders are the wishes of a debugger: breakpoints, and a Step. They are replaced as
//     a whole, from any goroutine, and never change.
//
// Nothing wanted costs a comparison for each statement, and so does a function without a
// breakpoint.
//
//	e := halt.NewEngine(sources)
//	e.Order(&halt.Orders{Breaks: []halt.Break{{File: "train.star", Line: 7}}})
//	...
//	if stop := e.Arrive(thread); stop != nil {
//		...
//	}
package halt

// Package halt decides where a thread of the interpreter stops for a debugger.
//
// The interpreter calls a function of its thread before an instruction, once the
// thread has made so many steps (Thread.OnMaxSteps). With a limit of 1 that is
// before every instruction, and there an Engine looks where the thread is. It knows
// nothing of ranks, of sessions, or of what is done with a thread that has stopped.
//
// Terms:
//
//   - A Map says, of a source, to which statement each of its lines belongs, and to
//     which function.
//   - Mark gives every statement an instruction by which an Engine knows that a thread
//     arrives at it, and statements that have a breakpoint already a call, a trap, for
//     which nothing need be looked at.
//   - Orders are what a debugger wants: breakpoints, and a Step. They are replaced as
//     a whole, from any goroutine, and never change.
//
// A function without a breakpoint costs a comparison for each instruction, as long as
// there are breakpoints without traps.
//
//	e := halt.NewEngine(sources)
//	e.Order(&halt.Orders{Breaks: []halt.Break{{File: "train.star", Line: 7}}})
//	thread.OnMaxSteps = func(t *starlark.Thread) {
//		if stop := e.At(t); stop != nil {
//			...
//		}
//	}
//	thread.SetMaxExecutionSteps(1)
package halt

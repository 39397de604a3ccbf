// Package dap is the debugger as editors speak to one: the Debug Adapter Protocol
// over a Controller of package debug. A thread of the protocol is a rank, whose number
// is one less.
//
// Launch takes a Launch; the program starts when the editor has said
// configurationDone. All ranks stop together, and go on together unless a request
// says singleThread. A condition of a breakpoint may be a clause of the command debug:
// "differs y" stops where y is not the same on all ranks, "on 0,2" on some ranks.
//
// Beside those of the protocol, there are the requests
//
//   - untilCollective: lets all ranks go on until each is about to make a collective.
//   - differences {frameId, expression}: the variables of a frame, or the expression,
//     whose values are not the same on all ranks, each with the ranks that have it.
//
// and in its console, lines that begin with a colon are those of the command debug.
package dap

// Package tracediff compares what two runs cost: two traces of `tpsh run --trace`, or
// the --json of two plans. It says which lines became slower, which move more, and
// which calls moved elsewhere: to another line, another group or another operation.
//
// Terms:
//
//   - A Part is what one line of the script did by one operation on one set of mesh
//     dims: how often, with how many bytes, in how many seconds, of all ranks of a
//     trace, or of the slowest rank of a plan.
//   - Costs are the parts of one file, and its totals.
//   - A Change is a part of both that differs, or of one alone. Calls and bytes are
//     exact; seconds of a trace are measured, and count from a tenth on.
//   - What one has and the other lacks, with as many calls and bytes, has moved.
//
// For example:
//
//	a, err := tracediff.Read("before.json")
//	b, err := tracediff.Read("after.json")
//	tracediff.Compare(a, b).WriteText(os.Stdout)
package tracediff

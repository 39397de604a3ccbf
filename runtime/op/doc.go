// Package op is the table of operators: for each its documentation, its
// parameters, its shape rule, its kernel and its gradient.
//
// To add an operator, add one register call to the file of its family. The
// builtin, completion, the reference page and the whole-table tests follow.
//
// Applying an operator (see Apply) infers its results, allocates them and
// runs the kernel. Package grad applies operators and records them; gradients
// are operators too, applied through the same door.
//
// A tensor without storage is shape-only: its operators are inferred and not
// run.
package op

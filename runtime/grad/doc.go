// Package grad differentiates: it applies operators (package op), records
// those whose results depend on a tensor that requires grad, and walks the
// record backwards.
//
// Gradients are made of operators and applied through the same door, so they
// can be recorded and differentiated again.
//
// A Recorder belongs to a rank. A node is one application that was recorded: its
// inputs, what it kept of them, and how to get their gradients. An edge leads from a
// result to the node that made it; a leaf has none, and its gradient is kept. A pass
// is one walk from results to leaves, latest node first. A Placer runs the operators on
// distributed tensors (package shard is one); the record is the same for both. For example
//
//	r := grad.New(ctx)
//	y, err := r.Apply(op.Lookup("sum"), []*tensor.Tensor{x}, nil)
//	err = r.Backward(y[0], nil, false)  // x.Auto.Grad is all ones
package grad

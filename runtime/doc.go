// Package runtime runs ranks and their operators. It knows tensors and
// communication, and nothing of scripts: package builtins gives it to those, and
// below it stand the packages that it joins,
//
//	shard   tensors that ranks hold together: which rank computes which part, and moves
//	grad    the record of operations, and the walk backwards through it
//	op      the table of operators, with their gradients, rules and costs
//	tensor  storage: buffers, views, and where they come from
//
// beside package mesh, which says by integers alone which rank holds which part, and package
// comm, which moves bytes.
//
// # Terms
//
// A Job is a set of ranks that run one program: goroutines of this process, or
// processes that Join one another. A Rank is one of them. It has operators and the
// record of them (Rank.Tape), tensors that the ranks hold together (Rank.Shard),
// random numbers, groups, and calls on these. Its methods are for the goroutine
// that runs its program.
//
// A collective is called by every member of a group, in one order. The part that calls of
// all kinds have alike is in call.go; what sets a collective of a
// tensor apart is its row in collective.go, and its gradient in adjoint.go. An
// asynchronous call is a Work, to be waited for.
//
// A Trace has a Record of each call while it is on: which bytes were moved, by whom, and
// where in the program that is, by region, module, phase and line (scope.go).
//
// # An example
//
// Two ranks add up their numbers (ExampleStart runs this):
//
//	job, err := runtime.Start(ctx, runtime.Config{Size: 2, Transport: "inproc"}, func(ctx context.Context, r *runtime.Rank) {
//		r.Begin(ctx)
//		x, _ := op.FromFloats(r.Ops(), dtype.Float32, shape.Shape{1}, []float64{float64(r.ID() + 1)})
//		y, err := r.Run(r.World(), runtime.Collective{Op: "all_reduce", Reduce: "sum"}, x)
//		...
//		r.End(err)
//	})
//
// Where to begin: job.go, rank.go and collective.go, in this order.
package runtime

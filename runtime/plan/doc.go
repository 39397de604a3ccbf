// Package plan holds what a program does, as a plan has found it out, and plays it
// on a machine.
//
// A plan runs a script on shapes alone. Ranks that behave alike are one Kind: the
// Events of a kind are what each of its ranks does, in order: operations of the
// device, collectives of groups, messages, and marks where a step ends. A Recorder
// collects them while one rank of the kind runs; a Program joins the kinds.
//
//	p := plan.NewProgram(16)
//	r := p.Recorder()
//	...                         // rank 0 runs, and r notes what it does
//	p.Add(r, ranks)             // as do all of ranks: 0 to 15
//	figures := p.Play(machine)  // what that takes
//
// Play needs no formula for pipelines or waiting: it lets the kinds' events wait for
// each other as the ranks would. A rank has a host that issues, a compute stream,
// and a communication stream for each group. A collective begins when its last
// member has come to it; a blocking one holds the compute stream, and one that was
// issued holds it when it is waited for and not over.
//
// Seconds and bytes are those of one rank: the slowest, or the one with the fullest
// memory. FLOPs are those of all ranks.
package plan

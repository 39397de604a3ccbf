// Package comm moves bytes between ranks, and knows which rank sends which block to which.
// It knows nothing of tensors, scripts or meshes.
//
// Terms:
//
//   - A rank is one of the size participants of a Fabric, numbered from 0.
//   - An Endpoint is one rank's side of a Fabric.
//   - A Group is an ordered list of ranks with call numbers of its own. A
//     member's place in that list is its group rank; roots, peers and blocks
//     are always named by group rank.
//   - A collective is an operation that every member of a group calls. Its
//     n-th call on a group meets every other member's n-th call on it.
//   - The contract is the description of a call (Desc) that members compare
//     before any data is believed.
//   - A Block is a strided region of a buffer.
//   - A schedule is a pure list of steps that carries out a collective. The
//     message family sends and receives; the direct family reads and writes
//     the blocks of other ranks in place.
//   - A Transport carries the bytes of a Fabric. On inproc ranks are goroutines
//     that meet and carry out direct schedules. On the others they exchange
//     messages, and share no memory but segments made for that.
//
// Every collective joins its members: it ends on a rank only when every
// member has called it and the calls have been compared, on every transport.
// Where members share memory, a result that all have alike is made once, if its
// owners want that (Sharer): members do pieces of it, whoever is there first.
// Reductions combine contributions in the order of group ranks, whatever the
// schedule, the transport or the size: the same bits everywhere.
//
// # What can go wrong
//
// Calls that do not agree are a *MismatchError on every member, and count as
// made: the members stay in step.
//
// A smallest set of ranks each of which waits only for calls or messages of
// members of the set or of ended ranks, with nothing on its way to any of
// them, is a deadlock. It is found when the last of them blocks, without a
// timer, whatever other ranks do. Each gets the same *DeadlockError. A
// collective in which one of them waited fails on every member of its group;
// on one that has not called yet, when it calls. So call numbers stay equal.
// A rank that merely waits for such a set goes on waiting.
//
// A rank that has caught an error of its own (NoteCaught) may have left out calls
// that others make. In a deadlock with such a rank only those get the error that
// wait for the call that was left out, where they wait for it; the rank goes on with the call
// after it, and the wait that it is in. So it is with a mismatch. Which rank has left
// something out is told by clocks (Caught), which start at 0 whenever two ranks are
// in a collective together; where they do not tell, all get the error.
//
// When a rank ends with a cause, every call on a group that holds it fails
// with a *PeerError, but for calls that it had arrived at before. Messages that it sent
// before are received. Groups without it go on.
//
// # Use
//
// Every rank asks its Endpoint for the same group and calls the same
// operations on it:
//
//	world, err := fabric.Endpoint(rank).Group([]int{0, 1, 2, 3}, "")
//	...
//	out := make([]byte, len(in))
//	result, err := world.Run(ctx, &comm.Op{
//		Desc:    comm.Desc{Op: "all_reduce", DType: "int64", Shape: []int{len(in) / 8}, ...},
//		Kind:    comm.AllReduce,
//		In:      []comm.Block{comm.Whole(in)},
//		Align:   8,
//		Prepare: func([]comm.Member, comm.Flags) ([]comm.Block, error) { return []comm.Block{comm.Whole(out)}, nil },
//		Reduce:  addInt64,
//	})
//
// # Where things are
//
// This package has all that callers see, and all that transports need of it (see
// transport.go). The work is done in packages of its own, each to be
// tested by itself:
//
//	schedule   which member sends, receives or reduces whose blocks: pure
//	deadlock   which rank waits for which, and which waits can never end: pure
//	wire       frames, contracts, reports and verdicts as bytes
//	bootstrap  connections: trust, rendezvous, heartbeats
//	mailbox    messages that wait for a receive
//	inproc     the transport of goroutines that share memory
//	process    the transports of ranks that exchange messages: frames, tcp, shm
//	           (process/shm: the memory that processes share)
//	mpi        streams of an MPI, for process
//	commtest   the tests that every transport must pass
//
// A new transport passes commtest.Suite.
package comm

// Package comm moves bytes between ranks, and knows who sends what to whom.
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
//   - A transport is what a Fabric is made of. On inproc ranks are goroutines
//     that meet and carry out direct schedules. On frames they exchange every
//     byte as frames through pipes and carry out message schedules; nothing
//     else is shared, as between processes.
//   - Links join a rank in a process of its own to the others: by streams (tcp),
//     by a Segment of shared memory (shm), or by both. A Supervision in the
//     process that has started the ranks watches them.
//   - A generation is one of the fabrics that follow each other over the same
//     Links.
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
// When a rank ends with a cause, every call on a group that holds it fails
// with a *PeerError, but for calls that it had arrived at before. What it sent
// before is received. Groups without it go on.
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
// # Processes
//
// A launcher makes a Segment or a Listener, starts the processes, and watches
// them:
//
//	segment, err := comm.CreateSegment(size)      // shm: segment.File() is passed to each process
//	conns, err := comm.Rendezvous(ctx, l, size, nil) // tcp: each process calls Meet
//	...
//	s := comm.Supervise(comm.SuperviseOptions{Streams: streams, Grace: 200 * time.Millisecond})
//	s.Lose(rank, errors.New("was killed by signal 9 (killed)")) // when the kernel says so
//
// A process connects its rank, and uses one fabric after another:
//
//	links, err := comm.Connect(comm.LinkOptions{Rank: rank, Size: size, Supervisor: stream, Segment: segment, Local: all})
//	endpoint := links.Fabric(0).Endpoint(rank)
//
// What crosses a stream is frames: see frame.go for the format, and Credentials
// for how two ends come to trust each other. What crosses shared memory is
// records (ring.go), and pieces of large blocks (staging_buffer.go). Long messages, and
// large blocks that nobody reduces, do not: who needs them reads them from the
// memory of the rank that has them, if the system lets it (exposure.go, cross_read.go).
//
// Where an MPI has started the ranks (package mpi), it is the streams that are
// its own: a PollStream can be looked at by whoever waits, and large blocks go
// beside it, from memory to memory. The calls are compared and carried out as
// on any stream, but for large broadcasts to all ranks, which a Carrier
// carries out:
//
//	links, err := comm.Connect(comm.LinkOptions{Rank: rank, Size: size, Supervisor: stream, Peers: streams, Carrier: world})
//
// A new transport passes commtest.Suite.
package comm

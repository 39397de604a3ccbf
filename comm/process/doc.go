// Package process is the transports of ranks that exchange messages: as
// processes do, over connections (package tcp), through shared memory (package shm)
// or over streams of an MPI (package stream), or as goroutines that share nothing but
// pipes (frames), for tests. It knows nothing of the purpose of messages beyond package
// comm.
//
// Terms:
//
//   - Links join a rank in a process of its own to the others: by streams (tcp),
//     by a shm.Segment, or by both.
//   - A generation is one of the fabrics that follow each other over the same
//     Links. A wireRank is the rank's side of one: the messages that have come, and the waits.
//   - A wireGroup is a member's side of a group, a wireCall its part in one
//     collective, and a callState the contracts and data that have come for that.
//   - A frame is a message, or a part of one, as it crosses a stream; a record
//     the same in a ring of shared memory (package shm).
//   - An inbound is a way on which messages come to a rank that somebody must look
//     at; a rank has a list of them (inbound.go), and waits at the first.
//   - A posted receive, or a receive buffer, is memory to which data are read
//     that have not come.
//   - The supervisor hears from every rank when it waits and when it ends; a
//     Supervision runs it in the process that has started the ranks.
//
// # Use
//
// A launcher makes a Segment or a Listener, starts the processes, and watches
// them:
//
//	segment, err := shm.CreateSegment(size)      // shm: segment.File() is passed to each process
//	conns, err := bootstrap.Rendezvous(ctx, l, size, nil) // tcp: each process calls bootstrap.Meet
//	...
//	s := process.Supervise(process.SuperviseOptions{Streams: streams, Grace: time.Second})
//	s.Lose(rank, errors.New("was killed by signal 9 (killed)")) // when the kernel says so
//
// A process connects its rank, and uses one fabric after another:
//
//	links, err := process.Connect(process.LinkOptions{Rank: rank, Size: size, Supervisor: stream, Segment: segment, Local: all})
//	endpoint := links.Fabric(0).Endpoint(rank)
//
// Frames cross a stream (package wire), and bootstrap.Credentials
// say how two ends come to trust each other. Shared memory is crossed by
// records (package shm), and pieces of large blocks (staged_call.go). Long messages, and
// large blocks that nobody reduces, do not: the rank that needs them reads them from the
// memory of the rank that has them, if the system lets it (exposure.go, cross_read.go).
//
// Members of a call tell each other its contract, each all others; in a group of 8 or more
// that neither share memory nor have an MPI contracts go from member to member (call_relay.go), so that a rank has
// messages and connections for the logarithm of their number.
//
// Where many ranks share memory, each is told by whom something has come (shm.Arrivals), its listener is left
// alone by what the rank itself waits for (shm.Futex.Doze), and with 16 ranks a core and more (shm.Crowd) nobody looks again and again
// or yields: who has nothing to do sleeps at once, and what is done from time to time is done as many times less often.
//
// Ranks on several hosts are told so (LinkOptions.Hosts): large blocks that all members
// get then cross to each host once, and go on there by shared memory or whatever joins
// the ranks (schedule.Hosts, wire_call_hosts.go). Large sums go from host to host.
//
// Where an MPI has started the ranks (package mpi), it is the streams that are
// its own: a stream.PollStream can be looked at by whoever waits, and large blocks go
// beside it, from memory to memory. The calls are compared and carried out as
// on any stream, but for large broadcasts to all ranks, which a Carrier
// carries out:
//
//	links, err := process.Connect(process.LinkOptions{Rank: rank, Size: size, Supervisor: stream, Peers: streams, Carrier: world})
package process

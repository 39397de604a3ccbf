// Package mpi has an installed MPI move bytes between the ranks that its
// launcher has started.
//
// The library is opened when the program runs, so one binary serves Open MPI
// and the MPICH family (MPICH, Intel MPI, MVAPICH), whose handles, constants and
// layouts differ: a table each (family.go). Only a binary built with the tag
// native, on Linux, can do so; see Built.
//
// # Use
//
//	launch, _ := mpi.Launched(os.LookupEnv)
//	library, err := mpi.Find(os.LookupEnv)
//	world, err := mpi.Join(mpi.Options{Library: library, Launch: launch})
//	...
//	stream := world.Stream(peer, mpi.Data) // to comm.LinkOptions.Peers
//	...
//	err = world.Close()
//
// A process joins once in its life, and starts no process afterwards: MPI
// permits neither.
//
// # Streams
//
// What is written to a stream is one message; a message of no bytes is the end
// of the stream. The stream's channel is the message's tag, so nothing of what
// arrives has to be decoded, and nothing can be decoded wrongly. Large blocks
// travel beside the stream, from the memory of one rank to the memory of the
// other, as comm.PollStream says.
//
// # Collectives
//
// Whole collectives of all ranks are MPI's own where comm asks for it
// (comm.Carrier): Broadcast, AllGather and Gather of long blocks in worlds of
// three ranks or more. They are the nonblocking ones, since the one who calls
// MPI serves several groups. Reductions never are: MPI does not promise the
// order of the ranks.
//
// # Threads
//
// One goroutine, locked to its thread, initialises MPI, finalises it, and moves
// on what is under way. It looks without a pause for a moment after something
// has happened, and then ever more rarely, for a fiftieth of the time for which
// nothing has: so ranks may outnumber cores. A goroutine that waits for a
// message itself may look, too (comm.PollStream), which spares waking another
// thread. Only one of them calls MPI at a time: what MPI calls serialized.
package mpi

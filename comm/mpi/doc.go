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
//	stream := world.Stream(peer, mpi.Data) // one of process.LinkOptions.Peers
//	...
//	err = world.Close()
//
// A process joins once in its life, and starts no process afterwards: MPI
// permits neither.
//
// # Streams
//
// Bytes written to a stream are messages of a few KiB at most; one of no bytes
// is the end of the stream. The stream's channel is the message's tag, so nothing
// that arrives has to be decoded, and nothing can be decoded wrongly. The
// receives of the next messages, of whatever stream, are begun before they come,
// and a poll asks after the oldest alone. Large blocks travel beside the stream, from the memory
// of one rank to that of the other, as stream.PollStream says.
//
// # Collectives
//
// Whole collectives of all ranks are MPI's own where comm asks for it
// (process.Carrier): Broadcast of long blocks in worlds of three ranks or more. It is
// the nonblocking one, since the goroutine that calls MPI serves several groups. The
// nonblocking gathers of Open MPI 4.1 and MPICH 4.0 take as long as messages do,
// or longer. Reductions never are MPI's: it does not promise the order of the
// ranks.
//
// # Threads
//
// One goroutine, locked to its thread, initialises MPI, finalises it, and moves
// on all operations while nobody else does. The longer nothing has happened, the
// longer it sleeps between looks, up to a limit: so ranks may outnumber cores. A goroutine that waits for a message looks itself (stream.PollStream),
// which spares waking another thread, and the owner leaves it alone meanwhile. Only one goroutine
// calls MPI at a time, which the standard calls MPI_THREAD_SERIALIZED.
package mpi

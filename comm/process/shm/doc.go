// Package shm is the memory that the processes of one host share, and how data pass
// through it: rings of records, staging buffers, and reads from another process's
// memory. It knows no collectives and no ranks, only indexes within a segment.
//
// Terms:
//
//   - A Segment is memory that processes share (segment.go has the layout). It exists
//     as long as a process has it, and nowhere in the file system.
//   - A RingWriter and a RingReader pass messages from one process to another as
//     records: frames without the fields that memory makes needless (ring.go).
//   - Arrivals tell a rank in which of many rings something has come.
//   - A Futex is where a process sleeps until another has something for it.
//   - A staging buffer passes large data piece by piece, in a slot for each reader
//     and one for several; StagingWriter and StagingReader are its ends.
//   - Exposed memory is read by others straight from the process that has it, where
//     the system lets them (single copy: process_vm_readv); see ExposedSpan.
//   - A Transfer moves data through slots, a piece at a time: CopyIn, CopyOut,
//     LocalCopy, Reduction, Exposing, CrossReading.
//
// For example, two processes share a segment of two, and the first writes to the
// second:
//
//	segment, err := shm.CreateSegment(2) // segment.File() is passed to the other
//	w := shm.NewRingWriter(segment, 0, 1, func() {})
//	w.Send(wire.Frame{Type: wire.FrameData}, nil, data)
//
// Package process decides which data pass which way (shared.go, staged_call.go).
package shm

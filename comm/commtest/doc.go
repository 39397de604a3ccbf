// Package commtest holds the tests that every transport of package comm must
// pass. A transport's own test calls Suite with what opens a Fabric:
//
//	func TestFrames(t *testing.T) {
//		commtest.Suite(t, func(size int) *comm.Fabric { return process.NewFrames(size, process.FrameOptions{}) })
//	}
//
// Suite runs every collective at several sizes, even, uneven and empty; messages and
// groups; every mismatch, whose report is compared to the letter; every deadlock;
// every death of a rank; and work that goes on beside the program. Agree draws random
// programs and compares the bytes that transports give. Exercise and Wander are the
// same for fabrics of which a process has one rank only, and Huge has blocks that fit
// no buffer.
//
// A new kind of collective adds a case in collectives.go; a transport adds nothing.
package commtest

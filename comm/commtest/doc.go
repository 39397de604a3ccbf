// Package commtest holds the tests that every transport of package comm must
// pass. A transport's own test calls Suite with a function that opens a Fabric:
//
//	func TestFrames(t *testing.T) {
//		commtest.Suite(t, func(size int) *comm.Fabric { return process.NewFrames(size, process.FrameOptions{}) })
//	}
//
// Suite runs every collective at several sizes, even, uneven and empty; messages and
// groups; mismatches and the texts of their errors; every deadlock;
// every death of a rank; and work that goes on beside the program. Agree draws random
// programs and checks that they come to the same on every transport, errors included.
// Exercise, Wander and Huge run calls of every kind also on a fabric of which this
// process has some ranks only: in order, drawn at random, and on blocks of a given size.
//
// Neither a new kind of collective nor a transport adds anything here: what a kind must come
// to is taken from its definition (Kind.Outs). A kind that scripts call with a dim says in
// contract.go which.
package commtest

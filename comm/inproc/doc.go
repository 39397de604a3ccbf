// Package inproc is the transport of ranks that are goroutines of one process:
// they meet, and read and write each other's blocks in place. It knows no
// frames, and no deadlock detection but its own.
//
// Terms:
//
//   - A groupState is where the members of a group meet; an inprocGroup is one
//     member's side of it.
//   - A round is where they carry out one collective: an entry for each call,
//     latches for the meetings of the schedule. The n-th round of a group is
//     that of everybody's n-th call.
//   - An inprocCall is a member's part in moving the data of a round, by the
//     direct schedule of the call (package schedule). A shared result, which
//     all members have alike, is made once, piece by piece.
//   - An inprocWait is a wait in progress; the monitor knows all that last, and
//     finds those that can never end (package deadlock) when the last of them
//     begins.
//
// For example, four ranks that add their numbers:
//
//	fabric := inproc.New(4)
//	defer fabric.Close()
//	for rank := range 4 {
//		go func() {
//			world, err := fabric.Endpoint(rank).Group([]int{0, 1, 2, 3}, "")
//			...
//			result, err := world.Run(ctx, op) // see package comm
//		}()
//	}
//
// A call goes through Run (inproc.go), arrive (round.go), carryOut (call.go)
// and move; one that lasts goes through awaitRound and the monitor.
package inproc

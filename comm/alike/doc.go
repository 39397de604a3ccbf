// Package alike is the transport of a job of which only some ranks run, each for
// all those that do the same. It moves no tensors: it is for calls on shapes alone
// (comm.Op.Hollow), whose results say nothing but sizes.
//
// Terms:
//
//   - A Kind is ranks that do the same, as far as is known. One of them, the
//     stand-in, runs for all. At first all ranks are one kind.
//   - An observation is whatever a stand-in learns that may differ between the ranks
//     of its kind. Each goes through Ask, which computes it for all of them. Those
//     for which it differs become kinds of their own, whose stand-ins run the
//     program from its beginning.
//   - Lines say which group each rank means by one group of its stand-in:
//     "my row of the mesh" is another list of ranks for each row.
//   - A group log is a group as a kind sees it, with the calls that the kind has made there.
//   - An assembly is the kinds that meet in some groups, and a round one call that they have made there.
//   - A channel is the messages that each rank of a kind sends to a member of its own, or
//     receives from it.
//   - A wave goes through ranks of a kind that wait for each other in turn, as along a
//     pipeline: they go on as if all messages were there.
//
// A stand-in that runs from the beginning makes again the calls that its kind has made before
// it was told apart: its logs have them already, and it waits for nobody. It must make the very
// same calls: a program is a function of its observations. One that is not ends the job with an
// *UnlikeError.
//
// A call takes place when every kind that has a rank in the group of any rank of
// the caller's kind has come to it. Where these groups differ in the blocks that their members
// put in, so do the results, and that is an observation, too.
//
//	job := alike.New(16384, func(rank int) { go run(rank) })
//	defer job.Close()
//	job.Begin() // runs rank 0, for all
//
//	k := job.KindOf(0)                   // in run(0)
//	even := alike.Ask(k, func(rank int) bool { return rank%2 == 0 })
//	...                                  // for the even ranks: run(1) has begun
package alike

// Package hang finds, from what a hung PyTorch job left behind, the ranks that
// made it hang.
//
// A job leaves two kinds of evidence. A Flight Recorder dump has, for one rank,
// its last calls of collectives (the operation, the group, the call's number in
// that group, sizes, dtypes, the stack) and whether each has finished. A line of
// the NCCL watchdog has, for one rank and group, the call that ran out of time
// and the numbers of the last call enqueued and of the last completed. Read
// gathers both into a Job; Explain makes a Verdict of it:
//
//	job, err := hang.Read([]string{"dumps"})
//	v := hang.Explain(job)
//	v.WriteText(os.Stdout)
//
// Terms. A rank has made a call when the call is enqueued; the call is then
// pending until it is done. The calls of a group carry one number on all its
// members, and the members must call the same. Four things keep a rank from
// finishing, and they are the kinds of a culprit:
//
//	never called  a member has not made a call that others of its group made
//	calls differ  members made different calls under one number
//	not finished  a member made a call and has not finished it, and others have
//	cycle         each of some ranks waits for another of them
//
// A rank that waits is no culprit: only the ends of chains of waits are. What
// the evidence does not carry is not claimed: where a dump is missing that
// decides, the verdict is CannotTell.
package hang

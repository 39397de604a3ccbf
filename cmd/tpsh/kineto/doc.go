// Package kineto reads the traces that PyTorch's profiler writes, one of each
// rank, or the one that tpsh writes of all, and says what the job communicated.
//
// A trace (Kineto's, in Chrome's format, as JSON or .json.gz) is a list of
// events with a start and a duration. Of three kinds are calls of collectives: the
// kernels of NCCL, which name the collective, its group, elements and dtype; the
// annotations of gloo (gloo:all_reduce), which have sizes and dtype; and, where
// there is neither, PyTorch's own record_param_comms. The line of the user's
// program comes from the Python frames around the call, or around the launch of
// its kernel, if the profiler recorded stacks (with_stack=True).
//
//	ranks, err := kineto.Read("trace_0.json.gz", 0)
//	s := kineto.Summarize(ranks)
//	s.WriteText(os.Stdout)
//
// Terms. The members of a group make its calls in the same order, so the n-th
// call of a group is one call on all of them. All leave it together: its
// shortest duration on any member is the time that it took, and what the others
// took longer they waited. The member with the shortest came last. That needs no
// common clock. Communication is hidden while the rank computes, too, and
// exposed otherwise.
package kineto

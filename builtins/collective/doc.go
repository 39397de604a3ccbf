// Package collective is the vocabulary of communication: what ranks send each other
// where a script says so.
//
//	all_reduce(x, op="mean"); all_gather(x, dim=1); all_to_all(x, 0, 1)
//	g = new_group([0, 2]); broadcast(x, src=0, group=g); barrier(group=g)
//	send(x, 1); recv(0); broadcast_object({"lr": 0.1}); all_gather_object(rank())
//	init_parallel(tensor=2, pipeline=2); send_forward_recv_backward(y, (2, 3))
//
// A collective (collective.go) is a row whose function reads the arguments and hands
// runtime.Rank.Run a runtime.Collective: which blocks move is decided there, and
// below it in package comm. With async_op=True it gives a Work and a tensor whose
// reader waits.
//
// A group of ranks is a Group as new_group makes it, or any other value that
// implements Grouped: the meshes of package dtensor, the process groups of package
// colossal, a ParallelMode. GroupOf reads an argument group=.
//
// Functions between the stages of a pipeline are rows of one table (transfer.go).
// Each row here has Communicates set: faults can strike it.
package collective

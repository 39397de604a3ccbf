// Package launch runs the ranks of a job as processes: on this host, and with
// launchers of other hosts on those. To a front end a job is a control
// connection to each rank; to a rank it is links to the others. What they say
// to each other it does not know.
//
// Terms:
//
//   - A worker is the process of one rank. It is the program itself, started
//     again, and knows by its environment that it is one (IsWorker).
//   - A launcher is a process that starts workers. It hears of their ends and
//     stops from the kernel.
//   - A node is a launcher with its workers, numbered from 0; usually there is
//     one on each host. The front end, the supervisor of package comm and the
//     rendezvous are in node 0. The other launchers carry the control
//     connections of their workers to it, and report what the kernel tells.
//   - A World is processes that another launcher has started, such as mpirun,
//     each of which is a rank. Nobody here watches them: that launcher decides
//     what a death means. GatherIn makes a Cluster of them in the process of
//     rank 0, and TakeSeatIn is what the others do.
//
// A launcher looks like this:
//
//	cluster, err := launch.Gather(ctx, launch.Options{Transport: "shm", Ranks: 4})
//	...
//	defer cluster.Close(0)
//	job, err := cluster.Start(ctx, launch.Spec{Config: config})
//	...
//	defer job.Stop()
//	session := lang.NewSession(job.Conns(), lang.Options{})
//
// and a worker like this:
//
//	seat, err := launch.TakeSeat()
//	...
//	defer seat.Close()
//	for more := true; more; more = seat.Next() {
//		seat.Ready(nil)
//		lang.Serve(ctx, seat.Conn, ...)
//	}
//
// Launchers of several nodes let each other hear that they are there, as ranks
// and the supervisor do: one that is stopped is given up, though its workers go
// on. Its workers end of that, too, and let it go on, to end as well.
//
// No worker outlives its launcher: Stop ends it, and else the kernel does, or
// the end of its control connection. The ranks of a World end together: Close of
// the Cluster tells them the exit status.
package launch

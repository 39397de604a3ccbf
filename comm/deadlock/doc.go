// Package deadlock finds the waits of ranks that can never end, and passes on the failures and ends
// of ranks. It is pure: it knows neither channels nor timers nor streams,
// and is told of events, with their times.
//
// Terms:
//
//   - A Graph says of each rank whether it runs, is blocked or has ended, and
//     if it is blocked for whom it waits. A deadlock is a smallest closed set of
//     it: blocked ranks each of which waits for members of the set and for ended
//     ranks alone.
//   - A Report is what a rank tells the supervisor: that it waits, runs, has ended.
//   - A Verdict is what the supervisor tells a rank: that another has ended or is lost, that
//     its wait has ended in a deadlock; or a question, where it is.
//   - A Machine takes in Events, reports among them, and answers each with an
//     Outcome: verdicts to send, notices to give.
//   - An inquiry asks the ranks of an apparent deadlock, which holds their
//     waits until all have answered.
//   - A suspicion is that a rank is lost, which waits for a better reason (grace).
//
// Ranks of one process that share memory need only the graph (package inproc).
// Where reports travel, package process drives a machine:
//
//	m := deadlock.NewMachine(deadlock.Options{Size: 4})
//	for {
//		select {
//		case e := <-events:
//			act(m.Step(time.Now(), e))
//		case <-timer.C: // set to m.Due()
//			act(m.Step(time.Now(), deadlock.Event{}))
//		}
//	}
//
// A recv that can never end goes: ReportWaits (learn), ClosedSets and consistent
// (examine), VerdictHold (inquire), ReportAnswer, VerdictDeadlock (condemn).
package deadlock

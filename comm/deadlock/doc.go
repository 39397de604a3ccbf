// Package deadlock finds the sets of ranks whose waits can never end. It is
// pure: it is told who waits for whom, and knows neither channels nor timers.
//
// Terms:
//
//   - A Graph says of each rank whether it runs, is blocked or has ended, and
//     if it is blocked for whom it waits.
//   - A closed set is one of blocked ranks each of which waits for members of
//     the set and for ended ranks alone. No rank of it can ever go on.
//   - A deadlock is a smallest closed set.
//
// For example, ranks 0 and 1 wait for each other, and rank 2 waits for rank 0:
//
//	g := deadlock.Graph{
//		{State: deadlock.Blocked, Waits: []int{1}},
//		{State: deadlock.Blocked, Waits: []int{0}},
//		{State: deadlock.Blocked, Waits: []int{0}},
//	}
//	g.ClosedSets() // [[0 1]]: rank 2 merely waits for them
package deadlock

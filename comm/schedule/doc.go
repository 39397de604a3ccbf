// Package schedule says how a collective is carried out: which member sends,
// reads, copies and reduces which part of whose blocks, step by step. It is
// pure: it moves nothing and knows no transport, so a simulator proves it.
//
// Terms:
//
//   - A Kind is the pattern by which a collective moves its blocks.
//   - A Block is a strided region of a buffer, a Span some of its bytes.
//   - A Position is all that a schedule depends on: a member's rank in the
//     group, the size of the group, the root and the pairs.
//   - A Part names a chunk of a block that some member offers (MemIn), wants
//     (MemOut) or has for a while (MemSlot).
//   - A Step is one thing that a member does with parts: send, receive, copy,
//     reduce, or meet the others.
//   - An algorithm is a pure function from a Position to steps. There are two
//     families: by message algorithms members send to each other; by direct
//     ones they read and write each other's blocks in place.
//   - Hosts say which members are on one host. In a group on several, kinds have one
//     more algorithm by messages for large blocks, by which less crosses between hosts.
//     Sums then go along a chain of hosts, each of which folds its members' onto the sum that comes.
//   - A Relay says how what each member has to say comes to all others in a few messages:
//     contracts, and short data with them.
//   - A Scheduler picks the algorithm for a call, and remembers its steps.
//
// For example, the member with rank 1 of 3 takes part in a small all_reduce by
// messages with
//
//	s := &schedule.Scheduler{Rank: 1, Size: 3}
//	for _, step := range s.Message(schedule.AllReduce, -1, nil, len(in)) {
//		...
//	}
//
// whose steps are: send In[0] to members 2 and 0, receive theirs into slots 2
// and 0, and reduce slot 0, In[0] and slot 2, in that order, to Out[0]. The
// order of a reduction is always that of ranks, in either family: the same bits
// on every transport and at every size. From 256 members on, one of them adds for all.
//
// A new algorithm is a file with two functions, and a row in table.go; a
// new Kind is a constant in kinds.go and a row in table.go, which has its definition: the
// blocks that members offer, and of which each block of a result is made. The
// tests (simulate_test.go) run every algorithm of every kind at 1 to 16 members,
// with blocks even, uneven and empty, in any order of steps that messages allow,
// hold the results to the definition,
// and check that nothing is missing, added twice or awaited for ever.
package schedule

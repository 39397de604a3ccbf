package schedule

import "math/bits"

// A Relay is how every member of a group comes to have what each has to say, though it
// hears of few: in round k it sends to the member 2^k behind it what it has of itself
// and of those before it, twice as much as in the round before. For P members it takes ceil(log2 P) rounds, and
// as many messages of each, where P-1 messages tell each other directly; the bytes are the
// same. Members say things of any length, so this is no algorithm for blocks: what is
// short travels with it.
//
// Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in
// multiport message-passing systems", IEEE Transactions on Parallel and Distributed Systems
// 8(11), 1997; Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization",
// International Journal of Parallel Programming 17(1), 1988, for the rounds.
type Relay struct{ Rank, Size int }

// Rounds returns how many rounds there are: 0 for one member.
func (r Relay) Rounds() int { return bits.Len(uint(r.Size - 1)) }

// To and From return to whom the member sends in a round, and from whom it receives.
func (r Relay) To(round int) int   { return (r.Rank + 1<<round) % r.Size }
func (r Relay) From(round int) int { return (r.Rank + r.Size - 1<<round) % r.Size }

// Count returns of how many members each message of a round tells: of its sender, and of
// those before it.
func (r Relay) Count(round int) int { return min(1<<round, r.Size-1<<round) }

// Member returns the member that is so many places before this one.
func (r Relay) Member(before int) int { return (r.Rank + r.Size - before) % r.Size }

package schedule

import "math/bits"

// A Relay is how every member of a group comes to have what each has to say, though it
// hears from few: in hop k it sends to the member 2^k behind it what it has of itself
// and of those before it, twice as much as in the hop before. For P members it takes ceil(log2 P) hops, and
// as many messages of each, where P-1 messages tell each other directly; the bytes are the
// same. Members say things of any length, so this is no algorithm for blocks: what is
// short travels with it.
//
// Bruck, Ho, Kipnis, Upfal and Weathersby, "Efficient algorithms for all-to-all communications in
// multiport message-passing systems", IEEE Transactions on Parallel and Distributed Systems
// 8(11), 1997; Hensgen, Finkel and Manber, "Two algorithms for barrier synchronization",
// International Journal of Parallel Programming 17(1), 1988, for the hops.
type Relay struct{ Rank, Size int }

// Hops returns how many hops there are: 0 for one member.
func (r Relay) Hops() int { return bits.Len(uint(r.Size - 1)) }

// To and From return to whom the member sends in a hop, and from whom it receives.
func (r Relay) To(hop int) int   { return (r.Rank + 1<<hop) % r.Size }
func (r Relay) From(hop int) int { return (r.Rank + r.Size - 1<<hop) % r.Size }

// Count returns of how many members each message of a hop tells: of its sender, and of
// those before it.
func (r Relay) Count(hop int) int { return min(1<<hop, r.Size-1<<hop) }

// Carries reports whether a block goes on in a hop that is for the member so many places behind the one
// that has it when the relay begins. What each member has for each other moves so in as many hops, half of it in each:
// in a hop each member sends on what is to go by 2^hop places, and so has a block for each distance
// as before, of a member further away.
func (r Relay) Carries(hop, behind int) bool { return behind>>hop&1 == 1 }

// Member returns the member that is so many places before this one.
func (r Relay) Member(before int) int { return (r.Rank + r.Size - before) % r.Size }

package schedule

import "slices"

// broadcastHosts leaves In[0] of the root in Out[0] of every member, for large blocks in a
// group on several hosts.
//
// The root scatters its block to the members of other hosts, who all-gather the chunks
// among themselves as in allGatherHosts; and once more to those of its own host, which do
// so, too. For S bytes on H hosts, S(H-1) bytes cross from one host to another, the least
// any algorithm can: the root's host sends S of them, and each other host S(H-2)/(H-1) if
// they are equal. By broadcastScatter it is about R times that on hosts of R members. The
// tag of a message is the number of the chunk.
//
// For sources see broadcastScatter and allGatherHosts.
func broadcastHosts(s Position) []Step {
	if s.Rank == s.Root {
		var steps []Step
		for _, near := range []bool{false, true} {
			to := s.receivers(near)
			for i, r := range to {
				steps = append(steps, sendStep(r, i, s.In(0).Chunk(i, len(to))))
			}
		}
		return append(steps, copyStep(s.Out(0), s.In(0)))
	}
	others := s.receivers(s.Hosts.of[s.Rank] == s.Hosts.of[s.Root])
	chunk := func(i int) Part { return s.Out(0).Chunk(i, len(others)) }
	var steps, first, rest []Step
	for i, owner := range others {
		from, to := s.Hosts.relay(owner, s.Rank, s.Root)
		if owner == s.Rank {
			steps = append([]Step{recvStep(chunk(i), s.Root, i)}, sendSteps(to, i, chunk(i))...)
			continue
		}
		passed := append([]Step{recvStep(chunk(i), from, i)}, sendSteps(to, i, chunk(i))...)
		if len(to) > 0 {
			first = append(first, passed...)
		} else {
			rest = append(rest, passed...)
		}
	}
	return append(steps, late(1, append(first, rest...))...)
}

// receivers lists the members other than the root on its host, or those on other hosts.
func (s Position) receivers(near bool) []int {
	return slices.DeleteFunc(firstRanks(s.Size), func(r int) bool {
		return r == s.Root || near != (s.Hosts.of[r] == s.Hosts.of[s.Root])
	})
}

func firstRanks(n int) []int {
	ranks := make([]int, n)
	for r := range ranks {
		ranks[r] = r
	}
	return ranks
}

package schedule

// reduceScatterHosts leaves the reduction of every In[r] in Out[0] of member r, for large
// blocks in a group on several hosts, each of which has members that follow each other.
//
// For each block every host has a member that works on it, the one in the place of the
// block's owner; they are a chain as in allReduceHosts, and the last one sends the result
// to the owner. For S bytes a member on H hosts of R members, S(H-1) bytes cross along the
// chains, and S(H-1)/H to owners that are not on the last host. Where sums are in the order
// of members less is not possible: each host but a block's own sends of it at least once,
// and if the block's own is not the last, it sends a sum that others add to. By
// reduceScatterPairwise SR(H-1) bytes cross.
//
// For sources see allReduceHosts.
func reduceScatterHosts(s Position) []Step {
	h, host := s.Hosts, s.Hosts.of[s.Rank]
	hosts := len(h.members)
	var early, sums, back []Step
	slot := 0
	for r := range s.Size {
		chain := h.place[r]
		if worker := h.worker(chain, host); worker != s.Rank {
			early = append(early, sendStep(worker, r, s.In(r)))
			continue
		}
		fold := s.foldLink(chain, r, s.In(r), &slot)
		if host < hosts-1 {
			sums = append(sums, s.passLink(fold, h.worker(chain, host+1), &slot)...)
		} else {
			sums = append(sums, s.giveLink(fold, r, s.Out(0), &slot)...)
		}
	}
	if last := h.worker(h.place[s.Rank], hosts-1); host < hosts-1 {
		back = []Step{recvStep(s.Out(0), last, s.Rank)}
	}
	early = append(early, sums...)
	return append(early, late(hosts-host, back)...)
}

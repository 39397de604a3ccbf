package schedule

// reduceHosts leaves the reduction of every In[0] in Out[0] of the root, for large blocks
// in a group on several hosts, each of which has members that follow each other.
//
// It is the chain of allReduceHosts, whose last members send the result to the root. For S
// bytes on H hosts of R members S(H-1) bytes cross, and S more if the root is not on the
// last host; by reducePairwise it is SR(H-1) to chunks' members, and from those to the root.
func reduceHosts(s Position) []Step {
	h, host := s.Hosts, s.Hosts.of[s.Rank]
	hosts := len(h.members)
	var early, sums, back []Step
	slot := 0
	for chain := range h.chains {
		chunk := s.In(0).Chunk(chain, h.chains)
		result := s.Out(0).Chunk(chain, h.chains)
		if last := h.worker(chain, hosts-1); s.Rank == s.Root && last != s.Rank {
			back = append(back, recvStep(result, last, chain))
		}
		if worker := h.worker(chain, host); worker != s.Rank {
			early = append(early, sendStep(worker, chain, chunk))
			continue
		}
		fold := s.foldLink(chain, chain, chunk, &slot)
		if host < hosts-1 {
			sums = append(sums, s.passLink(fold, h.worker(chain, host+1), &slot)...)
		} else {
			sums = append(sums, s.giveLink(fold, s.Root, result, &slot)...)
		}
	}
	early = append(early, sums...)
	return append(early, late(hosts-host, back)...)
}

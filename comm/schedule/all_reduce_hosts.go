package schedule

// allReduceHosts leaves the reduction of every In[0] in Out[0] of every member, for large
// blocks in a group on several hosts, each of which has members that follow each other.
//
// A block has as many chunks as the largest host has members, and each chunk a chain of one
// member of every host. This one has the chunk of those beside it, reduces them in the
// order of members onto the sum that comes from the host before, and sends that to the next host.
// The last host has the result, which goes back along the chain, and on every host to
// those beside. For S bytes on H hosts of R members, 2S(H-1)
// bytes cross, S from each host to each of its neighbours, the least any algorithm can, and
// of allReducePairwise R times that. The order of the sum is that of members, which leaves
// no shorter way than the chain; its links work on different pieces at the same time.
//
// Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of
// workstations", JPDC 69(2), 2009, for pipelined chains and rings.
func allReduceHosts(s Position) []Step {
	h, host := s.Hosts, s.Hosts.of[s.Rank]
	hosts := len(h.members)
	var early, sums, back []Step
	slot := 0
	for chain := range h.chains {
		chunk := s.Out(0).Chunk(chain, h.chains)
		worker := h.worker(chain, host)
		if worker != s.Rank {
			early = append(early, sendStep(worker, chain, s.In(0).Chunk(chain, h.chains)))
			back = append(back, recvStep(chunk, worker, chain))
			continue
		}
		fold := s.foldLink(chain, chain, s.In(0).Chunk(chain, h.chains), &slot)
		var to []int
		if host > 0 {
			to = append(to, h.worker(chain, host-1))
		}
		to = append(to, h.beside(s.Rank)...)
		if host == hosts-1 {
			sums = append(sums, s.endLink(fold, chunk)...)
			sums = append(sums, sendSteps(to, chain, chunk)...)
			continue
		}
		sums = append(sums, s.passLink(fold, h.worker(chain, host+1), &slot)...)
		back = append(back, recvStep(chunk, h.worker(chain, host+1), chain))
		back = append(back, sendSteps(to, chain, chunk)...)
	}
	early = append(early, sums...)
	return append(early, late(2*(hosts-1-host)+1, back)...)
}

// worker returns the member of a host that works on a chain.
func (h *Hosts) worker(chain, host int) int {
	list := h.members[host]
	return list[chain%len(list)]
}

// foldLink lists the steps of the position's member, which works on a chain, by which it has
// the parts that it folds: its own, the same of those beside it, and the sum from the host
// before. The last step is the fold, without a dst. slot is the next that is free.
func (s Position) foldLink(chain, tag int, own Part, slot *int) []Step {
	h, host := s.Hosts, s.Hosts.of[s.Rank]
	fold := Step{Do: DoFold, Tag: tag, First: host == 0}
	var steps []Step
	take := func(from int) {
		part := s.Slot(*slot)
		*slot++
		steps = append(steps, recvStep(part, from, tag))
		fold.Src = append(fold.Src, part)
	}
	if host > 0 {
		take(h.worker(chain, host-1))
	}
	for _, r := range h.members[host] {
		if r == s.Rank {
			fold.Src = append(fold.Src, own)
		} else {
			take(r)
		}
	}
	return append(steps, fold)
}

// passLink has the fold at the end of steps go to the next link.
func (s Position) passLink(steps []Step, next int, slot *int) []Step {
	fold := &steps[len(steps)-1]
	fold.Dst = []Part{s.Slot(*slot)}
	*slot++
	return append(steps, sendStep(next, fold.Tag, fold.Dst[0]))
}

// giveLink has the fold at the end of steps leave the result with a member: in dst if that is
// the position's own.
func (s Position) giveLink(steps []Step, to int, dst Part, slot *int) []Step {
	if to == s.Rank {
		return s.endLink(steps, dst)
	}
	result := s.Slot(*slot)
	*slot++
	steps = s.endLink(steps, result)
	return append(steps, sendStep(to, steps[len(steps)-1].Tag, result))
}

// endLink has the fold at the end of steps leave the result in dst.
func (s Position) endLink(steps []Step, dst Part) []Step {
	fold := &steps[len(steps)-1]
	fold.Dst, fold.Last = []Part{dst}, true
	return steps
}

package schedule

// allGatherHosts leaves In[0] of member r in Out[r] of every member, in a group on
// several hosts.
//
// A member sends a short block to every other, as in allGatherExchange. A long one it
// sends to those of its host and to one member of each other host, which sends it on to
// those beside it. The members of a host send to different ones, which share the work. For
// long blocks of S bytes on H hosts of R members, a host sends SR(H-1) bytes to others and
// receives as many, the least any algorithm can; by allGatherExchange it is R times that.
// Blocks may differ in length, and the members need not be in the order of hosts. The messages that a
// member sends first depend on the length of its own block alone.
//
// Thakur, Rabenseifner and Gropp, "Optimization of collective communication operations in
// MPICH", IJHPCA 19(1), 2005, for one member a host; Karonis, de Supinski, Foster, Gropp,
// Lusk and Bresnahan, "Exploiting hierarchy in parallel computer networks to optimize
// collective operation performance", IPDPS 2000, for levels.
func allGatherHosts(s Position) []Step {
	_, to := s.blockRelay(s.Rank)
	steps := append(sendSteps(to, s.blockTag(s.Rank), s.In(0)), copyStep(s.Out(s.Rank), s.In(0)))
	var first, rest []Step
	for _, r := range s.Others() {
		from, to := s.blockRelay(r)
		passed := append([]Step{recvStep(s.Out(r), from, s.blockTag(r))}, sendSteps(to, s.blockTag(r), s.Out(r))...)
		if len(to) > 0 {
			first = append(first, passed...)
		} else {
			rest = append(rest, passed...)
		}
	}
	return append(steps, late(1, append(first, rest...))...)
}

// blockRelay returns from whom the position's member has the block of a member, and to
// whom it sends it.
func (s Position) blockRelay(owner int) (from int, to []int) {
	switch {
	case s.Long[owner]:
		return s.Hosts.relay(owner, s.Rank, -1)
	case owner == s.Rank:
		return -1, s.Others()
	}
	return owner, nil
}

// blockTag returns the tag under which a member's block is sent: if it is short that of
// allGatherExchange, since its owner need not know of long ones.
func (s Position) blockTag(owner int) int {
	if !s.Long[owner] {
		return 0
	}
	return owner + 1
}

// BlockOf returns whose block a message of an AllGather is that one member sends to others
// under a tag.
func BlockOf(sender, tag int) (owner int) {
	if tag == 0 {
		return sender
	}
	return tag - 1
}

// sendSteps lists the steps that send a part to peers.
func sendSteps(peers []int, tag int, src Part) (steps []Step) {
	for _, r := range peers {
		steps = append(steps, sendStep(r, tag, src))
	}
	return steps
}

// late returns the steps as such that are behind by so many pieces.
func late(pieces int, steps []Step) []Step {
	for i := range steps {
		steps[i].Late = pieces
	}
	return steps
}

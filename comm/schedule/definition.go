package schedule

// A Source is a block that a member offers: In[Block] of Member, a group rank.
type Source struct{ Member, Block int }

// A definition says what a kind comes to, whatever the algorithm. The simulator holds every
// algorithm to it, and package commtest every transport.
type definition struct {
	// ins returns how many blocks a member offers.
	ins func(p Position) int

	// outs returns what each block of a member's result is: a copy of one Source, or the
	// reduction of several in their order. Blocks that are reduced are as long as each other.
	outs func(p Position) [][]Source
}

// Ins returns how many blocks a member of a call offers.
func (k Kind) Ins(rank, size, root int, pairs [][2]int) int {
	return kindRows[k].is.ins(Position{Rank: rank, Size: size, Root: root, Pairs: pairs})
}

// Outs returns what each block of a member's result is: a copy of one Source, or the
// reduction of several in their order.
func (k Kind) Outs(rank, size, root int, pairs [][2]int) [][]Source {
	return kindRows[k].is.outs(Position{Rank: rank, Size: size, Root: root, Pairs: pairs})
}

// none, one and forEach are what definition.ins may be.
func none(Position) int      { return 0 }
func one(Position) int       { return 1 }
func forEach(p Position) int { return p.Size }

// offeredBy restricts what definition.ins says to the members that offer blocks.
func offeredBy(who func(Position) bool, ins func(Position) int) func(Position) int {
	return func(p Position) int {
		if !who(p) {
			return 0
		}
		return ins(p)
	}
}

// resultsAt restricts what definition.outs says to the members that have results.
func resultsAt(who func(Position) bool, outs func(Position) [][]Source) func(Position) [][]Source {
	return func(p Position) [][]Source {
		if !who(p) {
			return nil
		}
		return outs(p)
	}
}

// column returns the given block of every member, in rank order.
func column(p Position, block int) []Source {
	list := make([]Source, p.Size)
	for r := range list {
		list[r] = Source{r, block}
	}
	return list
}

func nothing(Position) [][]Source { return nil }

// firstOfRoot is In[0] of the root, ownOfRoot its block for the member.
func firstOfRoot(p Position) [][]Source { return [][]Source{{{p.Root, 0}}} }
func ownOfRoot(p Position) [][]Source   { return [][]Source{{{p.Root, p.Rank}}} }

// firstOfEach is In[0] of every member, ownOfEach their blocks for the member.
func firstOfEach(p Position) [][]Source { return apart(column(p, 0)) }
func ownOfEach(p Position) [][]Source   { return apart(column(p, p.Rank)) }

// firstsReduced is the reduction of In[0] of all members, ownReduced that of their blocks for
// the member.
func firstsReduced(p Position) [][]Source { return [][]Source{column(p, 0)} }
func ownReduced(p Position) [][]Source    { return [][]Source{column(p, p.Rank)} }

// apart makes each of list a block of its own.
func apart(list []Source) [][]Source {
	outs := make([][]Source, len(list))
	for i := range list {
		outs[i] = list[i : i+1]
	}
	return outs
}

// ofPair is In[0] of the member from which a pair leads to this one.
func ofPair(p Position) [][]Source {
	for _, pair := range p.Pairs {
		if pair[1] == p.Rank {
			return [][]Source{{{pair[0], 0}}}
		}
	}
	return nil
}

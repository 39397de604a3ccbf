package schedule

import "slices"

// An Exchange is one member's part of a direct schedule where members
// cannot write each other's blocks, and blocks that are read must be passed: by
// staging buffers, or from its memory. It follows from the direct schedules of all
// members, so the simulator, which proves those, proves this. For example, the root of a
// Scatter has an Outgoing for each other member, In[r] for member r, and each of these an
// Incoming from the root.
type Exchange struct {
	Out    []Outgoing // the parts that others read of this member's blocks, and of its reduction
	In     []Incoming // the parts that this member reads of others to have them
	Reduce *Step      // the reduction that this member does, nil if it does none

	// Passable says that staging buffers can pass it: if members reduce, each reads a
	// part of every other that nobody else reads. It is alike for all members.
	Passable bool
}

// An Outgoing is a part that several members read of one, or one does.
type Outgoing struct {
	To     []int // the readers' group ranks
	Part   Part  // of In; of Out for a result
	Result bool  // whether it is the result of Reduce
}

// Shared reports whether several read o.
func (o *Outgoing) Shared() bool { return o.Result || len(o.To) > 1 }

// An Incoming is a part that a member reads of another to have it.
type Incoming struct {
	From   int
	Part   Part // of the reader's own Out, to which it goes
	Shared bool // whether it is read from a shared Outgoing
}

// exchangeOf returns the exchange of the member at p.
func exchangeOf(kind Kind, p Position) *Exchange {
	x := &Exchange{}
	steps := make([][]Step, p.Size) // those for large blocks, whatever the length
	for r := range steps {
		at := p
		at.Rank = r
		steps[r] = kindRows[kind].direct[0].steps(at)
	}
	table := readersOf(steps)
	x.Passable = isPassable(steps, table)
	for _, reader := range p.Others() {
		for _, s := range steps[reader] {
			for _, part := range s.Src {
				if part.Member == p.Rank {
					x.read(reader, part)
				}
			}
		}
	}
	for i, s := range steps[p.Rank] {
		if s.Do == DoReduce {
			x.Reduce = &steps[p.Rank][i]
			x.give(p.Rank, s.Dst)
		}
		if s.Do == DoCopy && s.Src[0].Member != p.Rank {
			from := s.Src[0]
			x.In = append(x.In, Incoming{from.Member, s.Dst[0], table.shared(from)})
		}
	}
	for _, from := range p.Others() {
		for _, s := range steps[from] {
			for _, part := range s.Dst {
				if part.Member == p.Rank {
					x.In = append(x.In, Incoming{from, part, true})
				}
			}
		}
	}
	return x
}

// Beside returns those of the message schedule of the member at p, where some members
// pass by an exchange the parts that others read of them and the others send them: the sends of the
// member unless it passes its parts, which come before the exchange, and the receives from
// members that send, which come after. It is for kinds that do not reduce.
func Beside(steps []Step, p Position, passes func(member int) bool) (before, after []Step) {
	for _, st := range steps {
		switch {
		case st.Do == DoSend && !passes(p.Rank):
			before = append(before, st)
		case st.Do == DoRecv && !passes(st.Peer):
			after = append(after, st)
		}
	}
	return before, after
}

// read notes that a member reads a part.
func (x *Exchange) read(reader int, part Part) {
	i := slices.IndexFunc(x.Out, func(o Outgoing) bool { return o.Part == part })
	if i < 0 {
		i = len(x.Out)
		x.Out = append(x.Out, Outgoing{Part: part})
	}
	x.Out[i].To = append(x.Out[i].To, reader)
}

// give notes that the member reduces to parts, of which those of others read the
// result.
func (x *Exchange) give(own int, dst []Part) {
	var o Outgoing
	for _, part := range dst {
		if part.Member != own {
			o.To, o.Part, o.Result = append(o.To, part.Member), part, true
		}
	}
	if o.Result {
		x.Out = append(x.Out, o)
	}
}

// isPassable returns Exchange.Passable for the steps of all members.
func isPassable(steps [][]Step, table readerTable) bool {
	for _, list := range steps {
		for _, s := range list {
			if s.Do == DoReduce && (len(s.Src) != len(steps) || slices.ContainsFunc(s.Src, table.shared)) {
				return false
			}
		}
	}
	return true
}

// A readerTable has the readers of each part, but for its owner.
type readerTable map[Part]readers

// readers are the members that read a part: how many, and the last of them.
type readers struct{ n, last int }

// readersOf returns the readers in the steps of all members.
func readersOf(steps [][]Step) readerTable {
	table := readerTable{}
	for r, list := range steps {
		for _, s := range list {
			for _, part := range s.Src {
				if of := table[part]; part.Member != r && (of.n == 0 || of.last != r) {
					table[part] = readers{of.n + 1, r}
				}
			}
		}
	}
	return table
}

// shared reports whether several members other than its owner read a part.
func (t readerTable) shared(part Part) bool { return t[part].n > 1 }

// Exchange returns the exchange of a call. It is to be read only.
func (s *Scheduler) Exchange(kind Kind, root int, pairs [][2]int) *Exchange {
	p := Position{Rank: s.Rank, Size: s.Size, Root: root, Pairs: pairs}
	if pairs != nil {
		return exchangeOf(kind, p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := exchangeKey{kind, root}
	x := s.exchanges[key]
	if x == nil {
		x = exchangeOf(kind, p)
		if s.exchanges == nil {
			s.exchanges = map[exchangeKey]*Exchange{}
		}
		s.exchanges[key] = x
	}
	return x
}

type exchangeKey struct {
	kind Kind
	root int
}

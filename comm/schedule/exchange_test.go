package schedule

import (
	"slices"
	"testing"
)

// stagedSteps are the steps of an exchange, with a message for everything that is
// read: for the simulator, which so proves that an exchange moves what it must.
func stagedSteps(kind Kind, p Position) []Step {
	x := exchangeOf(kind, p)
	var steps []Step
	for _, o := range x.Out {
		for _, to := range o.To {
			if !o.Result {
				steps = append(steps, sendStep(to, 0, o.Part))
			}
		}
	}
	for _, s := range pick(kindRows[kind].message, 0, p.Size).steps(p) {
		if s.Do == DoCopy { // of the member's own
			steps = append(steps, s)
		}
	}
	if x.Reduce != nil {
		steps = append(steps, reduceStaged(p, x)...)
	}
	for _, in := range x.In {
		tag := 0
		if x.Reduce != nil || kind.Reduces() {
			tag = 1
		}
		steps = append(steps, recvStep(in.Part, in.From, tag))
	}
	return steps
}

// mixedSteps are the steps of a call in which some members pass by an exchange what
// others read of them, and the others send it.
func mixedSteps(kind Kind, p Position, passes func(member int) bool) []Step {
	message := pick(kindRows[kind].message, 0, p.Size).steps(p)
	before, after := Beside(message, p, passes)
	var exchanged []Step
	for _, st := range stagedSteps(kind, p) {
		if st.Do == DoCopy || st.Do == DoSend && passes(p.Rank) || st.Do == DoRecv && passes(st.Peer) {
			exchanged = append(exchanged, st)
		}
	}
	return slices.Concat(before, exchanged, after)
}

// mixed returns algorithms in which some members pass by an exchange and others do not,
// none for kinds in which all do or nobody.
func mixed(kind Kind) (list []algorithm) {
	if kind.Reduces() || kind.FromRoot() {
		return nil
	}
	for name, passes := range map[string]func(int) bool{
		"odd":  func(m int) bool { return m%2 == 1 },
		"last": func(m int) bool { return m > 2 },
	} {
		list = append(list, algorithm{name, nil, func(p Position) []Step { return mixedSteps(kind, p, passes) }, sendsNothing})
	}
	return list
}

// shared returns the algorithm of a result that members have in common, none for kinds
// whose results are not alike: each block is made in pieces, and each piece by some
// member. Here every member has the result for itself, so the piece goes to all.
func shared(kind Kind) []algorithm {
	if !kind.Alike() {
		return nil
	}
	return []algorithm{{"pieces", nil, func(p Position) []Step {
		maker := p
		maker.Rank = p.Size - 1
		steps := []Step{meetStep}
		for i, st := range sharedSteps(pick(kindRows[kind].direct, 0, p.Size).steps(maker)) {
			for piece := range p.Size + 1 {
				if (piece+i)%p.Size == p.Rank {
					steps = append(steps, sharedPiece(p, st, piece, p.Size+1)...)
				}
			}
		}
		return append(steps, meetStep)
	}, nil}}
}

// sharedPiece returns the steps that do a piece of st for every member.
func sharedPiece(p Position, st Step, piece, pieces int) (steps []Step) {
	src := slices.Clone(st.Src)
	for i := range src {
		src[i] = src[i].Chunk(piece, pieces)
	}
	for r := range p.Size {
		dst := st.Dst[0].Of(r).Chunk(piece, pieces)
		steps = append(steps, Step{Do: st.Do, Dst: []Part{dst}, Src: src})
	}
	return steps
}

// reduceStaged is the reduction of an exchange: what is read comes to slots, and the
// result goes to the member's own part, or to one more slot, and on from there.
func reduceStaged(p Position, x *Exchange) []Step {
	var steps []Step
	src := slices.Clone(x.Reduce.Src)
	for r, part := range src {
		if part.Member != p.Rank {
			src[r] = p.Slot(r)
			steps = append(steps, recvStep(src[r], r, 0))
		}
	}
	dst := p.Slot(p.Size)
	if i := slices.IndexFunc(x.Reduce.Dst, func(d Part) bool { return d.Member == p.Rank }); i >= 0 {
		dst = x.Reduce.Dst[i]
	}
	steps = append(steps, Step{Do: DoReduce, Dst: []Part{dst}, Src: src})
	for _, o := range x.Out {
		for _, to := range o.To {
			if o.Result {
				steps = append(steps, sendStep(to, 1, dst))
			}
		}
	}
	return steps
}

// Who reads from a shared part is one for whom it is shared, and the other way round.
func TestExchangesMatch(t *testing.T) {
	for kind := range Kinds {
		for size := 1; size <= 9; size++ {
			for _, c := range simCases(kind, size)[:1] {
				for r := range size {
					x := exchangeOf(kind, Position{Rank: r, Size: size, Root: c.root, Pairs: c.pairs})
					shared, alone := 0, map[int]bool{}
					for _, o := range x.Out {
						if o.Shared() {
							shared++
						} else if alone[o.To[0]] {
							t.Errorf("%s of %d: member %d passes two parts to %d, want one: there is one slot", kind, size, r, o.To[0])
						} else {
							alone[o.To[0]] = true
						}
					}
					if shared > 1 {
						t.Errorf("%s of %d: member %d shares %d parts, want one: there is one slot", kind, size, r, shared)
					}
					for _, in := range x.In {
						theirs := exchangeOf(kind, Position{Rank: in.From, Size: size, Root: c.root, Pairs: c.pairs})
						n := 0
						for _, o := range theirs.Out {
							if slices.Contains(o.To, r) && o.Shared() == in.Shared && o.Result == kind.Reduces() {
								n++
							}
						}
						if n != 1 {
							t.Errorf("%s of %d: member %d reads from %d (shared %v): %d such there, want 1", kind, size, r, in.From, in.Shared, n)
						}
					}
					if got := kind.Offers(Position{Rank: r, Size: size, Root: c.root, Pairs: c.pairs}); size > 1 && got != slices.ContainsFunc(x.Out, func(o Outgoing) bool { return !o.Result }) {
						t.Errorf("%s of %d: member %d offers: got %v", kind, size, r, got)
					}
				}
			}
		}
	}
}

// What is reduced passes through staging buffers: of every other member each reads a
// part that is for it alone.
func TestReductionsArePassable(t *testing.T) {
	for _, kind := range []Kind{AllReduce, Reduce, ReduceScatter} {
		for size := 2; size <= 9; size++ {
			if x := exchangeOf(kind, Position{Size: size, Root: size - 1}); !x.Passable {
				t.Errorf("%s of %d is not passable", kind, size)
			}
		}
	}
	twice := [][]Step{{reduceInPlace(Position{Size: 2}, nil, Part{})}, {reduceInPlace(Position{Rank: 1, Size: 2}, nil, Part{})}, nil}
	if isPassable(twice, readersOf(twice)) {
		t.Error("a part that several read is passable, want it not")
	}
}

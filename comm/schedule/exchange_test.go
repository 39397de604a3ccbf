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
					x := exchangeOf(kind, Position{r, size, c.root, c.pairs})
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
						theirs := exchangeOf(kind, Position{in.From, size, c.root, c.pairs})
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
					if got := kind.Offers(Position{r, size, c.root, c.pairs}); size > 1 && got != slices.ContainsFunc(x.Out, func(o Outgoing) bool { return !o.Result }) {
						t.Errorf("%s of %d: member %d offers: got %v", kind, size, r, got)
					}
				}
			}
		}
	}
}

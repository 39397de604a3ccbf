package comm

import (
	"errors"
	"slices"
)

// Caught lists the errors of its own that a rank has caught, after which it may have
// left out calls that others make. For each other rank it has a clock: 0 when the
// two have been in a collective together, one more after an error, and no less than
// the other's was when this one was told of an error of that one. Of two ranks, the
// one whose clock is ahead has left out the call that the other waits for.
//
// For example, rank 1 catches an error and does not come to its all_reduce, in which rank 0
// waits: its clock for rank 0 is 1 then, and rank 0's for rank 1 is 0. So when it calls the
// barrier that follows, rank 0 is told that rank 1 has left the all_reduce out.
//
// Lamport, "Time, clocks, and the ordering of events in a distributed system",
// CACM 21(7), 1978.
type Caught struct {
	Clocks []int  // by rank; nil if all are 0
	Last   string // the text of the last error
}

// clock returns the clock for a rank.
func (c *Caught) clock(rank int) int {
	if c.Clocks == nil {
		return 0
	}
	return c.Clocks[rank]
}

// LeftOut reports whether a rank that has caught c has left out calls of another
// that has caught d.
func (c *Caught) LeftOut(rank int, d *Caught, other int) bool { return c.clock(other) > d.clock(rank) }

// Caught returns the errors that the rank has caught. It may be called on any goroutine, and
// its list is to be read only.
func (e *Endpoint) Caught() Caught {
	if c := e.caught.Load(); c != nil {
		return *c
	}
	return Caught{}
}

// change has fn change the list of errors that the rank has caught.
func (e *Endpoint) change(fn func(c *Caught)) {
	old := e.Caught()
	c := &Caught{make([]int, e.fabric.Size()), old.Last}
	copy(c.Clocks, old.Clocks)
	fn(c)
	e.caught.Store(c)
}

// NoteCaught says that the rank goes on after an error of its own, of which text
// tells. A mismatch, a deadlock and the failure of a peer are none: comm knows of
// them, and whom they concern.
func (e *Endpoint) NoteCaught(text string) { e.noteCaught(text, nil) }

// noteCaught is NoteCaught of an error that some other ranks have too.
func (e *Endpoint) noteCaught(text string, told []int) {
	e.change(func(c *Caught) {
		c.Last = text
		for r := range c.Clocks {
			if !slices.Contains(told, r) {
				c.Clocks[r]++
			}
		}
	})
}

// hear notes the errors that another rank has caught, as an error tells.
func (e *Endpoint) hear(rank int, theirs *Caught) {
	if at := theirs.clock(e.rank); at > 0 {
		e.change(func(c *Caught) { c.Clocks[rank] = max(c.Clocks[rank], at) })
	}
}

// learn notes the errors that others have caught, as a mismatch or a deadlock tells, which
// the ranks that are told of it have as well.
func (e *Endpoint) learn(err error, told []int) {
	var mismatch *MismatchError
	var dead *DeadlockError
	switch {
	case errors.As(err, &mismatch) && len(mismatch.LeftOut) > 0:
		for _, c := range mismatch.Calls {
			e.hear(c.Rank, &c.Caught)
		}
		e.noteCaught(mismatch.Function()+": a mismatch", told)
	case errors.As(err, &dead) && dead.Told != nil:
		for _, w := range dead.Waits {
			e.hear(w.Rank, &w.Caught)
		}
		e.noteCaught(dead.Function()+": a deadlock", slices.Concat(told, dead.Told, dead.LeftOut()))
	}
}

// met notes that the rank has been in a collective with others.
func (e *Endpoint) met(ranks []int) {
	c := e.caught.Load()
	if c == nil || !slices.ContainsFunc(ranks, func(r int) bool { return c.Clocks[r] > 0 }) {
		return
	}
	e.change(func(c *Caught) {
		for _, r := range ranks {
			c.Clocks[r] = 0
		}
	})
}

// leavesOut reports whether a call has failed with err because this rank had left
// out a call that others made.
func (e *Endpoint) leavesOut(err error) bool {
	var mismatch *MismatchError
	var dead *DeadlockError
	switch {
	case err == nil:
	case errors.As(err, &mismatch):
		return slices.Contains(mismatch.LeftOut, e.rank)
	case errors.As(err, &dead):
		mine := e.Caught()
		return dead.Told != nil && !slices.ContainsFunc(dead.Waits, func(w Wait) bool {
			return slices.Contains(dead.Told, w.Rank) && !mine.LeftOut(e.rank, &w.Caught, w.Rank)
		})
	}
	return false
}

// leftOutBy returns the places of the members that have left out a call that the others
// make, ascending, or nil if that is not clear: where all others agree, and each of
// them waits for a call that each of those has left out.
func leftOutBy(ranks []int, calls []SignedCall) []int {
	if slices.ContainsFunc(calls, func(c SignedCall) bool { return c.Issued }) {
		return nil // its rank may have gone on
	}
	var gone, here []int
	for i := range calls {
		left := func(j int) bool { return calls[i].Caught.LeftOut(ranks[i], &calls[j].Caught, ranks[j]) }
		if slices.ContainsFunc(FirstRanks(len(calls)), left) {
			gone = append(gone, i)
		} else {
			here = append(here, i)
		}
	}
	for _, i := range here {
		first := &calls[here[0]]
		if !calls[i].agrees(first) {
			return nil
		}
		for _, j := range gone {
			if calls[j].agrees(first) || !calls[j].Caught.LeftOut(ranks[j], &calls[i].Caught, ranks[i]) {
				return nil
			}
		}
	}
	return gone
}

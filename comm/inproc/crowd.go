package inproc

// A crowd is the ranks that are blocked at a round: what one of them waits for all do.
type crowd struct {
	count int
	wait  *inprocWait // of one that is there, or was
	hope  int         // the member that was last found missing and to run
}

// join notes that w blocks its rank.
func (mo *monitor) join(w *inprocWait) {
	if w.round == nil {
		mo.single[w] = true
		return
	}
	c := mo.crowds[w.round]
	if c == nil {
		c = &crowd{}
		mo.crowds[w.round] = c
	}
	c.count++
	c.wait = w
}

// part notes that w blocks its rank no longer.
func (mo *monitor) part(w *inprocWait) {
	if w.round == nil {
		delete(mo.single, w)
		return
	}
	if c := mo.crowds[w.round]; c.count > 1 {
		c.count--
	} else {
		delete(mo.crowds, w.round)
	}
}

// allHope reports whether every blocked rank waits for one that runs. It is
// what holds nearly always, and quickly found: for one of those that wait at a
// round it is found for all, mostly for the reason of the time before.
func (mo *monitor) allHope() bool {
	for _, c := range mo.crowds {
		if !mo.hopes(c) {
			return false
		}
	}
	for w := range mo.single {
		if !mo.runs(w.rank) && !mo.runs(w.src) {
			return false
		}
	}
	return true
}

// hopes reports whether the ranks of a crowd need not wait any more, or wait for one that
// runs. Members that have come stay there, so that those that follow each other are looked at
// once around, and not by each rank that comes.
func (mo *monitor) hopes(c *crowd) bool {
	if over, _ := mo.outcomeLocked(c.wait); over {
		return true
	}
	ranks := c.wait.state.ranks
	for i := range ranks {
		member := (c.hope + i) % len(ranks)
		if c.wait.round.lacks(member) && mo.runs(ranks[member]) {
			c.hope = member
			return true
		}
	}
	return false
}

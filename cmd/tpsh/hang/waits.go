package hang

import (
	"slices"
)

// A reason says why one rank waits for another.
type reason int

const (
	notMade   reason = iota // the other has not made the call
	notPosted               // the other has not made its end of a send or receive
	behind                  // the other has made the call, and is held up before it
	noWord                  // there is no evidence of the other
)

// A wait is an edge of the graph: a rank waits in a call for another.
type wait struct {
	from, to int
	call     *Call
	why      reason
}

// A graph says who waits for whom.
type graph struct {
	job   *Job
	waits map[int][]wait // by the rank that waits
	at    map[[2]int]int // where among them a pair of ranks is
	// stuck has the call that a rank has not finished and others have.
	stuck map[int]*Call
	// open has the call that a rank has made as all of its group have, and
	// that none has finished.
	open map[int]*Call
	// lost has calls that wait for some rank that the evidence does not name.
	lost []*Call
}

func newGraph(j *Job) *graph {
	g := &graph{job: j, waits: map[int][]wait{}, at: map[[2]int]int{}, stuck: map[int]*Call{}, open: map[int]*Call{}}
	g.settleStates()
	for _, grp := range j.groups() {
		f := g.front(grp)
		for _, id := range grp.Members {
			if r := j.Ranks[id]; r != nil {
				g.waitIn(r, grp, f)
			}
		}
	}
	for _, id := range j.ids() {
		if c := g.broken(j.Ranks[id]); c != nil {
			g.stuck[id] = c
		}
	}
	for _, id := range j.ids() {
		if g.stuck[id] == nil {
			g.waitAtEnd(j.Ranks[id])
		}
	}
	var guessed []wait
	for _, grp := range j.groups() {
		guessed = append(guessed, g.waitForUnknown(grp)...)
	}
	for _, w := range guessed {
		g.add(w)
	}
	return g
}

// add adds a wait, once for each pair of ranks.
func (g *graph) add(w wait) {
	if w.from == w.to {
		return
	}
	pair := [2]int{w.from, w.to}
	if i, ok := g.at[pair]; ok {
		if w.why < g.waits[w.from][i].why {
			g.waits[w.from][i] = w
		}
		return
	}
	g.at[pair] = len(g.waits[w.from])
	g.waits[w.from] = append(g.waits[w.from], w)
}

// settleStates takes calls of which only the state is recorded, and that not as
// completed, for pending where a peer's is.
func (g *graph) settleStates() {
	for _, grp := range g.job.groups() {
		if !slices.ContainsFunc(g.callsOf(grp), func(c *Call) bool { return c.Done == Unrecorded }) {
			continue
		}
		sure := map[Place]bool{}
		for _, c := range g.callsOf(grp) {
			sure[c.At] = sure[c.At] || c.Done == Done && c.Sure
		}
		for _, c := range g.callsOf(grp) {
			if c.Done == Unrecorded && c.Sure && sure[c.At] {
				c.Done = Pending
			}
		}
	}
	for _, r := range g.job.Ranks {
		r.index()
	}
}

func (g *graph) callsOf(grp *Group) []*Call {
	var calls []*Call
	for _, id := range grp.Members {
		if r := g.job.Ranks[id]; r != nil {
			calls = append(calls, r.in[grp]...)
		}
	}
	return calls
}

// A front says how far the members of a group have come.
type front struct {
	made []arrival // of those of which it is known, the last first
	none []int     // of which there is no evidence
}

// An arrival is the last call that a rank has made.
type arrival struct {
	rank int
	at   Place
}

func (g *graph) front(grp *Group) *front {
	f := new(front)
	for _, id := range grp.Members {
		r := g.job.Ranks[id]
		if r == nil {
			f.none = append(f.none, id)
		} else if p, ok := r.made(grp); ok {
			f.made = append(f.made, arrival{id, p})
		}
	}
	slices.SortStableFunc(f.made, func(a, b arrival) int { return a.at.Compare(b.at) })
	return f
}

// maxSilent is for how many ranks without evidence a rank is said to wait.
const maxSilent = 64

// waitIn adds the waits of r in a group: its first call there that has not
// finished, or that others have not made at all. One that has finished says more than
// that another's only calls are sends and receives.
func (g *graph) waitIn(r *Rank, grp *Group, f *front) {
	for _, c := range r.in[grp] {
		if c.Done != Pending && (len(f.made) == 0 || f.made[0].at.Compare(c.At) >= 0 || grp.P2P && f.made[0].at.Seq < 0) {
			continue
		}
		for _, a := range f.made {
			if a.at.Compare(c.At) >= 0 {
				break
			}
			g.add(wait{r.ID, a.rank, c, notMade})
		}
		if c.Done == Pending {
			for _, id := range f.none[:min(len(f.none), maxSilent)] {
				g.add(wait{r.ID, id, c, noWord})
			}
		}
		return
	}
}

// waitAtEnd adds the waits of r in its earliest pending call for ranks that have
// made theirs, and finds whether it is stuck in it.
func (g *graph) waitAtEnd(r *Rank) {
	c := r.now
	switch {
	case c == nil:
	case c.P2P:
		g.waitForPeer(r, c)
	case !slices.ContainsFunc(g.waits[r.ID], func(w wait) bool { return w.call == c }):
		g.waitBehind(r, c)
	}
}

// waitForPeer adds the wait of a send or receive, unless both ends are in it.
func (g *graph) waitForPeer(r *Rank, c *Call) {
	if c.Peer < 0 || c.Peer == r.ID {
		return
	}
	p := g.job.Ranks[c.Peer]
	if p == nil {
		g.add(wait{r.ID, c.Peer, c, noWord})
		return
	}
	if end := p.now; end != nil && end.meets(c) {
		g.open[r.ID] = c
		return
	}
	why := notPosted
	if slices.ContainsFunc(p.Calls, func(e *Call) bool { return e.Done == Pending && e.meets(c) }) {
		why = behind
	}
	g.add(wait{r.ID, c.Peer, c, why})
}

// meets reports whether c and d are the two ends of a transfer.
func (c *Call) meets(d *Call) bool {
	return c.P2P && d.P2P && c.Group == d.Group && c.Op != d.Op && c.Peer == d.Rank && d.Peer == c.Rank
}

// waitBehind looks at a call c that all have made, r's earliest pending one.
func (g *graph) waitBehind(r *Rank, c *Call) {
	finished, held := false, false
	for _, id := range c.Group.Members {
		p := g.job.Ranks[id]
		if id == r.ID || p == nil {
			continue
		}
		switch g.progress(p, c) {
		case past:
			finished = true
		case inside:
			if g.stuck[id] != nil {
				held = true
				g.add(wait{r.ID, id, c, behind})
			}
		case before:
			held = true
			g.add(wait{r.ID, id, c, behind})
		}
	}
	switch {
	case held:
	case finished:
		g.stuck[r.ID] = c
	case c.Group.Exact || len(c.Group.Members) > 1:
		g.open[r.ID] = c
	}
}

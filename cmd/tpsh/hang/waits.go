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
			if c.Done == Unrecorded && sure[c.At] {
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
// finished, or that others have not made at all.
func (g *graph) waitIn(r *Rank, grp *Group, f *front) {
	for _, c := range r.in[grp] {
		if c.Done != Pending && (len(f.made) == 0 || f.made[0].at.Compare(c.At) >= 0) {
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

// joint has the operations that no member finishes before all have done their part.
var joint = map[string]bool{
	"all_reduce": true, "allreduce_coalesced": true, "barrier": true, "all_reduce_barrier": true,
	"all_gather": true, "_all_gather_base": true, "all_gather_single": true, "all_gather_into_tensor_coalesced": true, "all_gather_v": true,
	"reduce_scatter": true, "_reduce_scatter_base": true, "reduce_scatter_single": true, "reduce_scatter_tensor_coalesced": true, "reduce_scatter_v": true,
	"all_to_all": true, "all_to_all_single": true, "all_to_all_v_single": true,
}

// broken returns the earliest call of r that r's device has done and r does not
// know of, or nil: a peer has finished a later call of the same group, which
// takes r's part in it, and so r's end of all before. What r waits for is then
// of no account.
func (g *graph) broken(r *Rank) *Call {
	var found *Call
	for grp := range r.in {
		first := r.firstPending(grp)
		if first == nil || !joint[first.Op] || found != nil && found.Record <= first.Record {
			continue
		}
		for _, id := range grp.Members {
			if p := g.job.Ranks[id]; p != nil && id != r.ID && g.finishedLater(p, r, first) {
				found = first
				break
			}
		}
	}
	return found
}

// finishedLater reports whether p has finished a joint call behind r's pending
// call c of the same group.
func (g *graph) finishedLater(p, r *Rank, c *Call) bool {
	for _, later := range r.in[c.Group] {
		if later.At.Seq > c.At.Seq && joint[later.Op] {
			return g.progress(p, later) == past
		}
	}
	return false
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

// A progress says where a rank is, seen from a call.
type progress int

const (
	unknown progress = iota
	before           // held up in an earlier call
	inside           // in the same call, as far as it has finished
	past             // has finished it
)

// progress says where p is, seen from a peer's call c that p has made.
func (g *graph) progress(p *Rank, c *Call) progress {
	if s := p.status(c.Group); s.Done >= c.At.Seq && !c.Group.P2P && c.Backend != "gloo" {
		return past
	}
	if first := p.firstPending(c.Group); first != nil && first.At.Compare(c.At) < 0 {
		return before
	}
	own := p.find(c.Group, c.At)
	switch {
	case own == nil:
		return unknown
	case own.Done == Done && own.Sure:
		return past
	case own.Done == Pending && p.now != own:
		return before
	case own.Done == Pending:
		return inside
	}
	return unknown
}

// firstPending returns the first of r's calls in g that has not finished, or nil.
func (r *Rank) firstPending(g *Group) *Call {
	for _, c := range r.in[g] {
		if c.Done == Pending {
			return c
		}
	}
	return nil
}

// waitForUnknown returns the waits in calls of a group of which not all members
// are known, and which all that are known have made: some other rank is in it.
func (g *graph) waitForUnknown(grp *Group) (out []wait) {
	if grp.Exact {
		return nil
	}
	for _, id := range grp.Members {
		r := g.job.Ranks[id]
		if r == nil {
			continue
		}
		c := r.now
		if c == nil || c.P2P || c.Group != grp || slices.ContainsFunc(g.waits[id], func(w wait) bool { return w.call == c }) {
			continue
		}
		to, ok := g.guess(grp, id)
		if !ok {
			g.lost = append(g.lost, c)
		}
		for _, other := range to {
			why := notMade
			if g.job.Ranks[other] == nil {
				why = noWord
			}
			out = append(out, wait{id, other, c, why})
		}
		delete(g.open, id)
	}
	return out
}

// guess returns the ranks for which a rank can wait in a group of which they
// are not known to be members; ok is false where the evidence leaves a choice.
//
// A rank that already waits for this one has its own reason to be late. Of the
// others, one that waits for nobody is late without a reason; if there is just
// one such, it is the one. If there is none, all are part of a cycle.
func (g *graph) guess(grp *Group, id int) (to []int, ok bool) {
	var all, free, idle []int
	for other := range g.job.World {
		if _, member := slices.BinarySearch(grp.Members, other); member {
			continue
		}
		all = append(all, other)
		if slices.ContainsFunc(g.waits[other], func(w wait) bool { return w.to == id }) {
			continue
		}
		free = append(free, other)
		if r := g.job.Ranks[other]; r == nil || r.now == nil {
			idle = append(idle, other)
		}
	}
	switch {
	case len(all) == 0:
		return nil, false
	case len(free) == 0:
		return all, true
	case len(idle) == 1:
		return idle, true
	case len(idle) == 0:
		return free, true
	}
	return nil, false
}

// ends returns the sets of ranks at which chains of waits end: each waits for
// nobody outside the set. Ranks for which nobody waits, and that wait for
// nobody, are not among them.
func (g *graph) ends() [][]int {
	waited := map[int]bool{}
	for from, ws := range g.waits {
		if g.stuck[from] == nil {
			for _, w := range ws {
				waited[w.to] = true
			}
		}
	}
	var out [][]int
	for _, set := range g.components() {
		leaves := slices.ContainsFunc(set, func(id int) bool {
			return slices.ContainsFunc(g.out(id), func(w wait) bool { _, inside := slices.BinarySearch(set, w.to); return !inside })
		})
		if !leaves && (len(set) > 1 || waited[set[0]] || g.stuck[set[0]] != nil) {
			out = append(out, set)
		}
	}
	slices.SortFunc(out, func(a, b []int) int { return a[0] - b[0] })
	return out
}

// out returns the waits of a rank. One that is stuck waits for nobody.
func (g *graph) out(id int) []wait {
	if g.stuck[id] != nil {
		return nil
	}
	return g.waits[id]
}

// components returns the strongly connected sets of the ranks, each ascending
// (Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput.
// 1(2), 1972), without recursion: a chain of waits may be long.
func (g *graph) components() [][]int {
	t := &tarjan{g: g, index: map[int]int{}, low: map[int]int{}, on: map[int]bool{}}
	nodes := g.job.ids()
	for from := range g.waits {
		for _, w := range g.waits[from] {
			nodes = append(nodes, w.to)
		}
	}
	for _, id := range sortedSet(nodes) {
		if _, seen := t.index[id]; !seen {
			t.visit(id)
		}
	}
	return t.sets
}

type tarjan struct {
	g          *graph
	index, low map[int]int
	on         map[int]bool
	stack      []int
	sets       [][]int
}

// A step is a node on the way, and the next of its waits.
type step struct{ id, next int }

func (t *tarjan) enter(id int) step {
	t.index[id] = len(t.index)
	t.low[id] = t.index[id]
	t.stack = append(t.stack, id)
	t.on[id] = true
	return step{id: id}
}

func (t *tarjan) visit(id int) {
	way := []step{t.enter(id)}
	for len(way) > 0 {
		s := &way[len(way)-1]
		if out := t.g.out(s.id); s.next < len(out) {
			to := out[s.next].to
			s.next++
			if _, seen := t.index[to]; !seen {
				way = append(way, t.enter(to))
			} else if t.on[to] {
				t.low[s.id] = min(t.low[s.id], t.index[to])
			}
			continue
		}
		done := *s
		way = way[:len(way)-1]
		if len(way) > 0 {
			up := way[len(way)-1].id
			t.low[up] = min(t.low[up], t.low[done.id])
		}
		if t.low[done.id] == t.index[done.id] {
			t.leave(done.id)
		}
	}
}

// leave takes the set whose first node is id off the stack.
func (t *tarjan) leave(id int) {
	at := slices.Index(t.stack, id)
	set := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, n := range set {
		t.on[n] = false
	}
	slices.Sort(set)
	t.sets = append(t.sets, set)
}

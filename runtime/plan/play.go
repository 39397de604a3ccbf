package plan

import (
	"slices"

	"tpsh/runtime/hardware"
)

// A player is ranks that do the same at the same times: one of them plays for all.
type player struct {
	kind   *Kind
	rank   int // that plays
	ranks  int // how many it plays for
	groups []seat

	at        int // the next event
	host      float64
	device    float64
	issued    []issuance // by number of the Issue
	now, last spent      // since the last mark, and of the step before it
	marks     []float64  // when the device was done with each step
	steps     []spent    // of each step
}

// A seat is a group of a player: its shape, and where its members play.
type seat struct {
	shape   hardware.Group
	size    int
	others  []place   // of the players that play for members, each once
	members []place   // by place in the group
	arrived []float64 // when this player came to each call
	ended   []float64 // when each call ended, as far as that is known
	costs   map[int32]float64
	inbox   map[letterKey]*letters // messages to other members, by who sends them here
}

// A place is a group of a player.
type place struct{ player, group int32 }

// A letterKey tells the messages of a sender to one member with one tag.
type letterKey struct{ to, tag int32 }

// letters are when messages are there, and which calls they are.
type letters struct{ at []float64 }

// An issuance is an Issue: the number of the call on its group.
type issuance struct {
	group int32
	call  int32
	event int32
}

// spent is where the time of a player goes, and its FLOPs.
type spent struct {
	arithmetic, communication, bubble, waiting float64
	flops, model                               float64
	calls                                      map[callPlace]*callSum
	regions                                    map[int32]*regionSum
}

// A callPlace is a line that communicates.
type callPlace struct {
	op         string
	dims, line int32
}

// A callSum is what it has communicated.
type callSum struct {
	calls           int
	bytes, wire     int64
	seconds, hidden float64
}

// A regionSum is what a region has taken.
type regionSum struct {
	seconds, communication, flops float64
	calls                         int
}

// A game is a program under way on a machine.
type game struct {
	p       *Program
	m       *hardware.Machine
	ops     []float64 // the seconds of each operation
	players []*player
	blocked map[place][]int32 // players that wait for a call of another's group
	queue   []int32
}

// newGame seats the players.
func newGame(p *Program, m *hardware.Machine) *game {
	m = m.Among(p.Ranks)
	g := &game{p: p, m: m, blocked: map[place][]int32{}}
	g.ops = make([]float64, len(p.Operations))
	for i, o := range p.Operations {
		g.ops[i] = m.Operation(o.Operation)
	}
	playerOf := refine(p, m)
	first := map[int32]int{}
	count := map[int32]int{}
	for rank := range p.Ranks {
		c := playerOf[rank]
		if _, ok := first[c]; !ok {
			first[c] = rank
		}
		count[c]++
	}
	for c := range int32(len(first)) {
		rank := first[c]
		pl := &player{kind: p.Kinds[p.KindOf[rank]], rank: rank, ranks: count[c]}
		pl.now.reset()
		pl.groups = make([]seat, len(pl.kind.Groups))
		g.players = append(g.players, pl)
	}
	for _, pl := range g.players {
		for i := range pl.groups {
			g.seat(pl, i, playerOf)
		}
	}
	return g
}

// seat finds out where the members of a group of pl play.
func (g *game) seat(pl *player, i int, playerOf []int32) {
	ranks := pl.kind.Groups[i].Of(pl.rank)
	s := &pl.groups[i]
	s.shape, s.size, s.costs = g.m.GroupOf(ranks), len(ranks), map[int32]float64{}
	s.inbox = map[letterKey]*letters{}
	seen := map[place]bool{}
	for _, rank := range ranks {
		q := playerOf[rank]
		at := place{q, g.groupOf(q, rank, ranks, pl.kind.Groups[i].Name)}
		s.members = append(s.members, at)
		if at.group >= 0 && !seen[at] {
			seen[at] = true
			s.others = append(s.others, at)
		}
	}
}

// groupOf returns which of the groups of player q is, of rank, the one of ranks
// called name; -1 if none is.
func (g *game) groupOf(q int32, rank int, ranks []int, name string) int32 {
	kind := g.players[q].kind
	found := int32(-1)
	for i := range kind.Groups {
		if kind.Groups[i].instance() == instanceOf(name) && sameList(kind.Groups[i].Of(rank), ranks) {
			found = int32(i)
			break
		}
	}
	return found
}

// sameList reports whether a and b have the same ranks, which takes no time for those
// of groups that say so by one list.
func sameList(a, b []int) bool {
	return len(a) == len(b) && (&a[0] == &b[0] || slices.Equal(a, b))
}

// play plays all events.
func (g *game) play() {
	for i := range g.players {
		g.queue = append(g.queue, int32(i))
	}
	for len(g.queue) > 0 {
		i := g.queue[0]
		g.queue = g.queue[1:]
		g.run(i)
	}
}

// run plays the events of a player until it must wait for another.
func (g *game) run(i int32) {
	pl := g.players[i]
	for pl.at < len(pl.kind.Events) {
		if !g.step(i, pl, &pl.kind.Events[pl.at]) {
			return
		}
		pl.at++
	}
}

// step plays one event. It reports false, and has changed nothing that counts, if
// it must wait.
func (g *game) step(i int32, pl *player, e *Event) bool {
	switch e.Do {
	case Compute:
		g.compute(pl, e)
	case Collective:
		return g.collective(i, pl, e)
	case Issue:
		g.issue(i, pl, e)
	case Wait:
		return g.wait(i, pl, e)
	case Send:
		g.send(i, pl, e)
	case Recv:
		return g.recv(i, pl, e)
	case Read:
		pl.host = max(pl.host, pl.device)
	case Mark:
		pl.mark()
	}
	return true
}

func (g *game) compute(pl *player, e *Event) {
	o := &g.p.Operations[e.Index]
	pl.host += g.m.Issue
	start := max(pl.host, pl.device)
	end := start + g.ops[e.Index]
	took := end - pl.device // with what the host kept it waiting
	pl.now.arithmetic += took
	pl.now.flops += o.FLOPs
	if e.Phase != Recompute {
		pl.now.model += o.FLOPs
	}
	r := pl.now.region(e.Region)
	r.seconds += took
	r.flops += o.FLOPs
	r.calls++
	pl.device = end
}

// cost returns the seconds of a call in a group.
func (g *game) cost(s *seat, call int32) float64 {
	t, ok := s.costs[call]
	if !ok {
		c := &g.p.Calls[call]
		t = g.m.CollectiveOn(c.Op, s.shape, float64(c.Bytes))
		s.costs[call] = t
	}
	return t
}

// arrive notes that the player has come to its next call in a group, and lets those
// go on that wait for it.
func (g *game) arrive(i int32, group int32, at float64) (call int) {
	s := &g.players[i].groups[group]
	s.arrived = append(s.arrived, at)
	key := place{i, group}
	g.queue = append(g.queue, g.blocked[key]...)
	delete(g.blocked, key)
	return len(s.arrived) - 1
}

// begun returns when call n of a group begins: when all members have come, and the
// call before it has ended. It reports false, and has the player wait, if one has
// not come.
func (g *game) begun(i int32, s *seat, n int, cost float64) (start, end float64, ok bool) {
	for len(s.ended) <= n {
		k := len(s.ended)
		start := 0.0
		if k > 0 {
			start = s.ended[k-1]
		}
		for _, o := range s.others {
			arrived := g.players[o.player].groups[o.group].arrived
			if len(arrived) <= k {
				g.blocked[o] = append(g.blocked[o], i)
				return 0, 0, false
			}
			start = max(start, arrived[k])
		}
		s.ended = append(s.ended, start+s.costOf(k, cost))
	}
	end = s.ended[n]
	return end - cost, end, true
}

// costOf is the cost of call k of the group: cost, unless another was noted for it.
func (s *seat) costOf(k int, cost float64) float64 {
	if c, ok := s.costs[^int32(k)]; ok {
		return c
	}
	return cost
}

func (g *game) collective(i int32, pl *player, e *Event) bool {
	s := &pl.groups[e.Group]
	cost := g.cost(s, e.Index)
	if len(pl.issued) == 0 || pl.issued[len(pl.issued)-1].event != int32(pl.at)|held {
		pl.host += g.m.Issue + g.m.Call
		n := g.arrive(i, e.Group, max(pl.host, pl.device))
		s.costs[^int32(n)] = cost
		pl.issued = append(pl.issued, issuance{e.Group, int32(n), int32(pl.at) | held})
	}
	n := int(pl.issued[len(pl.issued)-1].call)
	start, end, ok := g.begun(i, s, n, cost)
	if !ok {
		return false
	}
	pl.issued = pl.issued[:len(pl.issued)-1]
	at := s.arrived[n]
	pl.now.arithmetic += max(0, at-pl.device) // the host was late
	pl.now.waiting += max(0, start-at)
	pl.now.communication += end - max(start, at)
	pl.count(g, e, cost, 0)
	pl.device = end
	return true
}

// held marks the entry, behind those of Issues, of the blocking call under way.
const held = 1 << 30

func (g *game) issue(i int32, pl *player, e *Event) {
	pl.host += g.m.Issue + g.m.Call
	s := &pl.groups[e.Group]
	n := g.arrive(i, e.Group, max(pl.host, pl.device))
	s.costs[^int32(n)] = g.cost(s, e.Index)
	pl.issued = append(pl.issued, issuance{e.Group, int32(n), int32(pl.at)})
}

func (g *game) wait(i int32, pl *player, e *Event) bool {
	was := pl.issued[e.Index]
	s, of := &pl.groups[was.group], &pl.kind.Events[was.event]
	cost := g.cost(s, of.Index)
	_, end, ok := g.begun(i, s, int(was.call), cost)
	if !ok {
		return false
	}
	late := max(0, end-pl.device)
	seen := min(late, cost)
	pl.now.communication += seen
	pl.now.waiting += late - seen
	pl.count(g, of, cost, cost-seen)
	pl.device = max(pl.device, end)
	return true
}

func (g *game) send(i int32, pl *player, e *Event) {
	pl.host += g.m.Issue + g.m.Call
	s := &pl.groups[e.Group]
	key := letterKey{e.Peer, e.Tag}
	if s.inbox[key] == nil {
		s.inbox[key] = &letters{}
	}
	cost := g.messageCost(pl, e)
	s.inbox[key].at = append(s.inbox[key].at, max(pl.host, pl.device)+cost)
	pl.count(g, e, cost, cost)
	where := place{i, e.Group}
	g.queue = append(g.queue, g.blocked[where]...)
	delete(g.blocked, where)
}

// messageCost returns the seconds of a message.
func (g *game) messageCost(pl *player, e *Event) float64 {
	s := &pl.groups[e.Group]
	key := e.Index + int32(e.Peer+1)<<20
	t, ok := s.costs[key]
	if !ok {
		ranks := pl.kind.Groups[e.Group].Of(pl.rank)
		t = g.m.Collective(hardware.Collective{Op: "send", Ranks: []int{pl.rank, ranks[e.Peer]}, Bytes: float64(g.p.Calls[e.Index].Bytes)})
		s.costs[key] = t
	}
	return t
}

func (g *game) recv(i int32, pl *player, e *Event) bool {
	s := &pl.groups[e.Group]
	from := s.members[e.Peer]
	if from.group < 0 {
		return true // nothing is known of the sender
	}
	sender := g.players[from.player]
	me := int32(slices.Index(pl.kind.Groups[e.Group].Of(pl.rank), pl.rank))
	box := sender.groups[from.group].inbox[letterKey{me, e.Tag}]
	mine := letterKey{^e.Peer, e.Tag}
	if s.inbox[mine] == nil {
		s.inbox[mine] = &letters{}
	}
	n := len(s.inbox[mine].at)
	if box == nil || len(box.at) <= n {
		g.blocked[from] = append(g.blocked[from], i)
		return false
	}
	pl.host += g.m.Issue + g.m.Call
	s.inbox[mine].at = append(s.inbox[mine].at, 0)
	at := max(pl.host, pl.device)
	pl.now.arithmetic += at - pl.device
	if late := box.at[n] - at; late > 0 {
		if e.Stage {
			pl.now.bubble += late
		} else {
			pl.now.waiting += late
		}
		at = box.at[n]
	}
	pl.device = at
	return true
}

// count counts a call of which hidden seconds ran beside arithmetic.
func (pl *player) count(g *game, e *Event, seconds, hidden float64) {
	c := &g.p.Calls[e.Index]
	line := e.Line
	key := callPlace{c.Op, pl.kind.Groups[e.Group].Dims, line}
	sum := pl.now.calls[key]
	if sum == nil {
		sum = &callSum{}
		pl.now.calls[key] = sum
	}
	sum.calls++
	sum.bytes += c.Bytes
	sum.wire += e.Wire
	sum.seconds += seconds
	sum.hidden += hidden
	pl.now.region(e.Region).communication += seconds - hidden
}

func (s *spent) reset() {
	*s = spent{calls: map[callPlace]*callSum{}, regions: map[int32]*regionSum{}}
}

func (s *spent) region(i int32) *regionSum {
	r := s.regions[i]
	if r == nil {
		r = &regionSum{}
		s.regions[i] = r
	}
	return r
}

// mark ends a step.
func (pl *player) mark() {
	pl.marks = append(pl.marks, max(pl.device, pl.host))
	pl.steps = append(pl.steps, pl.now)
	pl.now.reset()
}

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

	messages []message             // by channel
	boxes    []box                 // likewise
	letters  map[letterKey]float64 // the seconds of messages

	at        int     // the next event
	hosted    int     // how many events the host has played its part of
	blocking  int     // the call that holds the player up, by its number in the group; -1 for none
	touched   float64 // bytes of the last operation
	host      float64
	device    float64
	issued    []issuance // by number of the Issue
	now, last spent      // since the last mark, and of the step before it
	marks     []float64  // when the device was done with each step
	steps     []spent    // of each step

	lates []late // the events that other players have kept waiting, in order

	spans []span            // of a Replay: when each event was
	sent  map[int32]eventOf // likewise: of each Recv the Send
}

// A seat is a group of a player: its shape, and where its members play.
type seat struct {
	*circle
	size    int
	place   int       // of the player's rank in the group, -1 for none
	arrived []float64 // when this player came to each call
	takes   []float64 // the seconds of each, by what this player puts in
	blocked []*player // players that wait for a call or a message of this one
}

// A circle is a group as all its members see it.
type circle struct {
	shape  hardware.Group
	others []place   // of the players that play for members, each once
	held   []held    // its calls, as far as all have come to them
	come   int       // how many of others have come to the call after these, as far as has been looked
	costs  []float64 // of the calls of the program, -1 for what is not known yet
	most   []int64   // of a Replay: what a member puts into each call at most
}

// A held is a call to which all members have come.
type held struct {
	end, takes float64 // when it ends, and its seconds
	last       int32   // the player that came last
}

// A circleKey tells groups apart whose members have one list of their ranks.
type circleKey struct {
	ranks    *int
	instance string
}

// A place is a group of a player.
type place struct{ player, group int32 }

// A letterKey tells messages of a player apart that may take unlike times.
type letterKey struct{ call, channel int32 }

// A box is the messages of a channel: when those that are sent are there, and by which events they
// were, or how many have been received.
type box struct {
	at    []float64
	from  []int32
	taken int
}

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
	laps                                       []float64 // when each ended
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
	p        *Program
	m        *hardware.Machine
	ops      []float64 // the seconds of each operation
	issues   []float64 // and those of the host to issue it
	players  []*player
	playerOf []int32 // by rank
	circles  map[circleKey]*circle
	queue    []*player // who may go on
	timeOnly bool      // nobody asks where it goes
	free     bool      // communication costs nothing
}

// crowdedRounds is how often a program is played to find how many ranks compute at a time, where
// they have fewer cores.
const crowdedRounds = 3

// newGame seats the players on what ranks have of m. Where they have fewer cores, those
// who wait for others leave theirs to them: how many compute at a time is what the last of a few
// games has shown.
func newGame(p *Program, m *hardware.Machine) *game {
	busy := float64(p.Ranks)
	if m.Crowded(p.Ranks) {
		for range crowdedRounds {
			g := newGameOn(p, m.AmongBusy(p.Ranks, busy))
			g.timeOnly = true
			g.play()
			busy = g.busyRanks()
		}
	}
	return newGameOn(p, m.AmongBusy(p.Ranks, busy))
}

// busyRanks returns how many ranks compute or communicate at a time in the last whole step, in the mean.
func (g *game) busyRanks() float64 {
	n, sum := g.steps(), 0.
	step := g.stepSeconds(n) - g.m.Step
	if step <= 0 {
		return float64(g.p.Ranks)
	}
	for _, pl := range g.players {
		sum += float64(pl.ranks) * min(1, busy(pl.spentIn(n))/step)
	}
	return sum
}

// newGameOn seats the players on m.
func newGameOn(p *Program, m *hardware.Machine) *game {
	g := &game{p: p, m: m, circles: map[circleKey]*circle{}}
	g.ops, g.issues = make([]float64, len(p.Operations)), make([]float64, len(p.Operations))
	for i, o := range p.Operations {
		g.ops[i], g.issues[i] = m.Operation(o.Operation), m.Issuing(o.Operation)
	}
	g.playerOf = refine(p, m)
	first := map[int32]int{}
	count := map[int32]int{}
	for rank := range p.Ranks {
		c := g.playerOf[rank]
		if _, ok := first[c]; !ok {
			first[c] = rank
		}
		count[c]++
	}
	for c := range int32(len(first)) {
		rank := first[c]
		pl := &player{kind: p.Kinds[p.KindOf[rank]], rank: rank, ranks: count[c], blocking: -1}
		pl.now.reset()
		pl.groups = make([]seat, len(pl.kind.Groups))
		pl.messages, pl.boxes, pl.letters = p.messages(rank), make([]box, len(pl.kind.Channels)), map[letterKey]float64{}
		g.players = append(g.players, pl)
	}
	for _, pl := range g.players {
		for i := range pl.groups {
			g.seat(pl, i)
		}
	}
	return g
}

// seat finds out where the members of a group of pl play.
func (g *game) seat(pl *player, i int) {
	ranks := pl.kind.Groups[i].Of(pl.rank)
	s := &pl.groups[i]
	s.size, s.place = len(ranks), slices.Index(ranks, pl.rank)
	key := circleKey{&ranks[0], pl.kind.Groups[i].instance()}
	if s.circle = g.circles[key]; s.circle != nil {
		return
	}
	s.circle = &circle{shape: g.m.GroupOf(ranks)}
	g.circles[key] = s.circle
	seen := map[place]bool{}
	for _, rank := range ranks {
		q := g.playerOf[rank]
		at := place{q, g.players[q].kind.groupOf(rank, ranks, pl.kind.Groups[i].Name)}
		if at.group >= 0 && !seen[at] {
			seen[at] = true
			s.others = append(s.others, at)
		}
	}
}

// sameList reports whether a and b have the same ranks, which takes no time for those
// of groups that say so by one list.
func sameList(a, b []int) bool {
	return len(a) == len(b) && (&a[0] == &b[0] || slices.Equal(a, b))
}

// count counts a call of which hidden seconds ran beside arithmetic.
func (pl *player) count(g *game, e *Event, seconds, hidden float64) {
	if g.timeOnly {
		return
	}
	c := &g.p.Calls[e.Index]
	line := e.Line
	key := callPlace{c.Op, pl.kind.Groups[e.Group].Dims, line}
	sum := pl.now.calls[key]
	if sum == nil {
		sum = &callSum{}
		pl.now.calls[key] = sum
	}
	sum.calls++
	sum.bytes += c.At(pl.groups[e.Group].place)
	sum.wire += g.wire(pl, e)
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

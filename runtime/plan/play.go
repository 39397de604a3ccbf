package plan

import (
	"math"
	"slices"

	"tpsh/runtime/hardware"
)

// play plays all events.
func (g *game) play() {
	g.queue = slices.Clone(g.players)
	for len(g.queue) > 0 {
		pl := g.queue[0]
		g.queue = g.queue[1:]
		g.run(pl)
	}
}

// run plays the events of a player until it must wait for another.
func (g *game) run(pl *player) {
	for pl.at < len(pl.kind.Events) {
		g.host(pl)
		if !g.step(pl, &pl.kind.Events[pl.at]) {
			return
		}
		pl.at++
	}
}

// host plays, once, what the host does before the next event, but for issuing it: instructions
// of the script, operations that move and compute nothing, and where ranks share cores,
// so that the device waits, what brings the event about.
func (g *game) host(pl *player) {
	if pl.hosted > pl.at {
		return
	}
	pl.hosted = pl.at + 1
	e := &pl.kind.Events[pl.at]
	h := hardware.Hosting{Instructions: float64(e.Script), Views: float64(e.Views), Touched: pl.touched}
	if e.Do == Compute {
		h.Operation, h.Placed, h.Recorded, h.Backward = true, e.Placed, e.Recorded, e.Phase == Backward || e.Phase == Recompute
		pl.touched = g.p.Operations[e.Index].Bytes
	}
	t := g.m.Host(h)
	if !g.m.Shared() {
		pl.host += t
		return
	}
	pl.device += t
	pl.host = pl.device
	if t == 0 {
		return
	}
	pl.now.arithmetic += t
	pl.now.region(e.Region).seconds += t
}

// step plays one event. It reports false, and has changed nothing that counts, if
// it must wait.
func (g *game) step(pl *player, e *Event) bool {
	switch e.Do {
	case Compute:
		g.compute(pl, e)
	case Collective:
		return g.collective(pl, e)
	case Issue:
		g.issue(pl, e)
	case Wait:
		return g.wait(pl, e)
	case Send:
		g.send(pl, e)
	case Recv:
		return g.recv(pl, e)
	case Read:
		pl.host = max(pl.host, pl.device)
		pl.keep(pl.at, 0, pl.device, pl.device)
	case Mark:
		pl.mark()
		pl.keep(pl.at, 0, pl.device, pl.device)
	case Lap:
		pl.now.laps = append(pl.now.laps, pl.device)
		pl.keep(pl.at, 0, pl.device, pl.device)
	}
	return true
}

func (g *game) compute(pl *player, e *Event) {
	pl.host += g.issues[e.Index]
	start := max(pl.host, pl.device)
	end := start + g.ops[e.Index]
	took := end - pl.device // with what the host kept it waiting
	pl.now.arithmetic += took
	if !g.timeOnly {
		pl.now.note(e, &g.p.Operations[e.Index], took)
	}
	pl.keep(pl.at, start-pl.device, start, end)
	pl.device = end
}

// note counts an operation that took so many seconds.
func (s *spent) note(e *Event, o *Operation, took float64) {
	s.flops += o.FLOPs
	if e.Phase != Recompute {
		s.model += o.FLOPs
	}
	r := s.region(e.Region)
	r.seconds += took
	r.flops += o.FLOPs
	r.calls++
}

// keep notes when an event was, for a Replay, and for how long the host kept the
// device waiting before it.
func (pl *player) keep(event int, host, begin, end float64) {
	if pl.spans != nil {
		pl.spans[event] = span{host, begin, end}
	}
}

// cost returns the seconds of a player's call in a group.
func (g *game) cost(pl *player, e *Event) float64 {
	if g.free {
		return 0
	}
	if given := pl.kind.Groups[e.Group].Cost; given != (Cost{}) {
		return given.seconds(g.wire(pl, e))
	}
	s, call := &pl.groups[e.Group], e.Index
	for len(s.costs) <= int(call) {
		s.costs = append(s.costs, -1)
	}
	if s.costs[call] < 0 {
		c := &g.p.Calls[call]
		s.costs[call] = g.m.CollectiveOn(c.Op, s.shape, float64(c.Bytes))
	}
	return s.costs[call]
}

// calling returns the seconds of the host to issue a call.
func (g *game) calling() float64 {
	if g.free {
		return 0
	}
	return g.m.Issue + g.m.Call
}

// seconds returns those of a call by which a rank sends so many bytes.
func (c Cost) seconds(wire int64) float64 { return c.Alpha + c.Beta*float64(wire) }

// wire returns the bytes that the player's rank sends in e.
func (g *game) wire(pl *player, e *Event) int64 { return g.p.Wire(e, pl.groups[e.Group].place) }

// arrive notes that the player has come to its next call in a group, which takes cost,
// and lets those go on that wait for it.
func (g *game) arrive(s *seat, at, cost float64) (call int) {
	s.arrived, s.takes = append(s.arrived, at), append(s.takes, cost)
	g.wake(s)
	return len(s.arrived) - 1
}

// wake lets those go on that wait for the player of s.
func (g *game) wake(s *seat) {
	g.queue = append(g.queue, s.blocked...)
	s.blocked = s.blocked[:0]
}

// begun returns call n of s, a group of pl, which begins when all members have come, and the call before
// it has ended. It returns nil, and has pl wait, if one has not come. What is found is found for
// all members.
func (g *game) begun(pl *player, s *seat, n int) *held {
	c := s.circle
	for len(c.held) <= n {
		k, call := len(c.held), held{last: -1}
		for ; c.come < len(c.others); c.come++ {
			if other := g.seatAt(c.others[c.come]); len(other.arrived) <= k {
				other.blocked = append(other.blocked, pl)
				return nil
			}
		}
		start, latest := 0.0, math.Inf(-1)
		if k > 0 {
			start = c.held[k-1].end
		}
		for _, o := range c.others {
			other := g.seatAt(o)
			if at := other.arrived[k]; at > latest {
				latest, call.last = at, o.player
			}
			call.takes = max(call.takes, other.takes[k]) // members may put in unlike amounts: none is done before all
		}
		call.end = max(start, latest) + call.takes
		c.held, c.come = append(c.held, call), 0
	}
	return &c.held[n]
}

func (g *game) seatAt(at place) *seat { return &g.players[at.player].groups[at.group] }

func (g *game) collective(pl *player, e *Event) bool {
	s := &pl.groups[e.Group]
	if pl.blocking < 0 {
		pl.host += g.calling()
		pl.blocking = g.arrive(s, max(pl.host, pl.device), g.cost(pl, e))
	}
	n := pl.blocking
	call := g.begun(pl, s, n)
	if call == nil {
		return false
	}
	pl.blocking = -1
	cost, end, at := call.takes, call.end, s.arrived[n]
	start := end - cost
	pl.now.arithmetic += max(0, at-pl.device) // the host was late
	if pl.now.waiting += max(0, start-at); start > at {
		pl.keepsWaiting(pl.at, start, start, call.last)
	}
	pl.now.communication += end - max(start, at)
	pl.count(g, e, cost, 0)
	pl.keep(pl.at, max(0, at-pl.device), max(start, at), end)
	pl.device = end
	return true
}

func (g *game) issue(pl *player, e *Event) {
	pl.host += g.calling()
	s := &pl.groups[e.Group]
	cost := g.cost(pl, e)
	n := g.arrive(s, max(pl.host, pl.device), cost)
	pl.issued = append(pl.issued, issuance{e.Group, int32(n), int32(pl.at)})
	pl.keep(pl.at, 0, s.arrived[n], s.arrived[n]+cost) // until it is waited for
}

func (g *game) wait(pl *player, e *Event) bool {
	was := pl.issued[e.Index]
	s, issued := &pl.groups[was.group], &pl.kind.Events[was.event]
	call := g.begun(pl, s, int(was.call))
	if call == nil {
		return false
	}
	cost, end := call.takes, call.end
	start := end - cost
	behind := !g.m.Carries() && start < pl.device // who computed has kept the call from its bytes
	if behind {
		start, end = pl.device, pl.device+cost
	}
	pl.keep(int(was.event), 0, start, end)
	late := max(0, end-pl.device)
	if behind {
		late = cost // not off by what adding it to a time has rounded
	}
	seen := min(late, cost)
	if late > 0 && !behind {
		pl.keepsWaiting(int(was.event), end, start, call.last)
	}
	pl.now.communication += seen
	pl.now.waiting += late - seen
	pl.count(g, issued, cost, cost-seen)
	pl.device = max(pl.device, end)
	pl.keep(pl.at, 0, pl.device, pl.device)
	return true
}

func (g *game) send(pl *player, e *Event) {
	pl.host += g.calling()
	cost := g.messageCost(pl, e)
	box, at := &pl.boxes[e.Channel], max(pl.host, pl.device)
	box.at, box.from = append(box.at, at+cost), append(box.from, int32(pl.at))
	pl.keep(pl.at, 0, at, at+cost)
	pl.count(g, e, cost, cost)
	g.wake(&pl.groups[e.Group])
	g.join(pl)
}

// messageCost returns the seconds of a message.
func (g *game) messageCost(pl *player, e *Event) float64 {
	if g.free {
		return 0
	}
	if given := pl.kind.Groups[e.Group].Cost; given != (Cost{}) {
		return given.seconds(e.Wire)
	}
	key := letterKey{e.Index, e.Channel}
	t, ok := pl.letters[key]
	if !ok {
		t = g.m.Collective(hardware.Collective{Op: "send", Ranks: []int{pl.rank, pl.messages[e.Channel].other}, Bytes: float64(g.p.Calls[e.Index].Bytes)})
		pl.letters[key] = t
	}
	return t
}

// join has the host of a player wait for its device at a message, where hosts do.
func (g *game) join(pl *player) {
	if g.m.WaitsForMessages() {
		pl.host = max(pl.host, pl.device)
	}
}

func (g *game) recv(pl *player, e *Event) bool {
	m, mine := &pl.messages[e.Channel], &pl.boxes[e.Channel]
	if m.from < 0 { // nothing is known of the sender
		pl.count(g, e, 0, 0)
		return true
	}
	from := g.playerOf[m.other]
	sender, n := g.players[from], mine.taken
	box := &sender.boxes[m.from]
	if len(box.at) <= n {
		there := &sender.groups[sender.kind.Channels[m.from].Group]
		there.blocked = append(there.blocked, pl)
		return false
	}
	pl.host += g.calling()
	mine.taken++
	at := max(pl.host, pl.device)
	came := at
	cost := g.messageCost(sender, &sender.kind.Events[box.from[n]])
	pl.count(g, e, cost, cost) // what the rank waits for it is bubble or waiting
	pl.now.arithmetic += at - pl.device
	if late := box.at[n] - at; late > 0 {
		if e.Stage {
			pl.now.bubble += late
		} else {
			pl.now.waiting += late
		}
		at = box.at[n]
		pl.keepsWaiting(pl.at, at, at-cost, from)
	}
	if pl.spans != nil {
		pl.sent[int32(pl.at)] = eventOf{from, box.from[n]}
	}
	pl.keep(pl.at, came-pl.device, came, at)
	pl.device = at
	g.join(pl)
	return true
}

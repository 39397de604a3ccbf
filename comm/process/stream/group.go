package stream

import (
	"runtime"
	"time"

	"tpsh/comm/process/spin"
	"tpsh/internal/allowance"
)

const (
	// polledEager is how long the data may be that go with a contract through a
	// PollStream: such that both are one message.
	polledEager = 7 << 10
	// patientRounds is how often one looks before others may run that have no
	// processor of their own.
	patientRounds = 100
	// pollTime is how long a wait looks after something has come.
	pollTime = 10 * time.Millisecond
	// fillTime is how long a call that has failed waits for a block that is being
	// filled.
	fillTime = time.Second
)

// A Group is the Readers of a rank. Whoever waits looks for all of them at once. It
// is an inbound of package process, which has the purpose of its methods.
type Group struct {
	all     []*Reader
	by      map[int]*Reader // by rank
	look    func() bool
	doze    func()
	patient bool // whether there is a processor for each rank
}

// Listen makes r, which reads p, one of the group, and begins to listen.
func (g *Group) Listen(r *Reader, p PollStream) {
	g.all, g.look, g.doze = append(g.all, r), p.Look, p.Doze
	if g.by == nil {
		g.by = map[int]*Reader{}
	}
	g.by[r.peer] = r
	g.patient = len(g.all) < allowance.Processors()
	r.host.Go(r.listen)
}

// Empty reports whether the group has no Readers.
func (g *Group) Empty() bool { return len(g.all) == 0 }

// takeAll takes in the messages that have come, and reports whether there was something.
func (g *Group) takeAll() bool {
	if !g.look() {
		return false
	}
	for _, r := range g.all {
		r.poll()
	}
	return true
}

func (g *Group) Reaches(rank int) bool      { return g.by[rank] != nil }
func (g *Group) Eager() int                 { return polledEager }
func (g *Group) SpinRounds() int            { return spin.Rounds }
func (g *Group) WaitRounds() int            { return 0 }
func (g *Group) Poll()                      { g.takeAll() }
func (g *Group) PollFrom([]int) (anew bool) { return g.takeAll() }

// Pause lets other processes run, and now and then other goroutines.
func (g *Group) Pause(i int) {
	if !g.patient || i >= patientRounds {
		spin.YieldCore()
	}
	if i%patientRounds == patientRounds-1 {
		runtime.Gosched()
	}
}

// Sleeper looks now and then, until nothing has come for so long that the listeners
// are to do so.
func (g *Group) Sleeper() func(time.Duration, func() bool) bool {
	since := time.Now()
	return func(_ time.Duration, ends func() bool) bool {
		if g.takeAll() {
			since = time.Now()
		}
		if ends() {
			return true
		}
		g.doze()
		return time.Since(since) < pollTime
	}
}

// Nobody sleeps for long: the listeners are told by the streams themselves.

func (g *Group) Wake()            {}
func (g *Group) WakeAll()         {}
func (g *Group) Background(int32) {}

func (g *Group) Posts(rank int) bool              { return g.by[rank] != nil }
func (g *Group) Withdraw(rank int, memory []byte) { g.release(g.by[rank], memory) }

// release returns when nothing is read to memory any more that a block was to
// go to, or that takes too long: a transport keeps the memory meanwhile.
func (g *Group) release(r *Reader, memory []byte) {
	for since := time.Now(); r.fills(memory) && time.Since(since) < fillTime; spin.YieldCore() {
		g.takeAll()
	}
}

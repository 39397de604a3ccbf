package deadlock

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// A game plays the ranks of a Machine: it tells what they report, and keeps what
// they hear.
type game struct {
	*Machine
	now   time.Time
	heard [][]Verdict // by rank, since the last look
	lines []string
	done  bool
}

func newGame(o Options) *game {
	return &game{Machine: NewMachine(o), now: time.Unix(1000, 0), heard: make([][]Verdict, o.Size)}
}

func (g *game) step(e Event) {
	o := g.Step(g.now, e)
	for _, v := range o.Verdicts {
		g.heard[v.To] = append(g.heard[v.To], *v.Verdict)
	}
	g.lines = append(g.lines, o.Notices...)
	g.done = g.done || o.Settled
}

func (g *game) report(rank int, r Report) { g.step(Event{Rank: rank, Report: &r}) }

// waits has a rank wait for a message of another, of which it has received all.
func (g *game) waits(rank, peer, wait int, sent ...int) {
	g.report(rank, Report{Kind: ReportWaits, Wait: wait, Waits: []int{peer}, All: []int{rank, peer}, Received: []int{0}, Sent: sent})
}

// take returns the kinds that a rank has heard, and forgets them.
func (g *game) take(rank int) (kinds []VerdictKind, last Verdict) {
	for _, v := range g.heard[rank] {
		kinds, last = append(kinds, v.Kind), v
	}
	g.heard[rank] = nil
	return kinds, last
}

func (g *game) want(t *testing.T, rank int, want ...VerdictKind) Verdict {
	t.Helper()
	kinds, last := g.take(rank)
	if len(kinds) != len(want) {
		t.Fatalf("rank %d: got verdicts %d, want %d", rank, kinds, want)
	}
	for i := range want {
		if kinds[i] != want[i] {
			t.Fatalf("rank %d: got verdicts %d, want %d", rank, kinds, want)
		}
	}
	return last
}

// Ranks that wait for each other are asked where they are, and told when all
// have answered.
func TestMachineFindsDeadlock(t *testing.T) {
	g := newGame(Options{Size: 3})
	g.waits(0, 1, 1, 0, 0, 0)
	g.want(t, 0)
	g.waits(1, 0, 1, 0, 0, 0)
	for r := range 2 {
		q := g.want(t, r, VerdictHold)
		g.report(r, Report{Kind: ReportAnswer, Question: q.Question, Function: "recv", Text: "recv(src=0, tag=0)", Where: "a.star:1:1"})
	}
	for r := range 2 {
		if v := g.want(t, r, VerdictDeadlock); len(v.Deadlock.Waits) != 2 || v.Wait != 1 {
			t.Errorf("rank %d: got %+v, want both waits", r, v)
		}
	}
	g.want(t, 2)
}

// Who waits for a call whose contracts are relayed waits for the ranks that have not called, as
// their own reports say, whatever has come.
func TestMachineKnowsWhoHasCalled(t *testing.T) {
	g := newGame(Options{Size: 4})
	call := CallKey{Group: 7, Number: 3}
	relayed := func(rank int, key CallKey) {
		g.report(rank, Report{Kind: ReportWaits, Wait: 1, Call: key, All: []int{0, 1, 2, 3}, Sent: make([]int, 4), Calls: []CallKey{key}})
	}
	relayed(0, call)
	g.report(1, Report{Kind: ReportCalls, Calls: []CallKey{call}})
	relayed(2, call)
	for r := range 4 {
		g.want(t, r)
	}
	g.report(1, Report{Kind: ReportRuns})
	g.report(3, Report{Kind: ReportEnded, Sent: make([]int, 4), Calls: []CallKey{{Group: 7, Number: 2}}})
	for r := range 3 { // rank 1 as well, which has called and does not wait
		kinds, _ := g.take(r)
		if len(kinds) != 1 || kinds[0] != VerdictEnded {
			t.Fatalf("rank %d: got verdicts %d, want %d", r, kinds, VerdictEnded)
		}
	}
	for _, r := range []int{0, 2} {
		g.report(r, Report{Kind: ReportWaits, Wait: 1, Heard: 1, Call: call, All: []int{0, 1, 2, 3}, Sent: make([]int, 4), Calls: []CallKey{call}})
	}
	for r := range 3 {
		q := g.want(t, r, VerdictHold)
		g.report(r, Report{Kind: ReportAnswer, Question: q.Question, Function: "barrier", Text: "barrier()"})
	}
	for r := range 3 {
		v := g.want(t, r, VerdictDeadlock)
		if len(v.Deadlock.Waits) != 3 || len(v.Deadlock.Ended) != 1 {
			t.Fatalf("rank %d: got %+v, want the waits of three for rank 3", r, v.Deadlock)
		}
		for _, w := range v.Deadlock.Waits {
			if len(w.For) != 1 || w.For[0] != 3 {
				t.Errorf("rank %d waits for %v, want rank 3", w.Rank, w.For)
			}
		}
	}
}

// Of the normal ends of many ranks they are told together: when it is time, when there is
// something else to tell, or when all have ended.
func TestMachineTellsEndsTogether(t *testing.T) {
	const size = 40
	sent := make([]int, size)
	sent[7] = 3
	ends := func(g *game, ranks ...int) {
		for _, r := range ranks {
			g.report(r, Report{Kind: ReportEnded, Sent: sent})
		}
	}
	told := func(g *game, rank int, want ...int) {
		t.Helper()
		var got []int
		for _, v := range g.heard[rank] {
			for _, e := range v.Ends {
				if got = append(got, e.Rank); e.Count != sent[rank] {
					t.Errorf("rank %d: got %d messages of rank %d, want %d", rank, e.Count, e.Rank, sent[rank])
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("rank %d: got the ends of %d, want %d", rank, got, want)
		}
	}
	g := newGame(Options{Size: size})
	ends(g, 3, 1)
	told(g, 7)
	g.now = g.Due()
	g.step(Event{})
	told(g, 7, 3, 1)
	g.take(7)
	ends(g, 2)
	g.step(Event{Rank: 4, Dead: errors.New("was killed")})
	if kinds, _ := g.take(7); !slices.Equal(kinds, []VerdictKind{VerdictEnded, VerdictGone}) {
		t.Errorf("got verdicts %d, want the end before the death", kinds)
	}
	for r := range size {
		if r != 4 {
			ends(g, r)
		}
	}
	if _, last := g.take(7); last.Kind != VerdictEnded || len(last.Ends) != size-4 {
		t.Errorf("got %+v, want the ends of the last %d", last, size-4)
	}
	if !g.Due().IsZero() {
		t.Error("got something due, want nothing")
	}
}

// While something is on its way nothing is a deadlock; a rank that is not where it
// was ends the inquiry.
func TestMachineDoubts(t *testing.T) {
	g := newGame(Options{Size: 2})
	g.waits(0, 1, 1, 0, 1) // has sent a message
	g.waits(1, 0, 1, 0, 0) // which has not come
	g.want(t, 0)
	g.want(t, 1)
	g.report(1, Report{Kind: ReportRuns, Wait: 1})
	g.report(1, Report{Kind: ReportWaits, Wait: 2, Waits: []int{0}, All: []int{0, 1}, Received: []int{1}, Sent: []int{0, 0}})
	g.want(t, 0, VerdictHold)
	q := g.want(t, 1, VerdictHold)
	g.report(1, Report{Kind: ReportNone, Question: q.Question})
	g.want(t, 0, VerdictRelease)
	g.want(t, 1, VerdictRelease)
}

// A lost stream is believed when grace has passed, unless there is a better reason.
func TestMachineGrace(t *testing.T) {
	g := newGame(Options{Size: 2, Grace: time.Second})
	g.step(Event{Rank: 1, Lost: errors.New("EOF")})
	g.want(t, 0)
	if due := g.Due(); !due.Equal(g.now.Add(time.Second)) {
		t.Errorf("got due %v, want a second from now", due)
	}
	g.step(Event{Rank: 1, Dead: errors.New("was killed")})
	if v := g.want(t, 0, VerdictGone); v.Text != "was killed" {
		t.Errorf("got %q, want the better reason", v.Text)
	}
	g.now = g.now.Add(time.Second)
	g.step(Event{})
	g.want(t, 0)
	if !g.Due().IsZero() {
		t.Error("got something due, want nothing")
	}
	g.report(0, Report{Kind: ReportLeft})
	if !g.done {
		t.Error("not settled, though one has told and one is lost")
	}
}

// A wait that lasts is noticed once, when it is due.
func TestMachineNotices(t *testing.T) {
	g := newGame(Options{Size: 2})
	g.step(Event{NoticeAfter: time.Minute})
	g.waits(0, 1, 1, 0, 0)
	if due := g.Due(); !due.Equal(g.now.Add(time.Minute)) {
		t.Fatalf("got due %v, want a minute from now", due)
	}
	g.now = g.Due()
	g.step(Event{})
	q := g.want(t, 0, VerdictQuestion)
	g.report(0, Report{Kind: ReportAnswer, Question: q.Question, Text: "recv(src=1, tag=4)"})
	if len(g.lines) != 1 || !strings.Contains(g.lines[0], "rank 0 has waited 1m0s in recv(src=1, tag=4) for rank 1") {
		t.Errorf("got %q, want one line", g.lines)
	}
	g.step(Event{})
	g.want(t, 0)
}

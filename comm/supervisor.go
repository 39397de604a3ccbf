package comm

import (
	"fmt"
	"slices"
	"time"
)

// A supervisor hears from every rank of frames when it waits and when it ends.
// It tells the others of failures, and it finds deadlocks.
//
// What it knows of a rank may be out of date. It therefore speaks of a
// deadlock only when the reports of the ranks agree: what each had sent to
// another, when it began to wait, is what the other had received. Then nothing
// is on its way between them; the first of them to go on would need something
// that another sent after its own report, and that one would have had to go on
// before it.
//
// It then asks each of the ranks where it is, which holds the rank's wait, and
// when all have answered tells all of the deadlock. So what one of them does
// after it has heard cannot reach another that has not.
type supervisor struct {
	fabricDone <-chan struct{}
	outlets    []*outlet // to each rank
	events     chan event

	// What follows belongs to run.
	ranks    []knowledge
	asked    map[int]func(*report) // by the number of the question
	question int                   // the number of the last question
	inquiry  *inquiry              // the deadlock that is being looked into
	notices  *noticeRequest
	timer    *time.Timer
}

// An event is what the supervisor acts on.
type event struct {
	rank   int
	report *report        // of rank
	lost   error          // why nothing sensible comes from rank any more
	notice *noticeRequest // of Fabric.Notice
}

type noticeRequest struct {
	after time.Duration
	fn    func(line string)
}

// knowledge is what the supervisor knows of a rank.
type knowledge struct {
	wait    *report // what it waits for, nil while it runs
	since   time.Time
	noticed bool  // whether a notice of the wait was asked for
	ended   bool  // whether it has ended, in whatever way
	lost    bool  // whether it cannot be relied on
	sent    []int // how many calls and messages it had sent to each rank
	told    int   // how many verdicts but questions it was sent
}

func newSupervisor(f *Fabric, size int) *supervisor {
	return &supervisor{
		fabricDone: f.ctx.Done(),
		outlets:    make([]*outlet, size),
		events:     make(chan event),
		ranks:      make([]knowledge, size),
		asked:      map[int]func(*report){},
		timer:      time.NewTimer(0),
	}
}

// listen passes on what a rank sends, until it sends no more or what is no
// report.
func (s *supervisor) listen(rank int, in *inlet) {
	for {
		r, err := s.hear(in)
		s.tell(event{rank: rank, report: r, lost: err})
		if err != nil {
			return
		}
	}
}

// hear returns the next report.
func (s *supervisor) hear(in *inlet) (*report, error) {
	f, err := in.next()
	if err != nil {
		return nil, err
	}
	if f.typ != frameReport {
		return nil, alienType(f)
	}
	r, err := decodeReport(f.payload)
	if err != nil {
		return nil, err
	}
	return r, s.check(r)
}

// check checks the numbers of a report that are to be ranks.
func (s *supervisor) check(r *report) error {
	size := len(s.ranks)
	for _, list := range [][]int{r.waits, r.all, {r.peer}} {
		for _, x := range list {
			if x < 0 || x >= size {
				return outOfRange(x, size)
			}
		}
	}
	if counts := r.kind <= reportFailed && r.kind != reportRuns; counts && len(r.sent) != size {
		return &FrameError{"length", fmt.Sprintf("%d counters", len(r.sent)), fmt.Sprint(size)}
	}
	return nil
}

// tell hands an event to run.
func (s *supervisor) tell(e event) {
	select {
	case s.events <- e:
	case <-s.fabricDone:
	}
}

// run acts on events until the fabric is closed.
func (s *supervisor) run() {
	defer s.timer.Stop()
	s.timer.Stop()
	for {
		select {
		case e := <-s.events:
			s.act(e)
			s.examine()
		case <-s.timer.C:
			s.remind()
		case <-s.fabricDone:
			return
		}
	}
}

// act takes in an event.
func (s *supervisor) act(e event) {
	switch {
	case e.notice != nil:
		s.notices = e.notice
		s.timer.Reset(0)
	case e.lost != nil:
		s.lose(e.rank, fmt.Sprintf("its connection to the supervisor was lost: %v", e.lost))
	default:
		s.learn(e.rank, e.report)
	}
}

// learn takes in a report.
func (s *supervisor) learn(rank int, r *report) {
	k := &s.ranks[rank]
	switch r.kind {
	case reportWaits:
		if k.wait == nil || k.wait.wait != r.wait {
			k.since, k.noticed = time.Now(), false
		}
		k.wait, k.sent = r, r.sent
	case reportRuns:
		k.wait = nil
	case reportEnded, reportFailed:
		s.conclude(rank, r)
	case reportLost:
		text := r.text
		if r.peer != rank {
			text = fmt.Sprintf("its connection to rank %d was lost: %s", rank, r.text)
		}
		s.lose(r.peer, text)
	default:
		if then := s.asked[r.question]; then != nil {
			delete(s.asked, r.question)
			then(r)
		}
	}
}

// conclude notes that a rank has ended, and tells the others.
func (s *supervisor) conclude(rank int, r *report) {
	k := &s.ranks[rank]
	if k.ended {
		return
	}
	k.ended, k.wait, k.sent = true, nil, r.sent
	kind := verdictEnded
	if r.kind == reportFailed {
		kind = verdictFailed
	}
	for to := range s.ranks {
		s.send(to, &verdict{kind: kind, rank: rank, text: r.text, count: r.sent[to]})
	}
}

// lose notes that a rank cannot be relied on, and tells everyone.
func (s *supervisor) lose(rank int, cause string) {
	if s.ranks[rank].lost {
		return
	}
	s.ranks[rank].lost = true
	for to := range s.ranks {
		s.send(to, &verdict{kind: verdictLost, rank: rank, text: cause})
	}
}

// send sends a verdict that is no question. What the rank has reported before
// it hears of it counts no more.
func (s *supervisor) send(to int, v *verdict) {
	s.ranks[to].told++
	s.write(to, v)
}

func (s *supervisor) write(to int, v *verdict) {
	s.outlets[to].send(frame{typ: frameVerdict}, appendVerdict(nil, v))
}

// ask asks a rank where it is in a wait or a call, and has then called with
// the answer. kind is verdictQuestion or verdictHold.
func (s *supervisor) ask(kind verdictKind, rank, wait int, what callKey, then func(*report)) {
	s.question++
	s.asked[s.question] = then
	s.write(rank, &verdict{kind: kind, question: s.question, wait: wait, what: what})
}

// waits reports whether a rank waits for all that the supervisor knows.
func (k *knowledge) waits() bool {
	return !k.ended && k.wait != nil && k.wait.heard == k.told
}

// graph returns who waits for whom.
func (s *supervisor) graph() waitGraph {
	graph := make(waitGraph, len(s.ranks))
	for r := range s.ranks {
		switch k := &s.ranks[r]; {
		case k.ended:
			graph[r].state = ended
		case k.waits():
			graph[r] = node{blocked, k.wait.waits}
		}
	}
	return graph
}

// examine looks for deadlocks. It looks into one at a time.
func (s *supervisor) examine() {
	if s.inquiry != nil {
		if s.inquiry.holds(s) {
			return
		}
		s.drop()
	}
	graph := s.graph()
	for _, set := range graph.closedSets() {
		if s.consistent(set) {
			s.inquire(set, graph)
			return
		}
	}
}

// consistent reports whether nothing is on its way to a rank of a set from one
// for which it waits.
func (s *supervisor) consistent(set []int) bool {
	for _, r := range set {
		wait := s.ranks[r].wait
		for i, from := range wait.waits {
			if sent := s.ranks[from].sent; sent == nil || sent[r] != wait.received[i] {
				return false
			}
		}
	}
	return true
}

// An inquiry collects where the ranks of a deadlock are. Their waits are held
// until it is over.
type inquiry struct {
	set    []int
	graph  waitGraph
	basis  []*report // by place in set: the reports that show the deadlock
	asked  int       // questions that are not answered
	result []Wait
}

// holds reports whether the ranks still wait for the same.
func (q *inquiry) holds(s *supervisor) bool {
	for i, r := range q.set {
		k := &s.ranks[r]
		if !k.waits() || k.wait.wait != q.basis[i].wait || !slices.Equal(k.wait.waits, q.basis[i].waits) {
			return false
		}
	}
	return true
}

// drop ends an inquiry that has not come to a deadlock.
func (s *supervisor) drop() {
	for i, r := range s.inquiry.set {
		s.write(r, &verdict{kind: verdictRelease, wait: s.inquiry.basis[i].wait})
	}
	s.inquiry = nil
}

// inquire asks the ranks of a closed set where they are.
func (s *supervisor) inquire(set []int, graph waitGraph) {
	q := &inquiry{set: set, graph: graph}
	s.inquiry = q
	for _, r := range set {
		q.basis = append(q.basis, s.ranks[r].wait)
	}
	for _, r := range set {
		wait := s.ranks[r].wait
		if !graph.onlyEnded(wait) {
			s.askFor(q, r, wait.wait, callKey{}, wait.waits)
			continue
		}
		// Everyone who has come to the call is in the same case; see
		// monitor.waits.
		for _, member := range wait.all {
			if !slices.Contains(wait.waits, member) {
				s.askFor(q, member, 0, wait.what, wait.waits)
			}
		}
	}
}

// onlyEnded reports whether a wait is for a collective whose missing members
// have ended.
func (g waitGraph) onlyEnded(wait *report) bool {
	return wait.what != callKey{} && allOf(wait.waits, func(r int) bool { return g[r].state == ended })
}

// askFor asks a rank about a wait or a call for q.
func (s *supervisor) askFor(q *inquiry, rank, wait int, what callKey, missing []int) {
	q.asked++
	s.ask(verdictHold, rank, wait, what, func(r *report) {
		if s.inquiry != q {
			return
		}
		if r.kind == reportNone {
			s.drop()
			if wait != 0 { // it goes on, and will say if it waits again
				s.ranks[rank].wait = nil
			}
			return
		}
		q.result = append(q.result, Wait{rank, r.function, r.text, r.where, missing})
		if q.asked--; q.asked == 0 && q.holds(s) {
			s.condemn(q)
		}
	})
}

// condemn ends the waits of a deadlock, and fails the collectives in which its
// ranks wait on every member.
func (s *supervisor) condemn(q *inquiry) {
	slices.SortFunc(q.result, func(a, b Wait) int { return a.Rank - b.Rank })
	v := verdict{kind: verdictDeadlock, deadlock: &DeadlockError{q.result, q.graph.endedAmong(q.set)}}
	told := slices.Clone(q.set)
	for _, r := range q.set {
		if wait := s.ranks[r].wait; wait.what != (callKey{}) && !slices.Contains(v.failed, wait.what) {
			v.failed = append(v.failed, wait.what)
			told = append(told, wait.all...)
		}
	}
	slices.Sort(told)
	for _, to := range slices.Compact(told) {
		mine := v
		if slices.Contains(q.set, to) {
			mine.wait = s.ranks[to].wait.wait
		}
		s.send(to, &mine)
	}
	s.inquiry = nil
}

// remind asks the ranks that have waited for long where they are, for a notice.
func (s *supervisor) remind() {
	next := s.notices.after
	for r := range s.ranks {
		k := &s.ranks[r]
		if !k.waits() || k.noticed {
			continue
		}
		if left := s.notices.after - time.Since(k.since); left > 0 {
			next = min(next, left)
			continue
		}
		k.noticed = true
		s.ask(verdictQuestion, r, k.wait.wait, callKey{}, s.noticer(r, k.wait.waits))
	}
	s.timer.Reset(next)
}

// noticer returns what gives a notice once it is known where the rank waits.
func (s *supervisor) noticer(rank int, missing []int) func(*report) {
	request := s.notices
	return func(r *report) {
		if r.kind == reportAnswer {
			request.fn(noticeLine(rank, request.after, r.text+at(r.where), missing))
		}
	}
}

package process

import (
	"fmt"
	"time"

	"tpsh/comm"
	"tpsh/comm/deadlock"
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
	number  uint32 // of the generation
	grace   time.Duration
	hosts   []string        // of each rank, nil if that is no matter
	writers []messageWriter // to each rank
	events  chan rankEvent
	done    <-chan struct{} // closed when there is no more to do
	settled chan struct{}   // closed when no more can come of what was not received

	// What follows belongs to run.
	ranks    []knowledge
	asked    map[int]func(*report) // by the number of the question
	question int                   // the number of the last question
	inquiry  *inquiry              // the deadlock that is being looked into
	notices  *noticeRequest
	timer    *time.Timer       // of the notices
	suspects []suspicion       // the oldest first
	limit    *time.Timer       // of the first of suspects
	left     []comm.Unreceived // from those who have told
}

// An rankEvent is what the supervisor acts on.
type rankEvent struct {
	rank   int
	report *report        // of rank
	lost   error          // why nothing sensible comes from rank any more
	dead   error          // what has become of rank, from one who knows
	exits  bool           // whether rank may fall silent
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
	idle    bool  // whether it makes no call until it resumes
	lost    bool  // whether it cannot be relied on
	exits   bool  // whether its streams may end
	silent  bool  // whether its stream has ended
	left    bool  // whether it has told what it has not received
	sent    []int // how many calls and messages it had sent to each rank
	told    int   // how many verdicts but questions it was sent
}

// newSupervisor returns a supervisor of size ranks, which works until done is
// closed.
func newSupervisor(done <-chan struct{}, size int) *supervisor {
	return &supervisor{
		writers: make([]messageWriter, size),
		events:  make(chan rankEvent),
		done:    done,
		settled: make(chan struct{}),
		ranks:   make([]knowledge, size),
		asked:   map[int]func(*report){},
		timer:   time.NewTimer(0),
		limit:   time.NewTimer(0),
	}
}

// readReports passes on what a rank sends, until it sends no more or what is no
// report.
func (s *supervisor) readReports(rank int, in *messageReader) {
	for {
		f, err := in.next()
		var r *report
		if err == nil {
			r, err = readReport(f, len(s.ranks))
		}
		s.tell(rankEvent{rank: rank, report: r, lost: err})
		if err != nil {
			return
		}
	}
}

// readReport returns the report of a frame from one of size ranks.
func readReport(f *frame, size int) (*report, error) {
	if f.typ != frameReport {
		return nil, alienType(f)
	}
	r, err := decodeReport(f.payload)
	if err != nil {
		return nil, err
	}
	return r, r.check(size)
}

// check checks the numbers of a report that are to be ranks.
func (r *report) check(size int) error {
	for _, list := range [][]int{r.waits, r.all, {r.peer}} {
		for _, x := range list {
			if x < 0 || x >= size {
				return outOfRange(x, size)
			}
		}
	}
	if counts := r.kind <= reportIdle && r.kind != reportRuns; counts && len(r.sent) != size {
		return &FrameError{"length", fmt.Sprintf("%d counters", len(r.sent)), fmt.Sprint(size)}
	}
	return nil
}

// tell hands an event to run.
func (s *supervisor) tell(e rankEvent) {
	select {
	case s.events <- e:
	case <-s.done:
	}
}

// run acts on events until there is no more to do.
func (s *supervisor) run() {
	defer s.timer.Stop()
	defer s.limit.Stop()
	s.limit.Stop()
	if s.notices == nil {
		s.timer.Stop()
	}
	for {
		select {
		case e := <-s.events:
			s.act(e)
			s.examine()
		case <-s.timer.C:
			s.remind()
		case <-s.limit.C:
			s.decide()
			s.examine()
		case <-s.done:
			return
		}
	}
}

// where returns the host of a rank, "" if that is no matter.
func (s *supervisor) where(rank int) string {
	if s.hosts == nil {
		return ""
	}
	return s.hosts[rank]
}

// act takes in an event.
func (s *supervisor) act(e rankEvent) {
	switch {
	case e.notice != nil:
		s.notices = e.notice
		s.timer.Reset(0)
	case e.dead != nil:
		s.lose(verdictGone, e.rank, e.dead.Error())
	case e.exits:
		s.ranks[e.rank].exits = true
		s.settle()
	case e.lost != nil:
		s.ranks[e.rank].silent = true
		s.settle()
		s.suspect(suspicion{rank: e.rank, by: -1, text: fmt.Sprintf("%s: %v", supervisorLost(s.where(e.rank)), e.lost)})
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
	case reportIdle:
		k.idle, k.wait, k.sent = true, nil, r.sent
	case reportResumes:
		k.idle = false
		s.write(rank, &verdict{kind: verdictAwake, rank: rank})
	case reportLost:
		s.accuse(rank, r)
	case reportLeft:
		if !k.left && !k.lost {
			k.left, s.left = true, append(s.left, r.left...)
			s.settle()
		}
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

// lose notes that a rank cannot be relied on, and tells everyone. kind is
// verdictLost or verdictGone.
func (s *supervisor) lose(kind verdictKind, rank int, cause string) {
	if s.ranks[rank].lost {
		return
	}
	s.ranks[rank].lost = true
	for to := range s.ranks {
		s.send(to, &verdict{kind: kind, rank: rank, text: cause})
	}
	s.settle()
}

// send sends a verdict that is no question. What the rank has reported before
// it hears of it counts no more.
func (s *supervisor) send(to int, v *verdict) {
	s.ranks[to].told++
	s.write(to, v)
}

func (s *supervisor) write(to int, v *verdict) {
	s.writers[to].send(frame{typ: frameVerdict, generation: s.number}, appendVerdict(nil, v), nil)
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
func (s *supervisor) graph() deadlock.Graph {
	graph := make(deadlock.Graph, len(s.ranks))
	for r := range s.ranks {
		switch k := &s.ranks[r]; {
		case k.ended || k.idle:
			graph[r].State = deadlock.Ended
		case k.waits():
			graph[r] = deadlock.Node{State: deadlock.Blocked, Waits: k.wait.waits}
		}
	}
	return graph
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
			request.fn(comm.NoticeLine(rank, request.after, r.text+comm.AtLine(r.where), missing))
		}
	}
}

package deadlock

import (
	"fmt"
	"slices"
	"time"

	"tpsh/comm"
)

// A Machine hears from every rank when it waits and when it ends. It tells
// the others of failures, and it finds deadlocks. It is a machine: Step takes in
// one event, and returns the verdicts to send for it.
//
// Its knowledge of a rank may be out of date. It therefore speaks of a
// deadlock only when the reports of the ranks agree: the messages that each had sent to
// another, when it began to wait, are those that the other had received. Then nothing
// is on its way between them; the first of them to go on would need something
// that another sent after its own report, and that one would have had to go on
// before it. Of calls whose contracts go from rank to rank it counts no messages: it knows who has
// made them, by the reports, and a rank in a closed set waits for one that has not.
//
// It then asks each of the ranks where it is, which holds the rank's wait, and
// when all have answered tells all of the deadlock. So the messages that one of them sends
// after it has heard cannot reach another that has not.
type Machine struct {
	options  Options
	now      time.Time // of the event that is taken in
	ranks    []knowledge
	asked    map[int]func(*Report) // by the number of the question
	question int                   // the number of the last question
	inquiry  *inquiry              // the deadlock that is being looked into
	nodes    Graph                 // memory for graph: it is made of each report
	notices  time.Duration         // after how long a wait is noticed, 0 for never
	suspects []suspicion           // the oldest first
	left     []comm.Unreceived     // from the ranks that have told
	over     int                   // how many ranks have ended or are lost
	untold   []int                 // those of them that have ended normally, and of which the others are not told
	tellAt   time.Time             // when to tell them
	out      Outcome               // of the event that is taken in
}

// Options is all that a Machine knows from the start.
type Options struct {
	Size  int           // of the fabric
	Hosts []string      // of each rank, nil if that is no matter
	Grace time.Duration // how long a suspicion that a rank is lost waits for a better reason
}

// An Event is news of a rank, or of the time. One without any field but Rank lets
// it act on the time.
type Event struct {
	Rank        int
	Report      *Report       // of Rank
	Lost        error         // why nothing sensible comes from Rank any more
	Dead        error         // why Rank has ended, from whoever watches its process
	Exits       bool          // whether Rank may fall silent
	NoticeAfter time.Duration // of Fabric.Notice
}

// An Outcome is all that follows from an event.
type Outcome struct {
	Verdicts []Addressed // to send, in their order
	Notices  []string    // lines about waits that last
	Settled  bool        // whether the list of messages not received is complete
}

// An Addressed verdict is one for a rank.
type Addressed struct {
	To      int
	Verdict *Verdict
}

// knowledge is all that the supervisor knows of a rank.
type knowledge struct {
	wait    *Report // the report of its wait, nil while it runs
	since   time.Time
	noticed bool              // whether a notice of the wait was asked for
	ended   bool              // whether it has ended, in whatever way
	idle    bool              // whether it makes no call until it resumes
	lost    bool              // whether it cannot be relied on
	exits   bool              // whether its streams may end
	silent  bool              // whether its stream has ended
	left    bool              // whether it has listed the messages that it has not received
	sent    []int             // how many calls and messages it had sent to each rank
	calls   map[uint64]uint64 // by group whose contracts are relayed: how many calls it has made at least
	told    int               // how many verdicts but questions it was sent
}

// NewMachine returns a supervisor that has heard of nothing.
func NewMachine(o Options) *Machine {
	return &Machine{options: o, ranks: make([]knowledge, o.Size), asked: map[int]func(*Report){}}
}

// Step takes in an event that has come at a time, and returns the outcome. The
// result is valid until the next Step.
func (s *Machine) Step(now time.Time, e Event) *Outcome {
	s.now = now
	clear(s.out.Verdicts)
	s.out = Outcome{Verdicts: s.out.Verdicts[:0]}
	s.act(e)
	s.decide()
	s.tellIfDue()
	s.remind()
	s.examine()
	return &s.out
}

// Due returns when to Step though nothing has happened, the zero time for never.
func (s *Machine) Due() time.Time {
	due := s.nextNotice()
	if len(s.suspects) > 0 && (due.IsZero() || s.suspects[0].due.Before(due)) {
		due = s.suspects[0].due
	}
	if len(s.untold) > 0 && (due.IsZero() || s.tellAt.Before(due)) {
		due = s.tellAt
	}
	return due
}

// Unreceived returns the messages that no rank has received, in the order of
// Fabric.Unreceived, once the machine has settled.
func (s *Machine) Unreceived() []comm.Unreceived { return s.left }

// host returns the host of a rank, "" if that is no matter.
func (s *Machine) host(rank int) string {
	if s.options.Hosts == nil {
		return ""
	}
	return s.options.Hosts[rank]
}

// act takes in an event.
func (s *Machine) act(e Event) {
	switch {
	case e.NoticeAfter > 0:
		s.notices = e.NoticeAfter
	case e.Dead != nil:
		s.lose(VerdictGone, e.Rank, e.Dead.Error())
	case e.Exits:
		s.ranks[e.Rank].exits = true
		s.settle()
	case e.Lost != nil:
		s.ranks[e.Rank].silent = true
		s.settle()
		s.suspect(suspicion{rank: e.Rank, by: -1, text: fmt.Sprintf("%s: %v", SupervisorLost(s.host(e.Rank)), e.Lost)})
	case e.Report != nil:
		s.learn(e.Rank, e.Report)
	}
}

// learn takes in a report.
func (s *Machine) learn(rank int, r *Report) {
	k := &s.ranks[rank]
	k.count(r.Calls)
	switch r.Kind {
	case ReportWaits:
		if k.wait == nil || k.wait.Wait != r.Wait {
			k.since, k.noticed = s.now, false
		}
		k.wait, k.sent = r, r.Sent
	case ReportRuns:
		k.wait = nil
	case ReportCalls: // have been counted
	case ReportEnded, ReportFailed:
		s.conclude(rank, r)
	case ReportIdle:
		k.idle, k.wait, k.sent = true, nil, r.Sent
	case ReportResumes:
		k.idle = false
		s.write(rank, &Verdict{Kind: VerdictAwake, Rank: rank})
	case ReportLost:
		s.accuse(rank, r)
	case ReportLeft:
		if !k.left && !k.lost {
			k.left, s.left = true, append(s.left, r.Left...)
			s.settle()
		}
	default:
		if then := s.asked[r.Question]; then != nil {
			delete(s.asked, r.Question)
			then(r)
		}
	}
}

// conclude notes that a rank has ended, and tells the others, of a normal end perhaps later.
func (s *Machine) conclude(rank int, r *Report) {
	k := &s.ranks[rank]
	if k.ended {
		return
	}
	k.ended, k.wait, k.sent = true, nil, r.Sent
	if !k.lost {
		s.over++
	}
	if r.Kind == ReportEnded {
		if len(s.untold) == 0 {
			s.tellAt = s.now.Add(s.patience())
		}
		s.untold = append(s.untold, rank)
		return
	}
	for to := range s.ranks {
		s.send(to, &Verdict{Kind: VerdictFailed, Rank: rank, Text: r.Text, Count: r.Sent[to], Calls: r.Calls})
	}
}

const (
	// fewRanks is of how many ranks each normal end is told at once.
	fewRanks = 16
	// patienceEach is for how long, for each rank of more, an end may wait to be told with others.
	patienceEach = 2 * time.Millisecond
)

// patience returns how long a normal end may wait to be told together with those of others.
// Nobody does anything for it but let go of memory: what waits for a rank that has ended is a
// deadlock, of which the machine knows.
func (s *Machine) patience() time.Duration {
	if len(s.ranks) <= fewRanks {
		return 0
	}
	return time.Duration(len(s.ranks)) * patienceEach
}

// tellIfDue tells of normal ends when it is time, or no more can come.
func (s *Machine) tellIfDue() {
	if len(s.untold) > 0 && (s.over == len(s.ranks) || !s.now.Before(s.tellAt)) {
		s.tellEnds()
	}
}

// tellEnds tells all ranks of those that have ended normally. It is work for each pair of ranks
// in all, whatever it is divided into; what makes it cheap is that verdicts are few.
func (s *Machine) tellEnds() {
	ended := s.untold
	s.untold = nil
	for to := range s.ranks {
		v := &Verdict{Kind: VerdictEnded, Ends: make([]End, len(ended))}
		for i, rank := range ended {
			v.Ends[i] = End{rank, s.ranks[rank].sent[to]}
		}
		s.send(to, v)
	}
}

// lose notes that a rank cannot be relied on, and tells everyone. kind is
// VerdictLost or VerdictGone.
func (s *Machine) lose(kind VerdictKind, rank int, cause string) {
	if s.ranks[rank].lost {
		return
	}
	s.ranks[rank].lost = true
	if !s.ranks[rank].ended {
		s.over++
	}
	for to := range s.ranks {
		s.send(to, &Verdict{Kind: kind, Rank: rank, Text: cause})
	}
	s.settle()
}

// send sends a verdict that is no question, behind those that have waited. Reports of the
// rank from before it hears of it count no more.
func (s *Machine) send(to int, v *Verdict) {
	if len(s.untold) > 0 {
		s.tellEnds()
	}
	s.ranks[to].told++
	s.write(to, v)
}

// write has a verdict sent.
func (s *Machine) write(to int, v *Verdict) {
	s.out.Verdicts = append(s.out.Verdicts, Addressed{to, v})
}

// ask asks a rank where it is in a wait or a call, and has then called with
// the answer. kind is VerdictQuestion or VerdictHold.
func (s *Machine) ask(kind VerdictKind, rank, wait int, what CallKey, then func(*Report)) {
	s.question++
	s.asked[s.question] = then
	s.write(rank, &Verdict{Kind: kind, Question: s.question, Wait: wait, Call: what})
}

// waits reports whether a rank waits for all that the supervisor knows.
func (k *knowledge) waits() bool {
	return !k.ended && k.wait != nil && k.wait.Heard == k.told
}

// count notes calls that the rank has made.
func (k *knowledge) count(calls []CallKey) {
	for _, c := range calls {
		if k.calls == nil {
			k.calls = map[uint64]uint64{}
		}
		k.calls[c.Group] = max(k.calls[c.Group], c.Number)
	}
}

// relayed reports whether a rank waits for a call whose contracts are relayed.
func (k *knowledge) relayed() bool { return k.calls[k.wait.Call.Group] > 0 }

// missing returns the ranks for which a rank waits: where contracts are relayed those of which
// it is not known that they have called. kept has what was found before of such calls, if it is not nil.
func (s *Machine) missing(k *knowledge, kept map[CallKey][]int) []int {
	if !k.relayed() {
		return k.wait.Waits
	}
	call := k.wait.Call
	if found, ok := kept[call]; ok {
		return found
	}
	var found []int
	for _, m := range k.wait.All {
		if s.ranks[m].calls[call.Group] < call.Number {
			found = append(found, m)
		}
	}
	slices.Sort(found)
	if kept != nil {
		kept[call] = found
	}
	return found
}

// graph returns the graph of the ranks' waits, which the next call overwrites.
func (s *Machine) graph() Graph {
	if s.nodes == nil {
		s.nodes = make(Graph, len(s.ranks))
	}
	graph := s.nodes
	clear(graph)
	missing := map[CallKey][]int{} // of relayed calls
	for r := range s.ranks {
		switch k := &s.ranks[r]; {
		case k.ended || k.idle:
			graph[r].State = Ended
		case k.waits():
			waits := s.missing(k, missing)
			if len(waits) == 0 {
				break // what it waits for is on its way
			}
			graph[r] = Node{State: Blocked, Waits: waits, Caught: k.wait.Caught}
			if k.wait.Call != (CallKey{}) {
				graph[r].Call = k.wait.Call
			}
		}
	}
	return graph
}

// remind asks the ranks that have waited for long where they are, for a notice.
func (s *Machine) remind() {
	if s.notices == 0 {
		return
	}
	for r := range s.ranks {
		if k := &s.ranks[r]; k.waits() && !k.noticed && !s.now.Before(k.since.Add(s.notices)) {
			k.noticed = true
			s.ask(VerdictQuestion, r, k.wait.Wait, CallKey{}, s.noticer(r, s.missing(k, nil)))
		}
	}
}

// nextNotice returns when the next notice is due, the zero time if none is.
func (s *Machine) nextNotice() (due time.Time) {
	if s.notices == 0 {
		return due
	}
	for r := range s.ranks {
		if k := &s.ranks[r]; k.waits() && !k.noticed {
			if t := k.since.Add(s.notices); due.IsZero() || t.Before(due) {
				due = t
			}
		}
	}
	return due
}

// noticer returns a function that gives a notice once it is known where the rank waits.
func (s *Machine) noticer(rank int, missing []int) func(*Report) {
	return func(r *Report) {
		if r.Kind == ReportAnswer {
			s.out.Notices = append(s.out.Notices, comm.NoticeLine(rank, s.notices, r.Text+comm.AtLine(r.Where), missing))
		}
	}
}

package inproc

import (
	"slices"
	"time"

	"tpsh/comm"
	"tpsh/comm/mailbox"
)

// An inprocWait is a wait in progress: for the members that are missing at a
// round, or for a message.
type inprocWait struct {
	rank     int // of the fabric
	endpoint *comm.Endpoint
	program  bool // whether the rank itself waits, and not a call that goes on beside it
	state    *groupState
	round    *round      // nil for a message
	key      mailbox.Key // of the message
	src      int         // the rank of the fabric that is to send the message

	function string
	text     func() string // the call as a script would write it
	where    func() string
	wake     chan struct{} // holds an element when the inprocWait should look again
	verdict  *comm.DeadlockError
	since    time.Time
	told     bool // whether there was a notice of it
}

// signal makes w look whether it is over.
func (w *inprocWait) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// missing returns the ranks of the fabric for which w waits.
func (w *inprocWait) missing() []int {
	if w.round == nil {
		return []int{w.src}
	}
	var ranks []int
	for i, r := range w.state.ranks {
		if w.round.lacks(i) {
			ranks = append(ranks, r)
		}
	}
	slices.Sort(ranks)
	return ranks
}

// newWait returns an inprocWait for the members that are missing at a round.
func (g *inprocGroup) newWait(op *comm.Op, rd *round) *inprocWait {
	return &inprocWait{
		rank:     g.endpoint.Rank(),
		endpoint: g.endpoint,
		state:    g.state,
		round:    rd,
		function: op.Desc.Op,
		text:     func() string { return g.text(op) },
		where:    func() string { return g.endpoint.SourceLine(op.Where) },
		wake:     make(chan struct{}, 1),
	}
}

// recvWait returns an inprocWait for a message.
func (g *inprocGroup) recvWait(src int, key mailbox.Key, where func() string) *inprocWait {
	return &inprocWait{
		rank:     g.endpoint.Rank(),
		endpoint: g.endpoint,
		program:  true,
		state:    g.state,
		key:      key,
		src:      g.state.ranks[src],
		function: comm.RecvName,
		text:     func() string { return comm.RecvText(src, key.Tag) + comm.InGroup(g.state.name) },
		where:    func() string { return g.endpoint.SourceLine(where) },
		wake:     make(chan struct{}, 1),
	}
}

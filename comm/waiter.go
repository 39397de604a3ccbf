package comm

import (
	"slices"
	"time"
)

// A waiter is a wait in progress: for the members that are missing at a
// meeting, or for a message.
type waiter struct {
	rank    int  // of the fabric
	program bool // whether the rank itself waits, and not a call that goes on beside it
	room    *room
	meeting *meeting // nil for a message
	key     mailKey  // of the message
	src     int      // the rank of the fabric that is to send the message

	function string
	text     func() string // the call as a script would write it
	where    func() string
	wake     chan struct{} // holds an element when the waiter should look again
	verdict  *DeadlockError
	since    time.Time
	told     bool // whether there was a notice of it
}

// signal makes w look at what it waits for.
func (w *waiter) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// waitsFor reports whether one of the ranks for which w waits is so.
func (w *waiter) waitsFor(so func(rank int) bool) bool {
	if w.meeting == nil {
		return so(w.src)
	}
	for i, r := range w.room.ranks {
		if w.meeting.lacks(i) && so(r) {
			return true
		}
	}
	return false
}

// missing returns the ranks of the fabric for which w waits.
func (w *waiter) missing() []int {
	if w.meeting == nil {
		return []int{w.src}
	}
	var ranks []int
	for i, r := range w.room.ranks {
		if w.meeting.lacks(i) {
			ranks = append(ranks, r)
		}
	}
	slices.Sort(ranks)
	return ranks
}

// waiter returns a waiter for the members that are missing at m.
func (a *attendee) waiter(op *Op, m *meeting) *waiter {
	return &waiter{
		rank:     a.endpoint.rank,
		room:     a.room,
		meeting:  m,
		function: op.Desc.Op,
		text:     func() string { return a.text(op) },
		where:    func() string { return a.endpoint.place(op.Where) },
		wake:     make(chan struct{}, 1),
	}
}

// receiver returns a waiter for a message.
func (a *attendee) receiver(src int, key mailKey, where func() string) *waiter {
	return &waiter{
		rank:     a.endpoint.rank,
		program:  true,
		room:     a.room,
		key:      key,
		src:      a.room.ranks[src],
		function: recvName,
		text:     func() string { return recvText(src, key.tag) + in(a.room.name) },
		where:    func() string { return a.endpoint.place(where) },
		wake:     make(chan struct{}, 1),
	}
}

package tcp

import "sync"

// fewConns is how many connections are read one after another to see whether something has
// come. Of more the system is asked once, and those are read where something has: with n
// ranks each of which is woken by the messages of all others, that spares n reads a message.
const fewConns = 12

// A query asks at which of many connections something has come.
type query struct {
	conns []*Conn
	asked []*Conn // those in list
	list  pollList
}

var queries = sync.Pool{New: func() any { return &query{} }}

// newQuery returns a query of no connections.
func newQuery() *query { return queries.Get().(*query) }

// free lets q be used again.
func (q *query) free() {
	clear(q.conns)
	clear(q.asked)
	q.conns, q.asked, q.list = q.conns[:0], q.asked[:0], q.list[:0]
	queries.Put(q)
}

// take takes in the messages that are there, or if brief is true one of a call from each
// peer. It reports whether there were some.
func (q *query) take(brief bool) (came bool) {
	for _, c := range q.conns {
		switch open, there := c.Look(); {
		case there:
			came = c.take(brief) || came
		case open:
			q.list.add(c.at, true, false)
			q.asked = append(q.asked, c)
		}
	}
	if len(q.asked) == 0 {
		return came
	}
	q.list.wait(0)
	for i, c := range q.asked {
		if q.list.ready(i) {
			came = c.take(brief) || came
		}
	}
	return came
}

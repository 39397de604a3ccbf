//go:build !linux

package tcp

import (
	"slices"
	"sync"
)

// A readySet asks the system which of many sockets have something, by poll(2).
type readySet struct {
	mu    sync.Mutex
	fds   []int
	ranks []int // by index in fds: the rank at the other end
	turn  int   // the index at which the next ask begins
}

func newReadySet() (*readySet, error) { return &readySet{}, nil }

// add makes a socket one of the set, by the rank at its other end.
func (r *readySet) add(fd, rank int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fds, r.ranks = append(r.fds, fd), append(r.ranks, rank)
	return nil
}

// remove removes a socket, which may have been removed before.
func (r *readySet) remove(fd int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.fds, fd); i >= 0 {
		r.fds, r.ranks = slices.Delete(r.fds, i, i+1), slices.Delete(r.ranks, i, i+1)
	}
}

// list adds to a list what is ready when one of the sockets has something.
func (r *readySet) list(l *pollList) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, fd := range r.fds {
		l.add(fd, true, false)
	}
}

// ask appends the ranks of sockets that have something, as many as ranks has room for. The
// next call begins with others.
func (r *readySet) ask(ranks []int) []int {
	var l pollList
	r.list(&l)
	l.wait(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range l {
		at := (r.turn + i) % len(l)
		if len(ranks) == cap(ranks) {
			r.turn = at
			break
		}
		if at < len(r.ranks) && l.ready(at) {
			ranks = append(ranks, r.ranks[at])
		}
	}
	return ranks
}

func (r *readySet) close() {}

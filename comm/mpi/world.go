package mpi

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options say how a process joins its world.
type Options struct {
	Library *Library // of Find
	Launch  *Launch  // of Launched; nil if no launcher has started the process
}

// A World is the ranks that a launcher has started together, seen from one of
// them.
type World struct {
	rank, size int
	hosts      []int  // by rank: the lowest rank on its machine
	label      string // of the library

	engine  engine
	bell    bell
	ended   atomic.Bool   // whether the owner is to finalise MPI
	parted  chan struct{} // closed when there is nothing more to do but finalise MPI
	done    chan struct{}
	end     error // of the owner, once done is closed
	closing sync.Once
	patient time.Duration // for how long Close waits for MPI to finalise

	start  time.Time
	active time.Duration // when the owner has last seen something happen, after start; the owner's
	looks  atomic.Uint64 // how often somebody other than the owner has looked
	seen   uint64        // looks when the owner last compared it; the owner's
	busy   atomic.Bool   // whether pending holds any
	memory memory

	mu       sync.Mutex // held to use engine, and the fields below
	slots    []slot     // the next messages of streams, from next on; nil before any is awaited
	next     int
	flights  []flight // messages of streams under way, in the order sent
	pending  []*operation
	streams  map[streamKey]*Stream
	muted    bool  // whether nobody is to be notified of messages
	draining bool  // whether messages that come are dropped
	err      error // after which nothing works

	farewells int // last messages that have come
}

// The channels of streams that tpsh uses.
const (
	Data        = 0 // between ranks
	Supervision = 1 // between a rank and the supervisor
	Control     = 2 // between a rank and whoever directs the run
)

// maxChannel is the highest channel of a stream. Every MPI has so many tags.
const maxChannel = 1 << 14

var (
	errClosed = errors.New("mpi: the world is closed")
	errStream = fmt.Errorf("mpi: the stream is closed: %w", io.ErrClosedPipe)
)

// newWorld returns a world over an engine, which somebody is to drive.
func newWorld(e engine, b bell, rank, size int, hosts []int, label string) *World {
	return &World{
		rank: rank, size: size, hosts: hosts, label: label,
		engine:  e,
		bell:    b,
		parted:  make(chan struct{}),
		done:    make(chan struct{}),
		patient: finalizeTime,
		streams: map[streamKey]*Stream{},
		start:   time.Now(),
	}
}

// Rank returns the rank of this process.
func (w *World) Rank() int { return w.rank }

// Size returns the number of ranks.
func (w *World) Size() int { return w.size }

// Local returns the ranks on this machine in ascending order, this one among
// them.
func (w *World) Local() (ranks []int) {
	for r, host := range w.hosts {
		if host == w.hosts[w.rank] {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// Hosts says by rank on which machine it is: two that share memory, as MPI tells, have one
// number. It is nil if all are on one.
func (w *World) Hosts() []int {
	if len(slices.Compact(slices.Clone(w.hosts))) == 1 {
		return nil
	}
	return slices.Clone(w.hosts)
}

// String names the world and its library.
func (w *World) String() string { return fmt.Sprintf("rank %d of %d by %s", w.rank, w.size, w.label) }

// Abort ends all processes of the world, this one included, by MPI_Abort. The
// launcher passes the status on, if it does so at all.
func (w *World) Abort(status int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.engine.abort(status)
}

// Close ends all streams, takes part in the messages that other ranks still send until
// every rank has called Close, and finalises MPI. A process that has joined a
// world calls it before it exits, or Abort; launchers take it for a failure
// otherwise. If MPI does not come to the end of finalising, Close returns
// ErrUnfinished: all ranks have done their work, and may exit.
func (w *World) Close() error {
	w.closing.Do(func() {
		for _, s := range w.opened() {
			s.Close()
		}
		w.ended.Store(true)
		w.bell.ring()
	})
	<-w.parted
	timer := time.NewTimer(w.patient)
	defer timer.Stop()
	select {
	case <-w.done:
		return w.end
	case <-timer.C:
		return ErrUnfinished
	}
}

// finalizeTime is how long MPI may take to finalise. Processes wait for each other there: on a
// busy machine it may take seconds, and a launcher takes an exit before its end for a failure.
const finalizeTime = 20 * time.Second

// ErrUnfinished says that MPI_Finalize has not returned.
var ErrUnfinished = fmt.Errorf("mpi: MPI_Finalize has not returned for %v, though all ranks have ended", finalizeTime)

// opened returns the streams that are there.
func (w *World) opened() []*Stream {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []*Stream
	for _, s := range w.streams {
		all = append(all, s)
	}
	return all
}

// fail notes that MPI has failed: nothing works any more. The caller holds mu.
func (w *World) fail(err error) {
	if w.err == nil {
		w.err = err
	}
	for _, o := range w.pending {
		o.finish(0, w.err)
	}
	for _, s := range w.streams {
		s.lose(w.err)
	}
}

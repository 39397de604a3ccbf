//go:build native && linux

package mpi_test

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"testing"
	"time"

	"tpsh/comm/commtest"
	"tpsh/comm/mpi"
	"tpsh/comm/process"
)

// Ranks that an MPI connects do what ranks do: collectives of every kind, on
// several groups, at once or later, and messages, with the results that a local
// model has.
func TestConforms(t *testing.T) { playAll(t, []int{2, 3, 4}, "conform", "60", "20000") }

// Blocks of 16 MiB arrive as they were.
func TestConformsHuge(t *testing.T) { playAll(t, []int{2}, "huge") }

// links connects the ranks of a world, and has MPI carry out whole collectives
// if carried is true. end closes what it has made, when all
// have come to it.
func links(w *mpi.World, carried bool) (l *process.Links, end func() error, err error) {
	o := process.LinkOptions{Rank: w.Rank(), Size: w.Size(), Supervisor: w.Stream(0, mpi.Supervision)}
	if carried {
		o.Carrier = w
	}
	for peer := range w.Size() {
		var s io.ReadWriteCloser
		if peer != w.Rank() {
			s = w.Stream(peer, mpi.Data)
		}
		o.Peers = append(o.Peers, s)
	}
	dismiss := func() error { return nil }
	if w.Rank() == 0 {
		s := process.SuperviseOptions{Grace: 200 * time.Millisecond}
		for r := range w.Size() {
			s.Streams = append(s.Streams, w.Stream(r, mpi.Supervision))
		}
		dismiss = process.Supervise(s).Close
	}
	l, err = process.Connect(o)
	return l, func() error { return errors.Join(l.Close(), dismiss()) }, err
}

func conformScenario(t *testing.T, w *mpi.World, args []string) error {
	rounds, _ := strconv.Atoi(args[0])
	most, _ := strconv.Atoi(args[1])
	l, end, err := links(w, true)
	if err != nil {
		return err
	}
	for generation, seed := range []uint64{1, 2} {
		f := l.Fabric(2 * generation)
		if err := errors.Join(commtest.Exercise(t, f, 2)...); err != nil {
			return fmt.Errorf("exercise: %w", err)
		}
		if err := errors.Join(commtest.Huge(t, f, 300000)...); err != nil {
			return err
		}
		f.Unreceived()
		f = l.Fabric(2*generation + 1)
		if err := errors.Join(commtest.Wander(t, f, seed, rounds, most)...); err != nil {
			return err
		}
		f.Unreceived()
	}
	return end()
}

func hugeScenario(t *testing.T, w *mpi.World, _ []string) error {
	l, end, err := links(w, true)
	if err != nil {
		return err
	}
	f := l.Fabric(0)
	if err := errors.Join(commtest.Huge(t, f, 4<<20)...); err != nil {
		return err
	}
	f.Unreceived()
	return end()
}

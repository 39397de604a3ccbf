package main

import (
	"context"
	"errors"
	"io"
	"os"

	"tpsh/comm/mpi"
	"tpsh/comm/process"
)

// inWorld measures as one of the ranks that a launcher of MPI has started. The
// first is their supervisor, too.
func (j *job) inWorld(ctx context.Context, launch *mpi.Launch) error {
	library, err := mpi.Find(os.LookupEnv)
	if err != nil {
		return err
	}
	w, err := mpi.Join(mpi.Options{Library: library, Launch: launch})
	if err != nil {
		return err
	}
	j.ranks = w.Size()
	o := process.LinkOptions{Rank: w.Rank(), Size: w.Size(), Supervisor: w.Stream(0, mpi.Supervision), Carrier: w}
	o.Peers = make([]io.ReadWriteCloser, w.Size())
	for peer := range o.Peers {
		if peer != w.Rank() {
			o.Peers[peer] = w.Stream(peer, mpi.Data)
		}
	}
	dismiss := func() error { return nil }
	if w.Rank() == 0 {
		var s process.SuperviseOptions
		for r := range w.Size() {
			s.Streams = append(s.Streams, w.Stream(r, mpi.Supervision))
		}
		dismiss = process.Supervise(s).Close
	}
	links, err := process.Connect(o)
	if err == nil {
		err = j.measureAll(ctx, links, w.Rank(), 1) // a thread of MPI's
	}
	if err != nil {
		w.Abort(1)
	}
	return errors.Join(err, dismiss(), w.Close())
}

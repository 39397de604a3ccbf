package comm_test

import (
	"io"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/commtest"
	"tpsh/comm/mpi"
)

// A supervised stream is one that ends its world when it is closed, the last of
// the rank.
type worldEnd struct {
	io.ReadWriteCloser
	end func()
}

func (e *worldEnd) Close() error {
	err := e.ReadWriteCloser.Close()
	e.end()
	return err
}

// simulated returns an opener of ranks that an MPI connects, as it were.
func simulated(seed uint64) commtest.Opener {
	return func(size int) *comm.Fabric {
		worlds := mpi.Simulate(size, seed)
		links := make([]*comm.Links, size)
		s := comm.SuperviseOptions{Grace: 20 * time.Millisecond}
		for r, w := range worlds {
			o := comm.LinkOptions{Rank: r, Size: size, Carrier: w, Peers: make([]io.ReadWriteCloser, size)}
			for peer := range o.Peers {
				if peer != r {
					o.Peers[peer] = w.Stream(peer, mpi.Data)
				}
			}
			o.Supervisor = w.Stream(0, mpi.Supervision)
			s.Streams = append(s.Streams, &worldEnd{worlds[0].Stream(r, mpi.Supervision), func() { go w.Close() }})
			var err error
			if links[r], err = comm.Connect(o); err != nil {
				panic(err)
			}
		}
		return comm.Join(comm.Supervise(s), links)
	}
}

func TestMPI(t *testing.T) {
	commtest.Suite(t, simulated(1))
}

func TestMPIWanders(t *testing.T) {
	for seed := range uint64(4) {
		f := simulated(seed)(2 + int(seed)%3)
		for rank, err := range commtest.Wander(t, f, seed, 150, 1<<16) {
			if err != nil {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
		f.Close()
	}
}

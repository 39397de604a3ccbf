package comm_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/commtest"
)

// disturbedPairs returns an opener of fabrics of which the n-th connection made
// misbehaves.
func disturbedPairs(n int, d comm.Disturbance) commtest.Opener {
	return func(size int) *comm.Fabric {
		made := 0
		return comm.NewPiped(size, func() (a, b io.ReadWriteCloser) {
			a, b = comm.Loopback()
			if made == n {
				a = comm.Disturb(a, d)
			}
			made++
			return a, b
		})
	}
}

// Whatever happens to what is written to one connection, no rank gets a wrong
// result or hangs: all that have not ended fail, and say that a peer did.
func TestDisturbed(t *testing.T) {
	const size, connections = 3, 6
	for fault, name := range map[comm.Fault]string{
		comm.Drop: "drop", comm.Duplicate: "duplicate", comm.Corrupt: "corrupt", comm.CutShort: "cut",
	} {
		for seed := range 2 * connections {
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				t.Parallel()
				d := comm.Disturbance{Seed: uint64(seed), Fault: fault, Below: 300}
				f := disturbedPairs(seed%connections, d)(size)
				defer f.Close()
				for rank, err := range commtest.Exercise(t, f, 5) {
					if peer := (*comm.PeerError)(nil); err != nil && !errors.As(err, &peer) {
						t.Errorf("rank %d: got %v, want no error or the failure of a peer", rank, err)
					}
				}
			})
		}
	}
}

// What comes late comes.
func TestDisturbedDelay(t *testing.T) {
	for n := range 6 {
		f := disturbedPairs(n, comm.Disturbance{Seed: uint64(n), Delay: 200 * time.Microsecond})(3)
		for rank, err := range commtest.Exercise(t, f, 1) {
			if err != nil {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
		f.Close()
	}
}

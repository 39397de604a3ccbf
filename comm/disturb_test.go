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

// A misbehaving makes a connection of which one end's writes are disturbed.
type misbehaving func(comm.Disturbance) (a, b io.ReadWriteCloser)

// stream makes ends that are streams to their ranks, which write through
// comm.Disturb.
func stream(d comm.Disturbance) (a, b io.ReadWriteCloser) {
	a, b = comm.Loopback()
	return comm.Disturb(a, d), b
}

// cabled makes ends that are connections of the operating system's to their
// ranks, which make polled connections of them. Between the two somebody disturbs what comes
// from a.
func cabled(d comm.Disturbance) (a, b io.ReadWriteCloser) {
	a, x := comm.Loopback()
	y, b := comm.Loopback()
	go carry(comm.Disturb(y, d), x)
	go carry(x, y)
	return a, b
}

// carry copies from one connection to another until one of them ends.
func carry(to, from io.ReadWriteCloser) {
	io.Copy(to, from)
	to.Close()
	from.Close()
}

// disturbedPairs returns an opener of fabrics of which the n-th connection made
// misbehaves.
func disturbedPairs(pair misbehaving, n int, d comm.Disturbance) commtest.Opener {
	return func(size int) *comm.Fabric {
		made := 0
		return comm.NewPiped(size, func() (a, b io.ReadWriteCloser) {
			made++
			if made-1 == n {
				return pair(d)
			}
			return comm.Loopback()
		})
	}
}

// Whatever happens to what is written to one connection, no rank gets a wrong
// result or hangs: all that have not ended fail, and say that a peer did.
func TestDisturbed(t *testing.T) {
	for seed := range 6 {
		for fault := comm.Drop; fault <= comm.CutShort; fault++ {
			testDisturbed(t, "stream", stream, fault, seed)
		}
		for _, fault := range ofConnections {
			testDisturbed(t, "cable", cabled, fault, seed)
		}
	}
}

func testDisturbed(t *testing.T, kind string, pair misbehaving, fault comm.Fault, seed int) {
	const size, connections = 3, 6
	t.Run(fmt.Sprintf("%s/%s/%d", kind, faults[fault], seed), func(t *testing.T) {
		t.Parallel()
		d := comm.Disturbance{Seed: uint64(seed), Fault: fault, Below: 300}
		f := disturbedPairs(pair, seed%connections, d)(size)
		defer f.Close()
		for rank, err := range commtest.Exercise(t, f, 5) {
			if peer := (*comm.PeerError)(nil); err != nil && !errors.As(err, &peer) {
				t.Errorf("rank %d: got %v, want no error or the failure of a peer", rank, err)
			}
		}
	})
}

var faults = map[comm.Fault]string{comm.Drop: "drop", comm.Duplicate: "duplicate", comm.Corrupt: "corrupt", comm.CutShort: "cut"}

// ofConnections are the faults of connections of the operating system's. They
// lose nothing in the midst: where a frame had a hole, heartbeats would fill it,
// and it would take them long.
var ofConnections = []comm.Fault{comm.Duplicate, comm.Corrupt, comm.CutShort}

// What comes late comes.
func TestDisturbedDelay(t *testing.T) {
	for kind, pair := range map[string]misbehaving{"stream": stream, "cable": cabled} {
		for n := range 6 {
			f := disturbedPairs(pair, n, comm.Disturbance{Seed: uint64(n), Delay: 200 * time.Microsecond})(3)
			for rank, err := range commtest.Exercise(t, f, 1) {
				if err != nil {
					t.Errorf("%s: rank %d: %v", kind, rank, err)
				}
			}
			f.Close()
		}
	}
}

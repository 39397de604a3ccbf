package process_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/commtest"
	"tpsh/comm/process"
)

// A misbehaving makes a connection of which one end's writes are disturbed.
type misbehaving func(process.Disturbance) (a, b io.ReadWriteCloser)

// stream makes ends that are streams to their ranks, which write through
// process.Disturb.
func stream(d process.Disturbance) (a, b io.ReadWriteCloser) {
	a, b = process.Loopback()
	return process.Disturb(a, d), b
}

// connected makes ends that are connections of the operating system's to their
// ranks, which make polled connections of them. Between the two somebody disturbs what comes
// from a.
func connected(d process.Disturbance) (a, b io.ReadWriteCloser) {
	a, x := process.Loopback()
	y, b := process.Loopback()
	go carry(process.Disturb(y, d), x)
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
func disturbedPairs(pair misbehaving, n int, d process.Disturbance) commtest.Opener {
	return func(size int) *comm.Fabric {
		made := 0
		return process.NewPiped(size, nil, time.Second, func() (a, b io.ReadWriteCloser) {
			made++
			if made-1 == n {
				return pair(d)
			}
			return process.Loopback()
		})
	}
}

// Whatever happens to what is written to one connection, no rank gets a wrong
// result or hangs: all that have not ended fail, and say that a peer did.
func TestDisturbed(t *testing.T) {
	for seed := range 6 {
		if testing.Short() && seed != 0 {
			continue
		}
		for fault := process.Drop; fault <= process.CutShort; fault++ {
			testDisturbed(t, "stream", stream, fault, seed)
		}
		for _, fault := range ofConnections {
			testDisturbed(t, "connection", connected, fault, seed)
		}
	}
}

func testDisturbed(t *testing.T, kind string, pair misbehaving, fault process.Fault, seed int) {
	const size, connections = 3, 6
	t.Run(fmt.Sprintf("%s/%s/%d", kind, faults[fault], seed), func(t *testing.T) {
		t.Parallel()
		d := process.Disturbance{Seed: uint64(seed), Fault: fault, Below: 300}
		f := disturbedPairs(pair, seed%connections, d)(size)
		defer f.Close()
		for rank, err := range commtest.Exercise(t, f, 5) {
			if peer := (*comm.PeerError)(nil); err != nil && !errors.As(err, &peer) {
				t.Errorf("rank %d: got %v, want no error or the failure of a peer", rank, err)
			}
		}
	})
}

var faults = map[process.Fault]string{process.Drop: "drop", process.Duplicate: "duplicate", process.Corrupt: "corrupt", process.CutShort: "cut"}

// ofConnections are the faults of connections of the operating system's. They
// lose nothing in the midst: where a frame had a hole, heartbeats would fill it,
// and it would take them long.
var ofConnections = []process.Fault{process.Duplicate, process.Corrupt, process.CutShort}

// What comes late comes.
func TestDisturbedDelay(t *testing.T) {
	for kind, pair := range map[string]misbehaving{"stream": stream, "connection": connected} {
		for n := range 6 {
			if testing.Short() && n%3 != 0 {
				continue
			}
			f := disturbedPairs(pair, n, process.Disturbance{Seed: uint64(n), Delay: 200 * time.Microsecond})(3)
			for rank, err := range commtest.Exercise(t, f, 1) {
				if err != nil {
					t.Errorf("%s: rank %d: %v", kind, rank, err)
				}
			}
			f.Close()
		}
	}
}

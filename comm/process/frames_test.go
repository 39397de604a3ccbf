package process_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"tpsh/comm"
	"tpsh/comm/commtest"
	"tpsh/comm/process"
)

// What is no frame, or not to be sent, fails every rank, and says what it was.
func TestFramesInjected(t *testing.T) {
	for _, in := range process.Injections() {
		t.Run(in.Name, func(t *testing.T) {
			f := process.NewFrames(3, process.FrameOptions{})
			defer f.Close()
			process.Inject(f, in.From, in.To, in.Bytes)
			for rank, err := range commtest.Exercise(t, f, 1000) {
				var peer *comm.PeerError
				if !errors.As(err, &peer) || peer.Rank != in.Lost || !strings.Contains(err.Error(), "frame") {
					t.Errorf("rank %d: got %v, want a failure of rank %d by a frame", rank, err, in.Lost)
				}
			}
			f.Unreceived()
		})
	}
}

// A pipe between ranks that is cut, at whatever byte, fails every rank.
func TestFramesCut(t *testing.T) {
	for from := range 3 {
		for to := range 3 {
			for _, seed := range cutSeeds(from + to) {
				if from == to {
					continue
				}
				t.Run(fmt.Sprintf("%d-%d/%d", from, to, seed), func(t *testing.T) {
					if failed := cut(t, from, to, seed, 3); failed != 3 {
						t.Errorf("got failures of %d ranks, want 3", failed)
					}
				})
			}
		}
	}
}

// A pipe to or from the supervisor that is cut fails at least the ranks that
// have not ended before it is noticed.
func TestFramesCutFromSupervisor(t *testing.T) {
	for rank := range 3 {
		for _, seed := range cutSeeds(rank) {
			t.Run(fmt.Sprintf("%d/%d", rank, seed), func(t *testing.T) {
				t.Parallel()
				cut(t, process.Supervisor, rank, seed, 1)
				cut(t, rank, process.Supervisor, seed, 1)
			})
		}
	}
}

// cutSeeds returns the seeds of all six kinds of cut; of a short test, of two that
// differ with n.
func cutSeeds(n int) []uint64 {
	if testing.Short() {
		return []uint64{uint64(n % 6), uint64((n + 3) % 6)}
	}
	return []uint64{0, 1, 2, 3, 4, 5}
}

// cut returns how many of three ranks fail with a pipe that is cut.
func cut(t *testing.T, from, to int, seed uint64, rounds int) (failed int) {
	o := process.FrameOptions{
		Seed:  seed,
		Delay: seed%2 == 1,
		Cut:   []process.Cut{{From: from, To: to, Before: []int{100, 5000, 200000}[seed%3]}},
	}
	f := process.NewFrames(3, o)
	defer f.Close()
	for rank, err := range commtest.Exercise(t, f, rounds) {
		if err == nil {
			continue
		}
		failed++
		if peer := (*comm.PeerError)(nil); !errors.As(err, &peer) {
			t.Errorf("rank %d: got %v, want the failure of a peer", rank, err)
		}
	}
	f.Unreceived()
	return failed
}

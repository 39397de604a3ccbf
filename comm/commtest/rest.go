package commtest

import (
	"testing"
	"time"
)

// testRest has two ranks rest, so that a rank that waits for one of them does so in
// vain, and resume.
func testRest(t *testing.T, open Opener) {
	resting := []chan struct{}{make(chan struct{}), make(chan struct{})}
	resumed := []chan struct{}{make(chan struct{}), make(chan struct{})}
	succeed(t, runRanks(t, open, 2, func(r *rank) error {
		if r.Rank() == 0 {
			<-resting[1]
			const want = "recv: deadlock: rank 0 waits in recv(src=1, tag=0) at recv of 0; rank 1 has ended"
			if err := r.recv(1); err == nil || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
		r.Idle()
		close(resting[r.Rank()])
		<-resting[1-r.Rank()]
		r.Resume()
		close(resumed[r.Rank()])
		<-resumed[1-r.Rank()]
		if r.Rank() == 1 {
			time.Sleep(time.Millisecond) // rank 0 waits, but not in vain
		}
		return r.barrier(r.world)
	}))
	t.Run("and fails", func(t *testing.T) { restThenFail(t, open) })
}

// restThenFail has a rank fail while it rests, with nobody waiting for it.
func restThenFail(t *testing.T, open Opener) {
	fabric := open(2)
	defer fabric.Close()
	fabric.Endpoint(1).Idle()
	fabric.Endpoint(1).End(errBoom)
	r := newRank(t.Context(), t, fabric, 0)
	if err := r.barrier(r.world); err == nil {
		t.Error("got no error, want that of a rank that has failed")
	}
}

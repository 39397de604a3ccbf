package process_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tpsh/comm"
)

// A deadlock is found at once, without a timer, while a third rank computes.
func TestDeadlockTakesNoTime(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				f := tr.open(3)
				defer f.Close()
				onRanks(f, func(g *comm.Group) {
					if g.Rank() == 2 {
						time.Sleep(time.Hour)
						return
					}
					_, err := g.Recv(t.Context(), 1-g.Rank(), 0, nil)
					if dead := (*comm.DeadlockError)(nil); !errors.As(err, &dead) {
						t.Errorf("rank %d: got %v, want a deadlock", g.Rank(), err)
					}
					if took := time.Since(start); took != 0 {
						t.Errorf("rank %d: got it after %v, want at once", g.Rank(), took)
					}
				})
			})
		})
	}
}

// A notice comes when a wait has lasted as long as asked for, and once.
func TestNoticeComesInTime(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := tr.open(2)
				defer f.Close()
				start := time.Now()
				var mu sync.Mutex
				var lines []string
				f.Notice(5*time.Second, func(line string) {
					mu.Lock()
					defer mu.Unlock()
					if took := time.Since(start); took != 6*time.Second {
						t.Errorf("got a line after %v, want 1s and 5s", took)
					}
					lines = append(lines, line)
				})
				onRanks(f, func(g *comm.Group) {
					time.Sleep(time.Second)
					if g.Rank() == 1 {
						time.Sleep(time.Minute)
						g.Send(0, 4, comm.Message{}, "")
						return
					}
					if _, err := g.Recv(t.Context(), 1, 4, func() string { return "a.star:3:1" }); err != nil {
						t.Error(err)
					}
				})
				mu.Lock()
				defer mu.Unlock()
				const want = "rank 0 has waited 5s in recv(src=1, tag=4) at a.star:3:1 for rank 1"
				if len(lines) != 1 || lines[0] != want {
					t.Errorf("got %q, want %q", lines, want)
				}
			})
		})
	}
}

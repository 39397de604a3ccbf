package comm_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Ranks in processes of their own communicate as those of one process do.
func TestProcesses(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, size := range []int{2, 3, 5} {
			t.Run(fmt.Sprintf("%s/%d", transport, size), func(t *testing.T) {
				c := start(t, transport, size, "exercise", "2")
				for rank, output := range c.wait(t) {
					if !strings.Contains(output, "done") || strings.Contains(output, "rank") {
						t.Errorf("rank %d: got %q, want done", rank, output)
					}
				}
				if left := c.supervision.Unreceived(0); len(left) > 0 {
					t.Errorf("got %v not received, want nothing", left)
				}
			})
		}
	}
}

// When a process is killed, at whatever moment, the ranks of all others fail
// and tell of what.
func TestProcessKilled(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		for seed := range uint64(6) {
			t.Run(fmt.Sprintf("%s/%d", transport, seed), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(seed, 0))
				const size = 3
				victim := rng.IntN(size)
				c := start(t, transport, size, "exercise", "1000000")
				time.Sleep(time.Duration(rng.Int64N(int64(300 * time.Millisecond))))
				c.commands[victim].Process.Kill()
				c.wantFailure(t, victim, fmt.Sprintf("rank %d failed: ended with signal: killed", victim))
			})
		}
	}
}

// A process that stops is as good as dead when its launcher says so.
func TestProcessStopped(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			c := start(t, transport, 3, "exercise", "1000000")
			time.Sleep(200 * time.Millisecond)
			c.commands[1].Process.Signal(syscall.SIGSTOP)
			time.Sleep(20 * time.Millisecond)
			c.supervision.Lose(1, errors.New("was stopped"))
			time.AfterFunc(time.Second, func() { c.commands[1].Process.Kill() })
			c.wantFailure(t, 1, "rank 1 failed: was stopped")
		})
	}
}

// wantFailure checks that all ranks but the victim end with a text. The victim
// may have come to its end.
func (c *crew) wantFailure(t *testing.T, victim int, text string) {
	t.Helper()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.watchers.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the ranks hang")
	}
	for rank, output := range c.wait(t) {
		if rank != victim && (!strings.Contains(output, text) || !strings.Contains(output, "done")) {
			t.Errorf("rank %d: got %q, want %q", rank, output, text)
		}
	}
}

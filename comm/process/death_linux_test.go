package process_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tpsh/comm/process"
)

// Ranks in processes of their own communicate as those of one process do.
func TestProcesses(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, size := range []int{2, 3, 5} {
			if testing.Short() && size != 3 {
				continue
			}
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

// When a process is killed that exposes what others read, or reads what others
// expose, at whatever moment, the ranks of all others fail and tell of what.
func TestProcessKilledLending(t *testing.T) {
	for name := range largeShapes {
		for seed := range uint64(4) {
			if testing.Short() && seed > 1 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", name, seed), func(t *testing.T) {
				t.Parallel()
				rng := rand.New(rand.NewPCG(seed, uint64(len(name))))
				const size = 3
				victim := rng.IntN(size)
				c := start(t, "shm", size, "large", strings.ReplaceAll(name, " ", "_"))
				time.Sleep(time.Duration(rng.Int64N(int64(600 * time.Millisecond))))
				c.commands[victim].Process.Kill()
				c.wantFailure(t, victim, fmt.Sprintf("rank %d failed: ended with signal: killed", victim))
			})
		}
	}
}

// largeProcess has the ranks move large blocks of a shape until one of them dies.
func largeProcess(t *testing.T, w io.Writer, links *process.Links, args []string) {
	f := links.Fabric(0)
	e := f.Endpoint(f.Local()[0])
	err := largeRank(e, f.Size(), largeShapes[strings.ReplaceAll(args[0], "_", " ")], &largeContents{}, 1<<30)
	fmt.Fprintln(w, err)
	e.End(err)
	f.Unreceived()
	fmt.Fprintln(w, "done")
}

// Whatever happens to what a process writes to another, none of them hangs or
// has a wrong result: those that have not ended fail, and say that a peer did.
func TestProcessDisturbed(t *testing.T) {
	failed := regexp.MustCompile(`^started\n(rank \d: [^\n]*rank \d failed: [^\n]*\n)?done\n`)
	for _, fault := range ofConnections {
		for seed := range uint64(2) {
			if testing.Short() && seed > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", faults[fault], seed), func(t *testing.T) {
				t.Parallel()
				c := &crew{outputs: make([]bytes.Buffer, 3), disturbance: &process.Disturbance{Seed: seed, Fault: fault, Below: 300}}
				c.start(t, "tcp", 3, "exercise", "5")
				for rank, output := range c.wait(t) {
					if !failed.MatchString(output) {
						t.Errorf("rank %d: got %q, want no error or the failure of a peer", rank, output)
					}
				}
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
	case <-time.After(2 * time.Minute):
		t.Fatal("the ranks hang")
	}
	for rank, output := range c.wait(t) {
		if rank != victim && (!strings.Contains(output, text) || !strings.Contains(output, "done")) {
			t.Errorf("rank %d: got %q, want %q", rank, output, text)
		}
	}
}

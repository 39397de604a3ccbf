package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"tpsh/cmd/tpsh/launch"
	"tpsh/lang"
)

// A testWorld is a side of a world whose ranks are goroutines of this process.
type testWorld struct {
	rank, size int
	streams    map[[2]int]net.Conn // by peer and channel
	aborted    chan int
	all        *sync.WaitGroup // until all have called Close
}

func (w *testWorld) Rank() int    { return w.rank }
func (w *testWorld) Size() int    { return w.size }
func (w *testWorld) Local() []int { return []int{w.rank} }
func (w *testWorld) Hosts() []int { return nil }

func (w *testWorld) Stream(peer, channel int) io.ReadWriteCloser {
	return w.streams[[2]int{peer, channel}]
}

func (w *testWorld) Abort(status int) {
	w.aborted <- status
	for _, s := range w.streams {
		s.Close()
	}
}

func (w *testWorld) Close() error {
	w.all.Done()
	w.all.Wait()
	return nil
}

// testWorlds returns the sides of a world, by rank.
func testWorlds(size int) []*testWorld {
	var all sync.WaitGroup
	all.Add(size)
	worlds, aborted := make([]*testWorld, size), make(chan int, size)
	for rank := range worlds {
		worlds[rank] = &testWorld{rank, size, map[[2]int]net.Conn{}, aborted, &all}
		for peer := range rank {
			for channel := range 3 {
				a, b := net.Pipe()
				worlds[rank].streams[[2]int{peer, channel}], worlds[peer].streams[[2]int{rank, channel}] = a, b
			}
		}
	}
	return worlds
}

// Every process of a world ends with the status of what rank 0 did, whatever
// that was.
func TestWorld(t *testing.T) {
	program := func(source string) func(io.Writer, *launch.Cluster) error {
		return func(out io.Writer, c *launch.Cluster) error {
			st := &starter{limits: &limits{quiet: true}, ranks: c.Size(), transport: viaMPI, cluster: c, notes: io.Discard}
			r := &runner{output: string(lang.Merged)}
			_, err := r.attempt(context.Background(), &stdio{nil, out, out}, lang.Program{Path: "a.star", Source: source}, st.start)
			return err
		}
	}
	tests := map[string]struct {
		lead   func(io.Writer, *launch.Cluster) error
		status int
		out    string
	}{
		"done":   {program("print(all_reduce(ones(2)).tolist(), world_size())"), lang.StatusOK, "[3.0, 3.0] 3\n"},
		"failed": {program("if rank() == 1:\n    fail('no')\nbarrier()"), lang.StatusFailed, "rank 1 of 3:\nTraceback (most recent call last):\n  a.star:2:9: in <toplevel>\nError in fail: no\nranks 0,2: stopped in barrier at a.star:3:8\n"},
		"usage":  {func(io.Writer, *launch.Cluster) error { return usagef("no such script") }, lang.StatusUsage, ""},
		"job":    {func(io.Writer, *launch.Cluster) error { return jobError{errors.New("no")} }, lang.StatusJob, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			worlds := testWorlds(3)
			errs := make([]error, len(worlds))
			var out bytes.Buffer
			var processes sync.WaitGroup
			for rank, w := range worlds {
				processes.Go(func() {
					if rank == 0 {
						errs[rank] = leadWorld(&stdio{nil, &out, &out}, w, &kernels{}, func(c *launch.Cluster) error { return test.lead(&out, c) })
					} else {
						errs[rank] = followWorld(w, &kernels{})
					}
				})
			}
			processes.Wait()
			for rank, err := range errs {
				if got := exitStatus(err); got != test.status {
					t.Errorf("rank %d: got exit status %d (%v), want %d", rank, got, err, test.status)
				}
			}
			if out.String() != test.out {
				t.Errorf("got\n%swant\n%s", &out, test.out)
			}
		})
	}
}

// The tests of a command run in a world one after the other.
func TestWorldOfTests(t *testing.T) {
	worlds := testWorlds(2)
	var out bytes.Buffer
	var processes sync.WaitGroup
	processes.Go(func() {
		leadWorld(&stdio{nil, &out, &out}, worlds[0], &kernels{}, func(c *launch.Cluster) error {
			var kept pool
			defer kept.close()
			for i := range 5 {
				r, err := kept.start(t.Context(), &starter{limits: &limits{quiet: true}, ranks: 2, transport: viaMPI, cluster: c})
				if err != nil {
					return err
				}
				s := lang.NewSession(r.conns, lang.Options{Out: &out})
				o, err := s.Run(t.Context(), lang.Program{Path: "a.star", Source: fmt.Sprintf("print(all_reduce(tensor(%d)).item())", i)})
				if err != nil || !o.OK() {
					t.Errorf("program %d: %v, %v", i, o, err)
				}
				s.Close()
				kept.put(r)
			}
			return nil
		})
	})
	processes.Go(func() { followWorld(worlds[1], &kernels{}) })
	processes.Wait()
	if got := strings.Fields(out.String()); fmt.Sprint(got) != "[0 2 4 6 8]" {
		t.Errorf("got %s, want 0 2 4 6 8", got)
	}
}

// A rank whose machine lacks what its command line asks for is told of by rank 0.
func TestWorldLacksKernels(t *testing.T) {
	worlds := testWorlds(2)
	var processes sync.WaitGroup
	var lead, follow error
	processes.Go(func() {
		lead = leadWorld(&stdio{nil, io.Discard, io.Discard}, worlds[0], &kernels{}, func(c *launch.Cluster) error {
			_, err := (&starter{limits: &limits{quiet: true}, ranks: 2, transport: viaMPI, cluster: c}).start(t.Context())
			return jobError{err}
		})
	})
	processes.Go(func() { follow = followWorld(worlds[1], &kernels{set: "wings"}) })
	processes.Wait()
	if want := `rank 1: for flag --kernels: got "wings", want auto`; !strings.Contains(fmt.Sprint(lead), want) {
		t.Errorf("got %v, want %s", lead, want)
	}
	if got := exitStatus(follow); got != lang.StatusJob {
		t.Errorf("got exit status %d, want %d", got, lang.StatusJob)
	}
}

// A follower that has lost rank 0 ends its world.
func TestWorldLost(t *testing.T) {
	worlds := testWorlds(2)
	for _, s := range worlds[0].streams {
		s.Close()
	}
	if got := exitStatus(followWorld(worlds[1], &kernels{})); got != lang.StatusJob {
		t.Errorf("got exit status %d, want %d", got, lang.StatusJob)
	}
	if got := <-worlds[1].aborted; got != lang.StatusJob {
		t.Errorf("aborted with status %d, want %d", got, lang.StatusJob)
	}
}

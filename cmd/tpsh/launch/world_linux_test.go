package launch

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"tpsh/lang"
)

// A testWorld is a side of a world whose ranks are goroutines of this process.
type testWorld struct {
	rank, size int
	streams    map[[2]int]io.ReadWriteCloser // by peer and channel
}

func (w *testWorld) Rank() int    { return w.rank }
func (w *testWorld) Size() int    { return w.size }
func (w *testWorld) Local() []int { return []int{w.rank} }
func (w *testWorld) Hosts() []int { return nil }

func (w *testWorld) Stream(peer, channel int) io.ReadWriteCloser {
	return w.streams[[2]int{peer, channel}]
}

// testWorlds returns the sides of a world, by rank.
func testWorlds(t *testing.T, size int) []*testWorld {
	worlds := make([]*testWorld, size)
	for rank := range worlds {
		worlds[rank] = &testWorld{rank, size, map[[2]int]io.ReadWriteCloser{}}
		for peer := range rank {
			for _, channel := range []int{dataChannel, supervisionChannel, controlChannel} {
				a, b, err := ends()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { a.Close(); b.Close() }) // those that nobody took
				worlds[rank].streams[[2]int{peer, channel}], worlds[peer].streams[[2]int{rank, channel}] = a, b
			}
		}
	}
	return worlds
}

// settle gathers a world, each of whose ranks behaves as sit says. It returns the
// cluster, and what waits until all ranks have ended and returns with which
// statuses.
func settle(t *testing.T, size int, sit func(*Seat)) (*Cluster, func() []int) {
	worlds := testWorlds(t, size)
	c, err := GatherIn(worlds[0], Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ranks sync.WaitGroup
	statuses := make([]int, size)
	for rank, w := range worlds {
		ranks.Go(func() {
			take := func() (*Seat, error) { return TakeSeatIn(w) }
			if rank == 0 {
				take = c.TakeSeat
			}
			seat, err := take()
			if err != nil {
				t.Error(err)
				return
			}
			defer seat.Close()
			sit(seat)
			if statuses[rank] = -1; seat.Status != nil {
				statuses[rank] = *seat.Status
			}
		})
	}
	return c, func() []int {
		ranks.Wait()
		return statuses
	}
}

// The ranks of a world begin, begin again, and end with one status.
func TestWorld(t *testing.T) {
	c, ended := settle(t, 3, func(s *Seat) {
		for s.Next() {
			s.Ready(nil)
			obey(s)
		}
	})
	j, err := c.Start(t.Context(), Spec{Config: []byte("0")})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		greetings(t, j, func(int) int { return 1 }, fmt.Sprint(i))
		for _, conn := range j.Conns() {
			conn.Send([]byte("done"))
		}
		if left := j.Unreceived(); len(left) > 0 {
			t.Errorf("got %v, want no messages", left)
		}
		if i == 4 {
			break
		}
		if err := j.Again(t.Context(), fmt.Append(nil, i+1)); err != nil {
			t.Fatal(err)
		}
	}
	j.Stop()
	if _, err := c.Start(t.Context(), Spec{}); err == nil || !strings.Contains(err.Error(), "cannot be started again") {
		t.Errorf("a second job: got %v, want an error", err)
	}
	if err := c.Close(7); err != nil {
		t.Errorf("Close: %v", err)
	}
	if got := fmt.Sprint(ended()); got != "[7 7 7]" {
		t.Errorf("got statuses %s, want [7 7 7]", got)
	}
}

// A world whose ranks are not alike, or one of which refuses, has no job, and
// ends all the same: also the ranks that wait for a front end.
func TestWorldFails(t *testing.T) {
	tests := map[string]struct {
		kernels func(rank int) string
		refuse  func(rank int) error
		want    string
	}{
		"kernels": {
			kernels: func(rank int) string { return []string{"wide", "wide", "narrow"}[rank] },
			refuse:  func(int) error { return nil },
			want:    fmt.Sprintf("ranks compute with different kernels: rank 0 on %[1]s with wide, rank 2 on %[1]s with narrow; start all on machines of one architecture with --kernels portable", hostName()),
		},
		"refusal": {
			kernels: func(int) string { return "" },
			refuse: func(rank int) error {
				if rank == 1 {
					return errors.New("no, thank you")
				}
				return nil
			},
			want: "rank 1: no, thank you",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, ended := settle(t, 3, func(s *Seat) {
				s.Kernels = test.kernels(s.Rank)
				for s.Next() {
					err := test.refuse(s.Rank)
					if s.Ready(err); err == nil {
						lang.Serve(t.Context(), s.Conn, idleEnv{})
					}
				}
			})
			_, err := c.Start(t.Context(), Spec{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
			if err := c.Close(3); err != nil { // as it would if it had waited in vain
				t.Errorf("Close: %v", err)
			}
			if got := fmt.Sprint(ended()); got != "[3 3 3]" {
				t.Errorf("got statuses %s, want [3 3 3]", got)
			}
		})
	}
}

// A world in which there never was a job ends, too.
func TestWorldWithoutJob(t *testing.T) {
	c, ended := settle(t, 2, func(s *Seat) {
		for s.Next() {
			t.Error("a rank was told to begin")
		}
	})
	if err := c.Close(2); err != nil {
		t.Errorf("Close: %v", err)
	}
	if got := fmt.Sprint(ended()); got != "[2 2]" {
		t.Errorf("got statuses %s, want [2 2]", got)
	}
}

// An idleEnv is of a rank that is told nothing.
type idleEnv struct{ lang.Env }

func (idleEnv) Rank() (rank, size int) { return 0, 1 }

package process

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/inproc"
)

// both runs a test on a fabric of two ranks of every transport.
func both(t *testing.T, test func(t *testing.T, open func() *comm.Fabric)) {
	for name, open := range map[string]func() *comm.Fabric{
		"inproc": func() *comm.Fabric { return inproc.New(2) },
		"frames": func() *comm.Fabric { return NewFrames(2, FrameOptions{Seed: 1, Delay: true}) },
		"piped":  func() *comm.Fabric { return NewPiped(2, nil, 0, Loopback) },
	} {
		t.Run(name, func(t *testing.T) { test(t, open) })
	}
}

// worlds returns the two ranks' groups of both.
func worlds(t *testing.T, f *comm.Fabric) [2]*comm.Group {
	var g [2]*comm.Group
	for r := range g {
		var err error
		if g[r], err = f.Endpoint(r).Group([]int{0, 1}, ""); err != nil {
			t.Fatal(err)
		}
	}
	return g
}

// barrier calls a barrier on both ranks.
func barrier(g [2]*comm.Group) (errs [2]error) {
	var ranks sync.WaitGroup
	for r := range g {
		ranks.Go(func() {
			_, errs[r] = g[r].Run(context.Background(), &comm.Op{Kind: comm.Barrier, Desc: comm.Desc{Op: "barrier", Free: -1, Root: -1}})
		})
	}
	ranks.Wait()
	return errs
}

// Who waits for a rank that rests is told so at once; when all have resumed,
// who waits is not.
func TestRest(t *testing.T) {
	both(t, func(t *testing.T, open func() *comm.Fabric) {
		f := open()
		defer f.Close()
		g := worlds(t, f)
		var deadlock *comm.DeadlockError
		for range 20 {
			f.Endpoint(0).Idle()
			if _, err := g[1].Recv(context.Background(), 0, 0, nil); !errors.As(err, &deadlock) {
				t.Fatalf("Recv from a rank that rests: got error %v, want a *DeadlockError", err)
			}
			f.Endpoint(1).Idle()
			f.Endpoint(0).Resume()
			f.Endpoint(1).Resume()
			for r, err := range barrier(g) {
				if err != nil {
					t.Fatalf("barrier of rank %d after all have resumed: %v", r, err)
				}
			}
		}
	})
}

// A rank that the supervisor hears no more resumes when it is told so, and its calls fail.
func TestResumeUnheard(t *testing.T) {
	links, _, ends := linkedPair(t, SuperviseOptions{Grace: time.Millisecond})
	var g [2]*comm.Group
	var at [2]*comm.Endpoint
	for r, l := range links {
		at[r] = l.Fabric(0).Endpoint(r)
		g[r], _ = at[r].Group([]int{0, 1}, "")
		at[r].Idle()
	}
	if err := ends[1][1].(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	at[1].Resume()
	at[0].Resume()
	var peer *comm.PeerError
	if err := barrier(g)[1]; !errors.As(err, &peer) || peer.Rank != 1 {
		t.Errorf("barrier of the rank that is not heard: got error %v, want its own failure", err)
	}
}

// A group that another fabric adopts works there, from call 0 on, whatever
// became of the first.
func TestAdopt(t *testing.T) {
	both(t, func(t *testing.T, open func() *comm.Fabric) {
		first, second := open(), open()
		defer first.Close()
		defer second.Close()
		g := worlds(t, first)
		first.Endpoint(0).End(errors.New("a mistake"))
		if _, err := g[1].Run(context.Background(), &comm.Op{Kind: comm.Barrier, Desc: comm.Desc{Op: "barrier", Free: -1, Root: -1}}); err == nil {
			t.Fatal("a barrier with a rank that has failed succeeded")
		}
		for r := range g {
			if got := first.Endpoint(r).Groups(); len(got) != 1 || got[0] != g[r] {
				t.Fatalf("rank %d has groups %v, want its one", r, got)
			}
			second.Endpoint(r).Adopt(g[r])
			if g[r].Calls() != 0 {
				t.Errorf("an adopted group has %d calls, want 0", g[r].Calls())
			}
		}
		for r, err := range barrier(g) {
			if err != nil {
				t.Errorf("barrier of rank %d on the adopted group: %v", r, err)
			}
		}
	})
}

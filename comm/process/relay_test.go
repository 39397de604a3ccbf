package process_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/bootstrap"
	"tpsh/comm/process"
)

// Small collectives of many ranks make connections to a few ranks of each.
func TestFewConnections(t *testing.T) {
	const size, most = 24, 2 * 5 // 2^5 ranks or fewer
	supervision, links, err := meet(t.Context(), &bootstrap.Credentials{Job: "test", Token: token}, size,
		func(int) (int, *bootstrap.Credentials) {
			return size, &bootstrap.Credentials{Job: "test", Token: token}
		})
	if err != nil {
		t.Fatal(err)
	}
	f := process.Join(supervision, links)
	defer f.Close()
	onRanks(f, func(g *comm.Group) {
		in, out := []float32{float32(g.Place())}, make([]float32, 1)
		if _, err := g.Run(t.Context(), allReduce(in, out)); err != nil || out[0] != size*(size-1)/2 {
			t.Errorf("rank %d: got %v and %v, want %d", g.Place(), out, err, size*(size-1)/2)
		}
		barrier := &comm.Op{Kind: comm.Barrier, Desc: comm.Desc{Op: "barrier", Free: -1, Root: -1, Dims: [2]int{-1, -1}}}
		if _, err := g.Run(t.Context(), barrier); err != nil {
			t.Errorf("rank %d: %v", g.Place(), err)
		}
	})
	for r, l := range links {
		if n := process.Connected(l); n > most {
			t.Errorf("rank %d: got %d connections, want at most %d", r, n, most)
		}
	}
}

// A rank that fails right after a call fails nobody else in it, though the contract of that
// rank may still be on its way there; and one that has not come to a call is the only one that
// others are told to wait for.
func TestRelayedCallSurvivesFailure(t *testing.T) {
	for seed := range uint64(20) {
		f := process.NewFrames(9, process.FrameOptions{Seed: seed, Delay: true, Relay: true})
		onRanks(f, func(g *comm.Group) {
			for i := range 3 {
				out := make([]float32, 1)
				_, err := g.Run(t.Context(), allReduce([]float32{1}, out))
				if err != nil {
					t.Errorf("seed %d, rank %d, call %d: %v", seed, g.Place(), i, err)
				}
			}
			if g.Place() == 4 {
				g.Endpoint().End(fmt.Errorf("boom"))
				return
			}
			_, err := g.Run(t.Context(), allReduce([]float32{1}, make([]float32, 1)))
			if err == nil || !strings.Contains(err.Error(), "rank 4 failed: boom") {
				t.Errorf("seed %d, rank %d: got %v, want the failure of rank 4", seed, g.Place(), err)
			}
			g.Endpoint().End(nil)
		})
		f.Close()
	}
}

// A rank that has issued a call and computes is not in the way of a deadlock between others, one of
// which waits for that call.
func TestRelayedDeadlockBesideIssue(t *testing.T) {
	f := process.NewFrames(4, process.FrameOptions{Relay: true})
	defer f.Close()
	found := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Add(3)
	go func() { waiting.Wait(); close(found) }()
	onRanks(f, func(g *comm.Group) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		var err error
		switch g.Place() {
		case 2: // computes until the others are told
			work := g.Issue(allReduce([]float32{1}, make([]float32, 1)))
			<-found
			_, err = work.Wait(ctx)
		case 1:
			_, err = g.Recv(ctx, 0, 0, nil)
			waiting.Done()
		default:
			_, err = g.Run(ctx, allReduce([]float32{1}, make([]float32, 1)))
			waiting.Done()
		}
		if err == nil || !strings.Contains(err.Error(), "deadlock") || !strings.Contains(err.Error(), "for rank 1") || strings.Contains(err.Error(), "for ranks") {
			t.Errorf("rank %d: got %v, want a deadlock in which ranks wait for rank 1", g.Place(), err)
		}
	})
}

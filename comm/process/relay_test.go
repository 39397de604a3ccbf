package process_test

import (
	"bytes"
	"context"
	"errors"
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
		swapped := make([]float32, size)
		if _, err := g.Run(t.Context(), allToAll(g.Place(), swapped)); err != nil {
			t.Errorf("rank %d: %v", g.Place(), err)
		}
		for from, got := range swapped {
			if want := float32(100*from + g.Place()); got != want {
				t.Errorf("rank %d: got %v of rank %d, want %v", g.Place(), got, from, want)
			}
		}
		odd := barrier
		if g.Place() == 5 {
			odd = allToAll(g.Place(), swapped)
		}
		_, err := g.Run(t.Context(), odd)
		if mismatch := (*comm.MismatchError)(nil); !errors.As(err, &mismatch) {
			t.Errorf("rank %d: got %v, want that rank 5 calls another", g.Place(), err)
		}
	})
	for r, l := range links {
		if n := process.Connected(l); n > most {
			t.Errorf("rank %d: got %d connections, want at most %d", r, n, most)
		}
	}
}

// allToAll returns a call in which rank sends 100 rank + r to rank r.
func allToAll(rank int, out []float32) *comm.Op {
	op := &comm.Op{Kind: comm.AllToAll, Desc: comm.Desc{Op: "all_to_all", DType: "float32", Shape: []int{len(out)}, Free: -1, Root: -1, Dims: [2]int{-1, -1}}}
	var results []comm.Block
	for r := range out {
		op.In = append(op.In, comm.Whole(bytesOf([]float32{float32(100*rank + r)})))
		results = append(results, comm.Whole(bytesOf(out[r:r+1])))
	}
	op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return results, nil }
	return op
}

// Blocks of which some are short and some long come to their members, and so do calls that differ in
// who has long ones.
func TestSwapsBesideLongBlocks(t *testing.T) {
	for _, long := range []int{-1, 0, 3, 8} { // the rank that has long blocks, -1 for none
		f := process.NewFrames(9, process.FrameOptions{Seed: uint64(long + 1), Delay: true, Relay: true})
		onRanks(f, func(g *comm.Group) {
			length := func(from, to int) int {
				if from == long {
					return 20_000 + to
				}
				return 3*from + to
			}
			op := &comm.Op{Kind: comm.AllToAll, Desc: comm.Desc{Op: "all_to_all", DType: "uint8", Free: -1, Root: -1, Dims: [2]int{-1, -1}}}
			out := make([]comm.Block, 9)
			for r := range out {
				op.In = append(op.In, comm.Whole(bytes.Repeat([]byte{byte(10*g.Place() + r)}, length(g.Place(), r))))
				out[r] = comm.Whole(make([]byte, length(r, g.Place())))
			}
			op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return out, nil }
			if _, err := g.Run(t.Context(), op); err != nil {
				t.Errorf("rank %d has long blocks, rank %d: %v", long, g.Place(), err)
			}
			for r := range out {
				if want := bytes.Repeat([]byte{byte(10*r + g.Place())}, length(r, g.Place())); !bytes.Equal(out[r].Data, want) {
					t.Errorf("rank %d has long blocks, rank %d: got other bytes than rank %d sent", long, g.Place(), r)
				}
			}
		})
		f.Close()
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
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
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

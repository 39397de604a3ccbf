package process

import (
	"math"
	"testing"
	"time"

	"tpsh/comm"
)

// A call that goes on beside its rank does not look again and again whether a piece has come: it
// sleeps, though the rank's own calls would look for ever.
func TestIssuedCallSleepsForPieces(t *testing.T) {
	f := NewShared(2)
	defer f.Close()
	groups, ranks := everyone(t, f)
	for _, wr := range ranks {
		wr.shared.policy = sharedSpinPolicy{spins: math.MaxInt32}
	}
	const n = 4 << 20
	hold := make(chan struct{})
	var works []comm.Work
	for r, g := range groups {
		out := []comm.Block{comm.Whole(make([]byte, n))}
		works = append(works, g.Issue(&comm.Op{
			Desc:  comm.Desc{Op: "all_reduce", Free: -1, Root: -1, Dims: [2]int{-1, -1}},
			Kind:  comm.AllReduce,
			In:    []comm.Block{comm.Whole(make([]byte, n))},
			Align: 1,
			Prepare: func([]comm.Member, comm.Flags) ([]comm.Block, error) {
				if r == 1 {
					<-hold // has sent its contract, and no data
				}
				return out, nil
			},
			Reduce: func(dst []byte, blocks [][]byte) { copy(dst, blocks[0]) },
		}))
	}
	slept := false
	for begun := time.Now(); !slept && time.Since(begun) < 5*time.Minute; time.Sleep(time.Millisecond) {
		slept = ranks[0].waitsForPiece()
	}
	close(hold)
	if !slept {
		t.Error("an issued call looks again and again for a piece that does not come, want it to sleep")
	}
	for _, w := range works {
		if _, err := w.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// waitsForPiece reports whether a call of the rank sleeps until a piece comes.
func (wr *wireRank) waitsForPiece() bool {
	wr.mu.Lock()
	defer wr.mu.Unlock()
	for w := range wr.waiting {
		if w.piece {
			return true
		}
	}
	return false
}

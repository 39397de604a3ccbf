package process_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tpsh/comm"
	"tpsh/comm/commtest"
	"tpsh/comm/inproc"
	"tpsh/comm/process"
)

func TestShared(t *testing.T) { conform(t, process.NewShared) }

// Ranks of which some share memory and some do not.
func TestMixed(t *testing.T) { conform(t, process.NewMixed) }

func TestSharedAgrees(t *testing.T) {
	commtest.Agree(t, inproc.New, process.NewShared, process.NewMixed)
}

// The sums of so many ranks that one of them adds for all have the bits that all get who
// add for themselves.
func TestCrowdSumsAlike(t *testing.T) {
	const size, elements = 257, 256
	sums := func(open commtest.Opener) []float32 {
		f := open(size)
		defer f.Close()
		of := make([][]float32, size)
		onRanks(f, func(g *comm.Group) {
			in, out := make([]float32, elements), make([]float32, elements)
			rng := rand.New(rand.NewPCG(1, uint64(g.Place())))
			for i := range in {
				in[i] = float32(rng.NormFloat64())
			}
			if _, err := g.Run(t.Context(), allReduce(in, out)); err != nil {
				t.Errorf("rank %d: %v", g.Place(), err)
			}
			of[g.Place()] = out
		})
		for r := range of {
			if !slices.Equal(of[r], of[0]) {
				t.Fatalf("rank %d got another sum than rank 0", r)
			}
		}
		return of[0]
	}
	if want, got := sums(inproc.New), sums(process.NewShared); !slices.Equal(got, want) {
		t.Errorf("through shared memory: got %v, want %v", got, want)
	}
}

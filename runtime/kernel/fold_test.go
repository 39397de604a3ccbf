package kernel

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"tpsh/runtime/dtype"
)

// A CombineFold ends with the bits of its Combine, wherever the sources are divided: of numbers of
// every size, infinities and NaNs.
func TestFoldsAreCombines(t *testing.T) {
	const elements = 1300 // more than a block of halves and than a step of Combine
	rng := rand.New(rand.NewPCG(1, 1))
	for _, dt := range dtype.All {
		for op, combine := range reductionsOf(dt).combiners {
			fold := Folder(dt, op)
			for range 20 {
				srcs := make([][]byte, 2+rng.IntN(7))
				for i := range srcs {
					srcs[i] = make([]byte, elements*dt.Size())
					for at := range srcs[i] {
						srcs[i][at] = byte(rng.Uint32())
					}
				}
				want, got := make([]byte, elements*dt.Size()), make([]byte, elements*dt.Size())
				combine(want, srcs)
				var acc []byte
				rest := srcs
				for len(rest) > 1 {
					n := 1 + rng.IntN(len(rest)-1)
					next := acc
					if acc == nil || rng.IntN(2) == 0 {
						next = make([]byte, elements*fold.Bytes)
					}
					fold.Add(next, acc, rest[:n])
					acc, rest = next, rest[n:]
				}
				fold.End(got, acc, rest, len(srcs))
				if !bytes.Equal(got, want) {
					t.Fatalf("%v %s of %d sources: other bits than at once", dt, op, len(srcs))
				}
			}
		}
	}
}

// There is a CombineFold for all that can be combined, and for nothing else.
func TestFolderHasWhatCombinerHas(t *testing.T) {
	for _, dt := range dtype.All {
		for _, op := range []string{"sum", "mean", "prod", "max", "min", "band", "bor", "bxor", "median"} {
			if got, want := Folder(dt, op) != nil, Combiner(dt, op) != nil; got != want {
				t.Errorf("%v %s: got a CombineFold: %v, want %v", dt, op, got, want)
			}
		}
	}
}

//go:build native && linux

package gemm

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/blas"
)

// installed returns the OpenBLAS of this machine, which tests of native builds
// need.
func installed(t testing.TB) *blas.Library {
	t.Helper()
	l, err := blas.Find(os.LookupEnv)
	if err != nil {
		t.Fatalf("%v (on Debian: apt-get install libopenblas0)", err)
	}
	return l
}

// OpenBLAS computes what this package does but for rounding, for all
// transposes and distances of rows.
func TestOpenBLAS(t *testing.T) {
	l := installed(t)
	t.Log(l)
	check := func(t *testing.T, f func(*rapid.T)) {
		withLibrary(l, func() { rapid.Check(t, f) })
	}
	t.Run("f32", func(t *testing.T) { check(t, testOpenBLAS[float32]) })
	t.Run("f64", func(t *testing.T) { check(t, testOpenBLAS[float64]) })
}

func testOpenBLAS[T dtype.Float](t *rapid.T) {
	p := drawReadable[T](t)
	Multiply(nil, *p)
	expectNear(t, p, p.C)
}

// Ranks call the library at once, each in a thread of its own, and repeat
// their bits.
func TestOpenBLASOfManyRanks(t *testing.T) {
	l := installed(t)
	p := randomProduct[float32](150, 130, 170, "NT")
	withLibrary(l, func() {
		Multiply(nil, *p)
		var ranks sync.WaitGroup
		for range 4 {
			ranks.Go(func() {
				for range 20 {
					q := *p
					q.C = poisoned[float32](len(p.C))
					Multiply(nil, q)
					for i, x := range q.C {
						if x != p.C[i] {
							t.Errorf("element %d is %v, want %v", i, x, p.C[i])
							return
						}
					}
				}
			})
		}
		ranks.Wait()
	})
}

// BenchmarkLibrary sets the kernels of this machine beside the library, in
// one goroutine each, in the same run.
func BenchmarkLibrary(b *testing.B) {
	l := installed(b)
	b.Log(l)
	f32, f64 := active[float32](), active[float64]()
	for _, s := range [][3]int{{8, 8, 8}, {16, 16, 16}, {32, 32, 32}, {64, 64, 64}, {128, 128, 128}, {512, 512, 512}, {1024, 1024, 1024}, {1, 4096, 4096}, {4, 4096, 4096}, {16, 4096, 4096}} {
		for name, library := range map[string]Library{"own": nil, "openblas": l} {
			UseLibrary(library)
			benchGemm(b, fmt.Sprintf("f32/%s", name), f32, 0, s[0], s[1], s[2], "NN")
			if s[0] > 128 {
				benchGemm(b, fmt.Sprintf("f64/%s", name), f64, 0, s[0], s[1], s[2], "NN")
			}
		}
	}
	UseLibrary(nil)
}

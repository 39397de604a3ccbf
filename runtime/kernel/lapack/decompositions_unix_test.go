//go:build unix

package lapack

import (
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
)

// BenchmarkDecompositions measures decompositions of square matrices.
func BenchmarkDecompositions(b *testing.B) {
	for _, n := range []int{64, 128, 256, 512, 1024} {
		rng := rand.New(rand.NewPCG(9, 10))
		a, rhs, out, out2, v, w := random(rng, n, n), random(rng, n, n), make([]float64, n*n), make([]float64, n*n), make([]float64, n), make([]float64, n)
		sym := make([]float64, n*n)
		products{}.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, a, n, a, n, 0, sym, n)
		for i := range n {
			sym[i*n+i] += float64(n)
		}
		for _, bench := range []struct {
			name string
			run  func() bool
		}{
			{"eigh", func() bool { return Eigh(v, out, sym, n) }},
			{"svd", func() bool { return SVD(out, v, out2, a, n, n) }},
			{"eigvalsh", func() bool { return Eigenvalues(v, sym, n) }},
			{"svdvals", func() bool { return SingularValues(v, a, n, n) }},
			{"eig", func() bool { return Eig(v, w, out, out2, a, n) }},
			{"eigvals", func() bool { return EigValues(v, w, a, n) }},
			{"solve", func() bool { return Solve(out, a, rhs, n, n) }},
			{"inv", func() bool { return Inverse(out, a, n) }},
			{"cholesky", func() bool { return Cholesky(out, sym, n) }},
			{"qr", func() bool { return QR(out, out2, a, n, n) }},
			{"slogdet", func() bool { s, _ := LogDet(a, n); return s != 0 }},
		} {
			b.Run(fmt.Sprintf("%s/%dx%d", bench.name, n, n), func(b *testing.B) {
				begun := cpuTime()
				for b.Loop() {
					if !bench.run() {
						b.Fatal("none")
					}
				}
				b.ReportMetric((cpuTime()-begun).Seconds()*1e3/float64(b.N), "cpu-ms/op")
			})
		}
	}
}

// cpuTime returns what the process has taken of the processor: under load it says more than
// the clock.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package gemm

import (
	"fmt"
	"math/rand/v2"
	goruntime "runtime"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/kernel/vec"
	"tpsh/runtime/tensor"
)

// benchProduct returns a product of matrices that lie by rows, or of those
// that trans calls T transposed.
func benchProduct[T dtype.Float](b *testing.B, m, n, k int, trans string) Product[T] {
	x := Operand[T]{Data: benchData[T](b, m*k), Grid: Grid{Row: k, Col: 1}}
	y := Operand[T]{Data: benchData[T](b, k*n), Grid: Grid{Row: n, Col: 1}}
	for _, data := range [][]T{x.Data, y.Data} {
		for i := range data {
			data[i] = T(rand.Float32())
		}
	}
	if trans[0] == 'T' {
		x.Row, x.Col = 1, m
	}
	if trans[1] == 'T' {
		y.Row, y.Col = 1, k
	}
	return Product[T]{M: m, N: n, K: k, Count: 1, A: x, B: y, C: benchData[T](b, m*n)}
}

// benchData returns room for n elements where tensors of ranks live: in huge
// pages, if they are large.
func benchData[T dtype.Float](b *testing.B, n int) []T {
	dt := dtype.Float32
	if elemBytes[T]() == 8 {
		dt = dtype.Float64
	}
	x, err := tensor.New(tensor.NewAllocator(0), dt, []int{n})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { goruntime.KeepAlive(x) })
	return tensor.Data[T](x)
}

func benchGemm[T dtype.Float](b *testing.B, name string, ks *kernels[T], helpers, m, n, k int, trans string) {
	b.Run(fmt.Sprintf("%s/%dx%dx%d/%s", name, m, n, k, trans), func(b *testing.B) {
		p := benchProduct[T](b, m, n, k, trans)
		b.SetBytes(int64(elemBytes[T]() * (m*n + m*k + k*n)))
		for b.Loop() {
			p.compute(ks, crew.Of(helpers))
		}
		b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}

// BenchmarkMultiply measures squares, small and skinny products, by the set of
// instructions and the number of goroutines.
func BenchmarkMultiply(b *testing.B) {
	for _, s := range vec.Sets() {
		f32, f64 := kernelsOf(s)
		for threads := 1; threads <= 2; threads++ {
			b.Run(fmt.Sprintf("%v/threads=%d", s, threads), func(b *testing.B) {
				for _, n := range []int{8, 16, 32, 64, 128, 256, 512, 1024, 2048} {
					benchGemm(b, "f32", f32, threads-1, n, n, n, "NN")
					benchGemm(b, "f64", f64, threads-1, n, n, n, "NN")
				}
				benchGemm(b, "f32", f32, threads-1, 1, 1, 1<<20, "NN")
				for _, m := range []int{1, 4, 16} {
					for _, trans := range []string{"NN", "NT"} {
						benchGemm(b, "f32", f32, threads-1, m, 4096, 4096, trans)
						benchGemm(b, "f32", f32, threads-1, 4096, m, 4096, trans)
					}
				}
			})
		}
	}
}

// BenchmarkRead measures a pass over as many bytes as the b of a skinny product
// has, which only reads: what limits those products.
func BenchmarkRead(b *testing.B) {
	x := benchData[float32](b, 4096*4096)
	for i := range x {
		x[i] = rand.Float32()
	}
	b.SetBytes(int64(4 * len(x)))
	var most [vec.Lanes]float32
	for b.Loop() {
		vec.Most(x, &most)
	}
}

// BenchmarkSkinny measures products of a few rows by a matrix that does not fit
// the caches, by what of them is read.
func BenchmarkSkinny(b *testing.B) {
	for _, s := range vec.Sets()[1:] {
		f32, _ := kernelsOf(s)
		for _, m := range []int{1, 2, 3, 4, 6, 8, 12, 16} {
			for _, trans := range []string{"NN", "NT"} {
				benchGemm(b, s.String(), f32, 0, m, 4096, 4096, trans)
			}
		}
	}
}

// BenchmarkHalf measures products of 16 bits: squares, and skinny ones in which the second
// operand lies by rows and by columns.
func BenchmarkHalf(b *testing.B) {
	for _, s := range vec.Sets()[1:] {
		f32, _ := kernelsOf(s)
		for threads := 1; threads <= 2; threads++ {
			for _, half := range []string{"bf16", "f16"} {
				b.Run(fmt.Sprintf("%v/threads=%d/%s", s, threads, half), func(b *testing.B) {
					for _, n := range []int{16, 32, 64, 128, 256, 512, 1024, 2048} {
						benchHalf(b, half, f32, threads-1, n, n, n, "NN")
						benchHalf(b, half, f32, threads-1, n, n, n, "NT")
					}
					for _, m := range []int{1, 16} {
						for _, trans := range []string{"NN", "NT"} {
							benchHalf(b, half, f32, threads-1, m, 4096, 4096, trans)
						}
					}
				})
			}
		}
	}
}

func benchHalf(b *testing.B, half string, ks *kernels[float32], helpers, m, n, k int, trans string) {
	b.Run(fmt.Sprintf("%dx%dx%d/%s", m, n, k, trans), func(b *testing.B) {
		p := benchProduct[float32](b, m, n, k, trans)
		for _, o := range []*Operand[float32]{&p.A, &p.B} {
			for _, x := range o.Data {
				if half == "bf16" {
					o.BF16 = append(o.BF16, dtype.ToBF16(x))
				} else {
					o.F16 = append(o.F16, dtype.ToF16(x))
				}
			}
			o.Data = nil
		}
		b.SetBytes(int64(2*(m*k+k*n) + 4*m*n))
		for b.Loop() {
			p.compute(ks, crew.Of(helpers))
		}
		b.ReportMetric(2*float64(m)*float64(n)*float64(k)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	})
}

package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

// Rows have the transforms of Fourier, forwards and back, and the same bits however many there are.
func TestFourierRows(t *testing.T) {
	for _, n := range []int{1, 2, 4, 8, 32, 256, 1024} {
		for _, rows := range []int{1, 5, 33} {
			x := make([]float32, 2*n*rows)
			for i, z := range randomRow(n * rows) {
				x[2*i], x[2*i+1] = float32(real(z)), float32(imag(z))
			}
			f, exact := NewFourierRows(n), NewFourier(n)
			for _, inverse := range []bool{false, true} {
				got, alone := make([]float32, len(x)), make([]float32, len(x))
				f.Transform(got, x, inverse, 0.7)
				want := make([]complex128, n)
				for lo := 0; lo < len(x); lo += 2 * n {
					f.Transform(alone[lo:lo+2*n], x[lo:lo+2*n], inverse, 0.7)
					for j := range want {
						want[j] = complex(float64(x[lo+2*j]), float64(x[lo+2*j+1]))
					}
					exact.Transform(want, want, inverse, 0.7)
					nearTransform(t, fmt.Sprintf("n=%d of %d, inverse=%v", n, rows, inverse), got[lo:lo+2*n], want)
				}
				if !slices.Equal(got, alone) {
					t.Errorf("n=%d, inverse=%v: the bits of rows differ where they are %d", n, inverse, rows)
				}
			}
			f.Release()
		}
	}
	if f := NewFourierRows(12); f != nil {
		t.Errorf("there are rows of 12 numbers: %v", f)
	}
}

// Real rows have the transforms of complex ones without imaginary parts.
func TestFourierReal(t *testing.T) {
	for _, n := range []int{2, 4, 8, 64, 1024} {
		for _, rows := range []int{1, 5, 33} {
			x := make([]float32, n*rows)
			for i, z := range randomRow(n * rows) {
				x[i] = float32(real(z))
			}
			f, exact := NewFourierRows(n/2), NewFourier(n)
			half, whole := make([]float32, (n+2)*rows), make([]float32, 2*n*rows)
			f.TransformReal(half, x, 1, false)
			f.TransformReal(whole, x, 1, true)
			want := make([]complex128, n)
			for row := range rows {
				for j := range want {
					want[j] = complex(float64(x[row*n+j]), 0)
				}
				exact.Transform(want, want, false, 1)
				nearTransform(t, fmt.Sprintf("n=%d of %d", n, rows), whole[2*n*row:][:2*n], want)
				if got := half[(n+2)*row:][:n+2]; !slices.Equal(got, whole[2*n*row:][:n+2]) {
					t.Errorf("n=%d of %d: half of a transform is %v", n, rows, got)
				}
			}
			f.Release()
		}
	}
}

// nearTransform compares pairs of parts with a transform in float64.
func nearTransform(t *testing.T, what string, got []float32, want []complex128) {
	t.Helper()
	for k, z := range want {
		re, im := float64(got[2*k])-real(z), float64(got[2*k+1])-imag(z)
		if most := 1e-6 * math.Sqrt(float64(len(want))); !(math.Hypot(re, im) <= most) {
			t.Fatalf("%s: element %d is %v, %v, want %v", what, k, got[2*k], got[2*k+1], z)
		}
	}
}

func BenchmarkFourierRows(b *testing.B) {
	const rows = 64
	for _, n := range []int{64, 512, 1024, 4096} {
		x := make([]float32, 2*n*rows)
		b.Run(fmt.Sprintf("%dx%d", rows, n), func(b *testing.B) {
			for b.Loop() {
				f := NewFourierRows(n)
				f.Transform(x, x, false, 1)
				f.Release()
			}
		})
	}
}

package gemm

import (
	"math"
	"unsafe"

	"tpsh/runtime/dtype"
)

// portableLanes is the number of sums that a portable tile keeps going at
// once, so that they need not wait for one another.
const portableLanes = 4

// The kernels in Go.
var (
	portableF32 = portable(fma32)
	portableF64 = portable(math.FMA)
)

// A half is a number of 16 bits.
type half interface {
	dtype.F16 | dtype.BF16
	Float32() float32
}

// portable returns kernels whose fused multiply-add is fma.
func portable[T dtype.Float](fma func(x, y, z T) T) kernels[T] {
	ks := kernels[T]{lanes: portableLanes, copyRows: copyRows[T], transpose: transpose[T], widenF16: widen[T, dtype.F16], widenBF16: widen[T, dtype.BF16]}
	for r := range 4 {
		ks.tiles[1] = append(ks.tiles[1], portableTile(fma, r+1))
	}
	return ks
}

// portableTile returns the tileFunc of so many rows of one vector.
func portableTile[T dtype.Float](fma func(x, y, z T) T, rows int) tileFunc[T] {
	return func(c *T, ldc int, a *T, rowA, colA int, b *T, rowB, k, lanes int, add bool, _ uintptr, _ int) {
		cs := unsafe.Slice(c, (rows-1)*ldc+lanes)
		as := unsafe.Slice(a, (rows-1)*rowA+(k-1)*colA+1)
		bs := unsafe.Slice(b, (k-1)*rowB+lanes)
		for i := range rows {
			var sum [portableLanes]T
			for l := range k {
				x := as[i*rowA+l*colA]
				for j, y := range bs[l*rowB:][:lanes] {
					sum[j] = fma(x, y, sum[j])
				}
			}
			for j := range cs[i*ldc:][:lanes] {
				if add {
					sum[j] += cs[i*ldc+j]
				}
				cs[i*ldc+j] = sum[j]
			}
		}
	}
}

// copyRows is the copyRows of kernels.
func copyRows[T dtype.Float](dst *T, width int, src *T, stride, n, rows int) {
	to, from := unsafe.Slice(dst, (rows-1)*width+n), unsafe.Slice(src, (rows-1)*stride+n)
	for l := range rows {
		copy(to[l*width:][:n], from[l*stride:][:n])
	}
}

// transpose is the transpose of kernels.
func transpose[T dtype.Float](dst *T, width int, src *T, stride, n, rows int) {
	to, from := unsafe.Slice(dst, (rows-1)*width+n), unsafe.Slice(src, (n-1)*stride+rows)
	for i := range n {
		for l, x := range from[i*stride:][:rows] {
			to[l*width+i] = x
		}
	}
}

// widen stores the values of src in dst.
func widen[T dtype.Float, H half](dst []T, src []H) {
	for i, h := range src {
		dst[i] = T(h.Float32())
	}
}

// fma32 returns x*y + z rounded once, to even.
//
// The product of two float32 is exact in float64. The sum is rounded to
// float64 first, and rounding that again to float32 goes wrong only where it
// lies halfway between two float32, or on a float32, by having been rounded
// there: its low 28 bits are then zeros. There the sum is rounded to odd first,
// which keeps the second rounding right (Boldo and Melquiond, "Emulation of a
// FMA and correctly rounded sums: proved algorithms using rounding to odd",
// IEEE Transactions on Computers 57(4), 2008).
func fma32(x, y, z float32) float32 {
	p, w := float64(x)*float64(y), float64(z)
	s := p + w
	if math.Float64bits(s)&(1<<28-1) != 0 {
		return float32(s)
	}
	return roundedToOdd(p, w, s)
}

// roundedToOdd returns p+w, of which s is the nearest float64, as a float32.
func roundedToOdd(p, w, s float64) float32 {
	t := s - p
	lost := (p - (s - t)) + (w - t) // exact (Knuth's two-sum); NaN if s is no number
	bits := math.Float64bits(s)
	switch {
	case lost == 0 || lost != lost || bits&1 != 0:
		return float32(s)
	case (lost > 0) == (s > 0):
		bits++
	default:
		bits--
	}
	return float32(math.Float64frombits(bits))
}

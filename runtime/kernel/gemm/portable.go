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
	portableF32  = withBF16(portable(sum32, sums32), &portableBF16)
	portableF64  = portable(sum64, sums64)
	portableBF16 = portablePairs()
)

// withBF16 returns ks with the kernels of bfloat16.
func withBF16(ks kernels[float32], bf16 *kernels[float32]) kernels[float32] {
	ks.bf16 = bf16
	return ks
}

// A half is a number of 16 bits.
type half interface {
	dtype.F16 | dtype.BF16
	Float32() float32
}

// portable returns kernels made of sum, which returns the sum of the products
// of k elements of a, colA apart, and b, rowB apart; and of sums, which
// returns those of portableLanes columns of b.
func portable[T dtype.Float](sum func(a []T, colA int, b []T, rowB, k int) T, sums func(a []T, colA int, b []T, rowB, k int) [portableLanes]T) kernels[T] {
	ks := kernels[T]{lanes: portableLanes, copyRows: copyRows[T], transpose: transpose[T], widenF16: widen[T, dtype.F16], widenBF16: widen[T, dtype.BF16]}
	tile := func(rows int) tileFunc[T] {
		return func(c *T, ldc int, a *T, rowA, colA int, b *T, rowB, k, lanes int, add bool, _ uintptr, _ int) {
			cs := unsafe.Slice(c, (rows-1)*ldc+lanes)
			as := unsafe.Slice(a, (rows-1)*rowA+(k-1)*colA+1)
			bs := unsafe.Slice(b, (k-1)*rowB+lanes)
			for i := range rows {
				var s [portableLanes]T
				if lanes == portableLanes {
					s = sums(as[i*rowA:], colA, bs, rowB, k)
				} else {
					for j := range lanes {
						s[j] = sum(as[i*rowA:], colA, bs[j:], rowB, k)
					}
				}
				store(cs[i*ldc:][:lanes], s[:lanes], add)
			}
		}
	}
	for r := range 4 {
		ks.tiles[1] = append(ks.tiles[1], tile(r+1))
	}
	return ks
}

// portablePairs returns the kernels of bfloat16.
func portablePairs() kernels[float32] {
	ks := portable(sum32, sums32)
	ks.tiles[1] = nil
	for r := range 4 {
		ks.tiles[1] = append(ks.tiles[1], func(c *float32, ldc int, a *float32, rowA, colA int, b *float32, rowB, k, lanes int, add bool, _ uintptr, _ int) {
			cs := unsafe.Slice(c, r*ldc+lanes)
			as := unsafe.Slice(a, r*rowA+(k-1)*colA+1)
			bs := unsafe.Slice(b, (k-1)*rowB+lanes)
			for i := range r + 1 {
				row := cs[i*ldc:][:lanes]
				if !add {
					clear(row)
				}
				for l := 0; l < k; l += PairBlock {
					addPairs(row, as[i*rowA+l*colA:], colA, bs[l*rowB:], rowB, min(PairBlock, k-l))
				}
			}
		})
	}
	return ks
}

// addPairs adds to c what one block of k steps sums up to in the order of bfloat16: of
// elements of a, colA apart, and the columns of b, rowB apart.
func addPairs(c, a []float32, colA int, b []float32, rowB, k int) {
	var odd [portableLanes]float32
	even := everySecond(a, colA, b, rowB, len(c), (k+1)/2)
	if k > 1 {
		odd = everySecond(a[colA:], colA, b[rowB:], rowB, len(c), k/2)
	}
	for j := range c {
		c[j] += even[j] + odd[j]
	}
}

// everySecond returns the sums of products of every second element of a and of so many
// columns of b, of which there are n.
func everySecond(a []float32, colA int, b []float32, rowB, columns, n int) [portableLanes]float32 {
	if columns == portableLanes {
		return sums32(a, 2*colA, b, 2*rowB, n)
	}
	var s [portableLanes]float32
	for j := range columns {
		s[j] = sum32(a, 2*colA, b[j:], 2*rowB, n)
	}
	return s
}

// store stores the sums in c, or if add is set adds them to it.
func store[T dtype.Float](c, sums []T, add bool) {
	for j, s := range sums {
		if add {
			s += c[j]
		}
		c[j] = s
	}
}

func sum64(a []float64, colA int, b []float64, rowB, k int) float64 {
	var s float64
	for l := range k {
		s = math.FMA(a[l*colA], b[l*rowB], s)
	}
	return s
}

func sums64(a []float64, colA int, b []float64, rowB, k int) [portableLanes]float64 {
	var s0, s1, s2, s3 float64
	for l := range k {
		x, y := a[l*colA], b[l*rowB:][:portableLanes]
		s0 = math.FMA(x, y[0], s0)
		s1 = math.FMA(x, y[1], s1)
		s2 = math.FMA(x, y[2], s2)
		s3 = math.FMA(x, y[3], s3)
	}
	return [portableLanes]float64{s0, s1, s2, s3}
}

func sum32(a []float32, colA int, b []float32, rowB, k int) float32 {
	var s float32
	for l := range k {
		s = fma32(a[l*colA], b[l*rowB], s)
	}
	return s
}

func sums32(a []float32, colA int, b []float32, rowB, k int) [portableLanes]float32 {
	var s0, s1, s2, s3 float64 // float32 that the next sum wants in float64
	for l := range k {
		x, y := float64(a[l*colA]), b[l*rowB:][:portableLanes]
		p0, p1, p2, p3 := x*float64(y[0]), x*float64(y[1]), x*float64(y[2]), x*float64(y[3])
		s0 = float64(once32(p0+s0, p0, s0))
		s1 = float64(once32(p1+s1, p1, s1))
		s2 = float64(once32(p2+s2, p2, s2))
		s3 = float64(once32(p3+s3, p3, s3))
	}
	return [portableLanes]float32{float32(s0), float32(s1), float32(s2), float32(s3)}
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

// fma32 returns x*y + z rounded once, to even. The product is exact in float64.
func fma32(x, y, z float32) float32 {
	p, w := float64(x)*float64(y), float64(z)
	return once32(p+w, p, w)
}

// once32 returns p+w rounded once to float32, for a product p of two float32
// and a float32 w; s is p+w rounded to float64.
//
// Rounding s again to float32 goes wrong only where s lies halfway between two
// float32, or on one, by having been rounded to there: its low 28 bits are then
// zeros. There the sum is rounded to odd first, which keeps the second rounding
// right (Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums:
// proved algorithms using rounding to odd", IEEE Transactions on Computers
// 57(4), 2008).
func once32(s, p, w float64) float32 {
	if math.Float64bits(s)<<36 == 0 {
		s = sumToOdd(p, w)
	}
	return float32(s)
}

// sumToOdd returns p+w rounded to odd: if it is not exact, the one of its two
// neighbours whose last bit is 1. It is rare; in line, it would keep once32
// from being so.
//
//go:noinline
func sumToOdd(p, w float64) float64 {
	s := p + w
	t := s - p
	lost := (p - (s - t)) + (w - t) // exact (Knuth's two-sum); NaN if s is no number
	bits := math.Float64bits(s)
	switch {
	case lost == 0 || lost != lost || bits&1 != 0:
	case (lost > 0) == (s > 0):
		bits++
	default:
		bits--
	}
	return math.Float64frombits(bits)
}

package kernel

import (
	"math"

	"tpsh/internal/libm"
	"tpsh/runtime/kernel/vec"
)

// farBlock is how many elements are computed before those are looked for that package vec
// does not reach.
const farBlock = 1024

// sin32, cos32 and tan32 are the kernels of package vec, and of angles beyond its reach the
// functions in float64, rounded.
func sin32(dst, x []float32) { reach1(dst, x, vec.Sin, libm.Sin) }
func cos32(dst, x []float32) { reach1(dst, x, vec.Cos, libm.Cos) }
func tan32(dst, x []float32) { reach1(dst, x, vec.Tan, libm.Tan) }

// reach1 stores f of x in dst, and far where |x| is beyond vec.FarAngle. It panics if the
// lengths differ. dst may be x.
func reach1(dst, x []float32, f func(dst, x []float32, most *[vec.Lanes]float32), far func(float64) float64) {
	check2(len(dst), len(x))
	var kept [farBlock]float32
	for len(dst) > 0 {
		n := min(len(dst), farBlock)
		xs := keptApart(kept[:n], dst, x)
		var most [vec.Lanes]float32
		f(dst[:n], xs, &most)
		if anyBeyond(&most, vec.FarAngle) {
			for i, v := range xs {
				if v > vec.FarAngle || v < -vec.FarAngle {
					dst[i] = float32(far(float64(v)))
				}
			}
		}
		dst, x = dst[n:], x[n:]
	}
}

// keptApart returns the first len(kept) elements of x, to be read after dst has been written. If dst
// is x that would overwrite them, and they are copied to kept.
func keptApart(kept, dst, x []float32) []float32 {
	if &dst[0] != &x[0] {
		return x[:len(kept)]
	}
	copy(kept, x)
	return kept
}

// anyBeyond reports whether a lane is more than limit.
func anyBeyond(most *[vec.Lanes]float32, limit float32) bool {
	for _, v := range most {
		if v > limit {
			return true
		}
	}
	return false
}

// fmod32 and mod32 are the kernels of package vec, and where the quotient is beyond its reach
// the functions in float64, rounded.
func fmod32(dst, x, y []float32) { reach2(dst, x, y, vec.Fmod, fmodTo[float32]) }
func mod32(dst, x, y []float32)  { reach2(dst, x, y, vec.Remainder, ModFloatTo[float32]) }

// reach2 stores f of x and y in dst, and far where |x/y| is not less than vec.FarQuotient. It
// panics if the lengths differ. dst may be x or y.
func reach2(dst, x, y []float32, f func(dst, x, y []float32, most *[vec.Lanes]float32), far func(dst, x, y []float32)) {
	check3(len(dst), len(x), len(y))
	var keptX, keptY [farBlock]float32
	for len(dst) > 0 {
		n := min(len(dst), farBlock)
		xs, ys := keptApart(keptX[:n], dst, x), keptApart(keptY[:n], dst, y)
		var most [vec.Lanes]float32
		f(dst[:n], xs, ys, &most)
		if anyBeyond(&most, vec.FarQuotient/2) { // quotients in lanes are rounded
			for i, v := range xs {
				if q := math.Abs(float64(v) / float64(ys[i])); q >= vec.FarQuotient {
					far(dst[i:i+1], xs[i:i+1], ys[i:i+1])
				}
			}
		}
		dst, x, y = dst[n:], x[n:], y[n:]
	}
}

package kernel

import (
	"math"
	"sync"
	"unsafe"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// ExactCombiner returns a Combine that does not depend on the order of its sources, for op "sum"
// or "mean", or nil if dt does not have it. dst[i] is the sum of all srcs[k][i] as if there
// were no rounding, rounded once to the nearest element of dt, of two the even one: its error
// is at most half a unit in its last place. A mean is that sum (of halves: the sum in float32)
// divided by the number of sources, and rounded again. Integers wrap around as in Combiner.
//
// A NaN among the sources makes a NaN, as do infinities of both signs, always the same one; a
// sum of 0 is -0 if all sources are. A sum overflows if it is beyond the largest number itself,
// not if one on the way to it is.
//
// Numbers are added in pairs of float64 whose sum is exact (Ogita, Rump and Oishi, "Accurate sum
// and dot product", SIAM Journal on Scientific Computing 26(6), 2005). Where two do not hold
// a sum, since its terms differ by more than 2^50, it is made again in a superaccumulator.
func ExactCombiner(dt dtype.DType, op string) Combine {
	if op != "sum" && op != "mean" {
		return nil
	}
	mean := op == "mean"
	switch dt {
	case dtype.Float32:
		return exactFloats(float64Of32, mean, func(dst []float32, s *exactSums) {
			for i := range dst {
				dst[i] = float32(s.odd(i))
			}
		})
	case dtype.Float64:
		return exactFloats(float64Of64, mean, func(dst []float64, s *exactSums) {
			for i := range dst {
				dst[i] = s.nearest(i)
			}
		})
	case dtype.Float16:
		return exactHalves(vec.WidenF16, vec.NarrowF16, mean)
	case dtype.BFloat16:
		return exactHalves(vec.WidenBF16, vec.NarrowBF16, mean)
	case dtype.Complex64, dtype.Complex128:
		return ExactCombiner(dt.Real(), op)
	}
	return Combiner(dt, op)
}

// exactBlock is how many elements are summed at a time, with all their sums in the first-level
// cache.
const exactBlock = 512

// An exactSums is a block of sums: sum[i] + rest[i], without error unless a bit but the sign of
// lost[i] is set.
type exactSums struct {
	sum, rest [exactBlock]float64
	lost      [exactBlock]uint64
	srcs      [][]byte
	narrow    bool // whether elements have fewer bits than a float64
	load      func(dst []float64, src []byte, lo int)
	lo        int // the element that is the first of the block
	next      [exactBlock]float64
}

// spareSums are blocks that nobody uses.
var spareSums = sync.Pool{New: func() any { return &exactSums{} }}

// newExactSums returns a block of sums of elements that load widens.
func newExactSums(load func([]float64, []byte, int), narrow bool) *exactSums {
	s := spareSums.Get().(*exactSums)
	s.load, s.narrow = load, narrow
	return s
}

// free lets s be used again.
func (s *exactSums) free() {
	s.srcs, s.load = nil, nil
	spareSums.Put(s)
}

// begin makes s a block of n sums of the elements of srcs from lo on. One float64 each holds
// most sums of float32 and of halves; where it does not, all of the block are made in pairs.
func (s *exactSums) begin(srcs [][]byte, lo, n int) {
	s.srcs, s.lo = srcs, lo
	s.load(s.sum[:n], srcs[0], lo)
	clear(s.rest[:n])
	clear(s.lost[:n])
	if s.narrow {
		var lost uint64
		for _, src := range srcs[1:] {
			s.load(s.next[:n], src, lo)
			lost |= addSingles(s.sum[:n], s.next[:n])
		}
		if lost == 0 {
			return
		}
		s.load(s.sum[:n], srcs[0], lo)
	}
	for _, src := range srcs[1:] {
		s.load(s.next[:n], src, lo)
		addPairs(s.sum[:n], s.rest[:n], s.lost[:n], s.next[:n])
	}
}

// addSingles adds x to sum. A bit of the result but the sign is set if that was not exact.
func addSingles(sum, x []float64) (lost uint64) {
	x = x[:len(sum)]
	for i, a := range sum {
		t, e := twoSum(a, x[i])
		sum[i] = t
		lost |= math.Float64bits(e) &^ (1 << 63)
	}
	return lost
}

// addPairs adds x to the pairs of sum and rest, and notes in lost what they cannot hold.
func addPairs(sum, rest []float64, lost []uint64, x []float64) {
	rest, lost, x = rest[:len(sum)], lost[:len(sum)], x[:len(sum)]
	for i, a := range sum {
		t, e := twoSum(a, x[i])
		u, f := twoSum(rest[i], e)
		sum[i], rest[i] = t, u
		lost[i] |= math.Float64bits(f) &^ (1 << 63)
	}
}

// twoSum returns a + b, rounded, and the error of that. Knuth, "The Art of Computer
// Programming", volume 2, section 4.2.2, theorem B.
func twoSum(a, b float64) (sum, err float64) {
	sum = a + b
	c := sum - a
	return sum, (a - (sum - c)) + (b - c)
}

// nearest returns sum i, rounded to the nearest float64.
func (s *exactSums) nearest(i int) float64 {
	switch sum := s.sum[i]; {
	case s.lost[i] != 0:
		return s.exact(i, toNearest)
	case sum != sum:
		return math.NaN()
	case s.rest[i] != 0:
		return sum + s.rest[i]
	default:
		return sum // which may be -0
	}
}

// odd returns sum i, rounded to odd.
func (s *exactSums) odd(i int) float64 {
	if s.lost[i] != 0 {
		return s.exact(i, toOdd)
	}
	if s.sum[i] != s.sum[i] {
		return math.NaN()
	}
	if s.rest[i] == 0 {
		return s.sum[i]
	}
	t, e := twoSum(s.sum[i], s.rest[i])
	if b := math.Float64bits(t); e != 0 && b&1 == 0 {
		if (e > 0) == (t > 0) {
			return math.Float64frombits(b + 1)
		}
		return math.Float64frombits(b - 1)
	}
	return t
}

// exact returns sum i of a superaccumulator.
func (s *exactSums) exact(i int, round func(m uint64, half, rest bool) uint64) float64 {
	var a superaccumulator
	var x [1]float64
	for _, src := range s.srcs {
		s.load(x[:], src, s.lo+i)
		a.add(x[0])
	}
	return a.sum(round)
}

// exactFloats returns the Combine that sums blocks of elements that load widens, and rounds
// them by store.
func exactFloats[T dtype.Float](load func([]float64, []byte, int), mean bool, store func(dst []T, s *exactSums)) Combine {
	return func(dst []byte, srcs [][]byte) {
		out, s := view[T](dst), newExactSums(load, unsafe.Sizeof(T(0)) < 8)
		defer s.free()
		for lo := 0; lo < len(out); lo += exactBlock {
			part := out[lo:min(lo+exactBlock, len(out))]
			s.begin(srcs, lo, len(part))
			store(part, s)
		}
		if mean {
			scale(out, T(len(srcs)))
		}
	}
}

func float64Of32(dst []float64, src []byte, lo int) {
	x := view[float32](src)[lo : lo+len(dst)]
	for i, v := range x {
		dst[i] = float64(v)
	}
}

func float64Of64(dst []float64, src []byte, lo int) { copy(dst, view[float64](src)[lo:]) }

// exactHalves is exactFloats for a storage type, whose sums are rounded to odd in float32 on the
// way, or to nearest to be divided there.
func exactHalves[H dtype.F16 | dtype.BF16](widen func(dst []float32, x []H), narrow func(dst []H, x []float32), mean bool) Combine {
	load := func(dst []float64, src []byte, lo int) {
		var wide [exactBlock]float32
		widen(wide[:len(dst)], view[H](src)[lo:lo+len(dst)])
		for i := range dst {
			dst[i] = float64(wide[i])
		}
	}
	return func(dst []byte, srcs [][]byte) {
		out, s := view[H](dst), newExactSums(load, true)
		defer s.free()
		var wide [exactBlock]float32
		for lo := 0; lo < len(out); lo += exactBlock {
			n := min(exactBlock, len(out)-lo)
			s.begin(srcs, lo, n)
			for i := range n {
				if t := s.odd(i); mean {
					wide[i] = float32(t) / float32(len(srcs))
				} else {
					wide[i] = odd32(t)
				}
			}
			narrow(out[lo:lo+n], wide[:n])
		}
	}
}

// odd32 rounds t to odd in float32.
func odd32(t float64) float32 {
	x := float32(t)
	if b := math.Float32bits(x); float64(x) != t && t == t && b&1 == 0 {
		if (float64(x) < t) == (t > 0) {
			return math.Float32frombits(b + 1)
		}
		return math.Float32frombits(b - 1)
	}
	return x
}

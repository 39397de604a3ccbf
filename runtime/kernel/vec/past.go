package vec

import (
	"math"
	"unsafe"
)

// pastFrom is from how many bytes on results are stored past the caches; see Past.
// lightPastFrom is that of kernels of so few steps that they wait for memory. Only tests set them.
var (
	pastFrom      = pastBytes()
	lightPastFrom = lightPastBytes()
)

// pastBytes returns twice the bytes of the second-level cache where that is known, as on
// Intel's processors: there a store to a line that no near cache has first reads the line,
// which takes as long as to write it. On one of 2 MiB a pass over 16 MiB takes half the
// time past the caches, and who reads the result then a tenth more. Elsewhere results are
// stored as ever.
func pastBytes() int {
	if near := SecondLevel(); near > 0 {
		return 2 * near
	}
	return math.MaxInt
}

// lightPastBytes is pastBytes where that is known. On AMD's processors it is half of the
// third-level cache: of a Zen 4 with 32 MiB a negation of 16 MiB takes 0.75 of the time past
// the caches, and one of 32 MiB 0.68, as do two of which one reads what the other makes; one of 4 MiB takes
// 1.3 times as long, since that cache had its lines, and gelu, which computes meanwhile, 1.0 to 1.2.
func lightPastBytes() int {
	if last := thirdLevel(); last > 0 {
		return last / 2
	}
	return pastBytes()
}

// Past reports whether results of so many bytes in all are to be stored past the caches:
// who reads them next finds none of their beginning in a near cache in any case.
func Past(bytes int) bool { return bytes >= pastFrom && active == AVX512 }

// fitsPast reports whether kernels may store past the caches at dst: it begins with a
// line of them, and is none of their inputs, which are there already.
func fitsPast[T any](dst *T, in ...*T) bool {
	for _, x := range in {
		if x == dst {
			return false
		}
	}
	return active == AVX512 && uintptr(unsafe.Pointer(dst))%64 == 0
}

// CopyPast copies x to dst, which is as long, past the caches if dst lies as that takes.
// Who calls it has asked Past, and calls Settle behind the last of several.
func CopyPast(dst, x []float32) {
	check(len(dst), len(x))
	whole := len(x) &^ (Lanes - 1)
	if whole > 0 && fitsPast(&dst[0], &x[0]) {
		copyPast(&dst[0], &x[0], whole)
		dst, x = dst[whole:], x[whole:]
	}
	copy(dst, x)
}

// Settle has what CopyPast has stored be there before whatever is stored next.
func Settle() { fence() }

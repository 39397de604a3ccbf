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
// second-level cache. Results come to lie where storage has come back last, which is not when it
// was given up but with the next collection: some 100 MiB of others later, so that no cache has
// their lines. On a Zen 3 a script of sums of 256 KiB or 4 MiB takes 0.55 of the time past the
// caches, and one of four functions of each other's results 0.8; who computes meanwhile, as gelu
// does, gains nothing.
func lightPastBytes() int {
	if near := secondLevelAMD(); near > 0 {
		return near / 2
	}
	return pastBytes()
}

// Past reports whether results of so many bytes in all are to be stored past the caches:
// who reads them next finds none of their beginning in a near cache in any case.
func Past(bytes int) bool { return bytes >= pastFrom && storesPast() }

// LightPast is Past of results that take few steps each.
func LightPast(bytes int) bool { return bytes >= lightPastFrom && storesPast() }

// storesPast reports whether the set in use has stores past the caches.
func storesPast() bool { return active == AVX2 || active == AVX512 }

// LineBytes is the size of a line of the caches.
const LineBytes = 64

// fitsPast reports whether kernels may store past the caches at dst: it begins with a
// line of them, and is none of their inputs, which are there already.
func fitsPast[T any](dst *T, in ...*T) bool {
	for _, x := range in {
		if x == dst {
			return false
		}
	}
	return storesPast() && uintptr(unsafe.Pointer(dst))%LineBytes == 0
}

// CopyPast copies x to dst, which is as long, past the caches if dst lies as that takes.
// Who calls it has asked Past or LightPast, and calls Settle behind the last of several.
func CopyPast[T any](dst, x []T) {
	check(len(dst), len(x))
	each := LineBytes / int(unsafe.Sizeof(*new(T)))
	if whole := len(x) &^ (each - 1); whole > 0 && fitsPast(&dst[0], &x[0]) {
		copyPast(unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0]), whole/each)
		dst, x = dst[whole:], x[whole:]
	}
	copy(dst, x)
}

// Settle has what CopyPast has stored be there before whatever is stored next.
func Settle() { fence() }

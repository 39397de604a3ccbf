package vec

// fence has what was stored past the caches be in memory before what is stored next.
func fence()

// copyPast stores n elements of x, a multiple of Lanes, at dst past the caches. dst
// begins with a line of them, and the machine has AVX-512.
//
//go:noescape
func copyPast(dst, x *float32, n int)

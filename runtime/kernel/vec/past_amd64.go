package vec

import "unsafe"

// fence has what was stored past the caches be in memory before what is stored next.
func fence()

// copyPast stores lines of the caches, 64 bytes each, of x at dst past them. dst begins with a
// line, and the machine has AVX2.
//
//go:noescape
func copyPast(dst, x unsafe.Pointer, lines int)

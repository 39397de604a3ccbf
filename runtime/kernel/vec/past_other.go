//go:build !amd64

package vec

import "unsafe"

// fence does nothing: nothing is stored past the caches here.
func fence() {}

// copyPast is never called: no set of this machine stores past the caches.
func copyPast(dst, x unsafe.Pointer, lines int) { panic("vec: a copy past the caches") }

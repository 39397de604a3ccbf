//go:build !amd64

package vec

// fence does nothing: nothing is stored past the caches here.
func fence() {}

// copyPast is never called: no set of this machine stores past the caches.
func copyPast(dst, x *float32, n int) { panic("vec: a copy past the caches") }

//go:build !unix

package tensor

// carved reports that no regions are cut from slabs: the collector's heap has its
// own way to cut memory up.
func carved(size int) bool { return false }

// mapRegion returns size bytes of zeroed memory from the collector's heap.
func mapRegion(size int) ([]byte, error) { return make([]byte, size), nil }

// unmapRegion leaves r to the collector.
func unmapRegion(r []byte) {}

// protect does nothing: there is no way to make the region read-only.
func protect(r []byte, readOnly bool) {}

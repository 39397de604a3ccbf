//go:build unix

package tensor

import "golang.org/x/sys/unix"

// mapRegion returns size bytes of zeroed memory from the operating system.
func mapRegion(size int) ([]byte, error) {
	r, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err == nil {
		adviseHuge(r)
	}
	return r, err
}

// unmapRegion gives back what mapRegion returned.
func unmapRegion(r []byte) {
	if err := unix.Munmap(r); err != nil {
		panic("tensor: munmap: " + err.Error())
	}
}

// protect makes the region r read-only, or writable again.
func protect(r []byte, readOnly bool) {
	prot := unix.PROT_READ | unix.PROT_WRITE
	if readOnly {
		prot = unix.PROT_READ
	}
	if err := unix.Mprotect(r, prot); err != nil {
		panic("tensor: mprotect: " + err.Error())
	}
}

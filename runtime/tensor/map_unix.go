//go:build unix

package tensor

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// carved reports whether regions of size bytes are cut from slabs: those that would
// leave a part of a huge page.
func carved(size int) bool { return size%hugePage != 0 }

// mapRegion returns size bytes of zeroed memory from the operating system, which
// begin with a huge page.
func mapRegion(size int) ([]byte, error) {
	p, err := unix.MmapPtr(-1, 0, nil, uintptr(size+hugePage), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	all := unsafe.Slice((*byte)(p), size+hugePage)
	skip := int(-uintptr(p) % hugePage)
	r := all[skip:][:size]
	if skip > 0 {
		unmapRegion(all[:skip])
	}
	unmapRegion(all[skip+size:])
	adviseHuge(r)
	return r, nil
}

// unmapRegion gives back what mapRegion returned.
func unmapRegion(r []byte) {
	if err := unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(r)), uintptr(len(r))); err != nil {
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

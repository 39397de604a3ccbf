package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// floats returns memory for n elements, on large pages as the storage of large
// tensors is.
func floats(n int) []float32 {
	if 4*n < 1<<20 {
		return make([]float32, n)
	}
	b, err := unix.Mmap(-1, 0, 4*n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]float32, n)
	}
	unix.Madvise(b, unix.MADV_HUGEPAGE)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), n)
}

//go:build unix

package tensor

import (
	"fmt"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// phantom returns address space that nobody may read or write, the same for all
// allocators of the process.
var phantom = sync.OnceValues(func() ([]byte, error) {
	for size := maxHollow; ; size >>= 2 {
		p, err := unix.MmapPtr(-1, 0, nil, uintptr(size), unix.PROT_NONE, unix.MAP_ANON|unix.MAP_PRIVATE|noReserve)
		if err == nil {
			return unsafe.Slice((*byte)(p), size), nil
		}
		if size < 1<<30 {
			return nil, fmt.Errorf("no address space for a plan: %w", err)
		}
	}
})

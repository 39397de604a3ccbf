//go:build unix

package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// mappable says that the system maps files into memory.
const mappable = true

// mapPart returns size bytes of f from byte at on, mapped into memory to be read, and
// what gives them back.
func mapPart(f *os.File, at int64, size int) (data []byte, release func(), err error) {
	skip := int(at % int64(os.Getpagesize()))
	all, err := unix.Mmap(int(f.Fd()), at-int64(skip), skip+size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return all[skip:], func() { _ = unix.Munmap(all) }, nil
}

package comm

import (
	"os"
	"syscall"
)

// NewShared returns a fabric of ranks that share memory, which each maps for
// itself.
func NewShared(size int) *Fabric {
	first, err := CreateSegment(size)
	if err != nil {
		panic(err)
	}
	defer first.Close()
	var s SuperviseOptions
	links := make([]*Links, size)
	local := make([]int, size)
	for r := range local {
		local[r] = r
	}
	for r := range links {
		a, b := Loopback()
		s.Streams = append(s.Streams, a)
		fd, err := syscall.Dup(int(first.File().Fd()))
		if err != nil {
			panic(err)
		}
		segment, err := OpenSegment(os.NewFile(uintptr(fd), "memory"))
		if err != nil {
			panic(err)
		}
		if links[r], err = Connect(LinkOptions{Rank: r, Size: size, Supervisor: b, Segment: segment, Local: local}); err != nil {
			panic(err)
		}
	}
	return Join(Supervise(s), links)
}

package comm

import (
	"io"
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
		if links[r], err = Connect(LinkOptions{Rank: r, Size: size, Supervisor: b, Segment: again(first), Local: local}); err != nil {
			panic(err)
		}
	}
	return Join(Supervise(s), links)
}

// NewMixed returns a fabric of ranks on two hosts, as it were: the even and the
// odd ranks share memory, and connections join all others.
func NewMixed(size int) *Fabric {
	options := make([]LinkOptions, size)
	s := SuperviseOptions{Heartbeat: true}
	for host := range min(2, size) {
		var local []int
		for r := host; r < size; r += 2 {
			local = append(local, r)
		}
		first, err := CreateSegment(len(local))
		if err != nil {
			panic(err)
		}
		defer first.Close()
		for _, r := range local {
			options[r] = LinkOptions{Rank: r, Size: size, Segment: again(first), Local: local, Heartbeat: true}
			options[r].Peers = make([]io.ReadWriteCloser, size)
		}
	}
	links := make([]*Links, size)
	for x := range options {
		for y := range x {
			if x%2 != y%2 {
				options[x].Peers[y], options[y].Peers[x] = Loopback()
			}
		}
	}
	for r := range options {
		a, b := Loopback()
		s.Streams = append(s.Streams, a)
		options[r].Supervisor = b
		var err error
		if links[r], err = Connect(options[r]); err != nil {
			panic(err)
		}
	}
	return Join(Supervise(s), links)
}

// again opens a segment as another process does.
func again(s *Segment) *Segment {
	fd, err := syscall.Dup(int(s.File().Fd()))
	if err != nil {
		panic(err)
	}
	other, err := OpenSegment(os.NewFile(uintptr(fd), "memory"))
	if err != nil {
		panic(err)
	}
	return other
}

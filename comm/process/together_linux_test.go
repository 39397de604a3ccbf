package process

import (
	"io"
	"os"
	"syscall"

	"tpsh/comm"
	"tpsh/comm/process/shm"
)

// NewShared returns a fabric of ranks that share memory, which each maps for
// itself.
func NewShared(size int) *comm.Fabric { return connected(sharedOptions(size)) }

// NewUnreadable returns a fabric of ranks that share memory, of which some cannot
// read what others have besides.
func NewUnreadable(size int, hidden func(from, to int) bool) *comm.Fabric {
	options, s := sharedOptions(size)
	for from := range size {
		for to := range size {
			if hidden(from, to) {
				options[0].Segment.Reads(from, to).Store(shm.Unreadable)
			}
		}
	}
	return connected(options, s)
}

// NewMixed returns a fabric of ranks on two hosts, as it were: the even and the
// odd ranks share memory, and connections join all others.
func NewMixed(size int) *comm.Fabric { return connected(mixedOptions(size)) }

// connected returns the fabric of ranks with the given options.
func connected(options []LinkOptions, s SuperviseOptions) *comm.Fabric {
	links := make([]*Links, len(options))
	for r, o := range options {
		var err error
		if links[r], err = Connect(o); err != nil {
			panic(err)
		}
	}
	return Join(Supervise(s), links)
}

// supervised adds the stream to the supervisor to options.
func supervised(options []LinkOptions, s SuperviseOptions) ([]LinkOptions, SuperviseOptions) {
	for r := range options {
		a, b := Loopback()
		s.Streams = append(s.Streams, a)
		options[r].Supervisor = b
	}
	return options, s
}

// sharedOptions are those of ranks that share memory.
func sharedOptions(size int) ([]LinkOptions, SuperviseOptions) {
	first, err := shm.CreateSegment(size)
	if err != nil {
		panic(err)
	}
	defer first.Close()
	options := make([]LinkOptions, size)
	for r := range options {
		options[r] = LinkOptions{Rank: r, Size: size, Segment: again(first), Local: comm.FirstRanks(size)}
	}
	return supervised(options, SuperviseOptions{})
}

// mixedOptions are those of ranks on two hosts, as it were.
func mixedOptions(size int) ([]LinkOptions, SuperviseOptions) {
	options := make([]LinkOptions, size)
	for host := range min(2, size) {
		var local []int
		for r := host; r < size; r += 2 {
			local = append(local, r)
		}
		first, err := shm.CreateSegment(len(local))
		if err != nil {
			panic(err)
		}
		defer first.Close()
		for _, r := range local {
			options[r] = LinkOptions{Rank: r, Size: size, Segment: again(first), Local: local, Heartbeat: true}
			options[r].Peers = make([]io.ReadWriteCloser, size)
		}
	}
	for x := range options {
		for y := range x {
			if x%2 != y%2 {
				options[x].Peers[y], options[y].Peers[x] = Loopback()
			}
		}
	}
	return supervised(options, SuperviseOptions{Heartbeat: true})
}

// again opens a segment as another process does.
func again(s *shm.Segment) *shm.Segment {
	fd, err := syscall.Dup(int(s.File().Fd()))
	if err != nil {
		panic(err)
	}
	other, err := shm.OpenSegment(os.NewFile(uintptr(fd), "memory"))
	if err != nil {
		panic(err)
	}
	return other
}

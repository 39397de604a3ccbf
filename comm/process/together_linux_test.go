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
func NewMixed(size int) *comm.Fabric {
	return connected(hostOptions(size, func(r int) int { return r % 2 }))
}

// NewHosts returns a fabric of ranks on hosts, as it were: each of them are on one.
func NewHosts(size, each int) *comm.Fabric {
	f, _ := NewHostsWithLinks(size, each)
	return f
}

// NewHostsWithLinks is NewHosts, and returns the links of the ranks.
func NewHostsWithLinks(size, each int) (*comm.Fabric, []*Links) {
	options, s := hostOptions(size, func(r int) int { return r / each })
	links := connect(options)
	return Join(Supervise(s), links), links
}

// connected returns the fabric of ranks with the given options.
func connected(options []LinkOptions, s SuperviseOptions) *comm.Fabric {
	return Join(Supervise(s), connect(options))
}

func connect(options []LinkOptions) []*Links {
	links := make([]*Links, len(options))
	for r, o := range options {
		var err error
		if links[r], err = Connect(o); err != nil {
			panic(err)
		}
	}
	return links
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

// hostOptions are those of ranks on several hosts, as it were.
func hostOptions(size int, host func(r int) int) ([]LinkOptions, SuperviseOptions) {
	options, hosts, sharers := make([]LinkOptions, size), make([]int, size), map[int][]int{}
	for r := range size {
		hosts[r] = host(r)
		sharers[hosts[r]] = append(sharers[hosts[r]], r)
	}
	for _, local := range sharers {
		first, err := shm.CreateSegment(len(local))
		if err != nil {
			panic(err)
		}
		defer first.Close()
		for _, r := range local {
			options[r] = LinkOptions{Rank: r, Size: size, Segment: again(first), Local: local, Hosts: hosts, Heartbeat: true}
			options[r].Peers = make([]io.ReadWriteCloser, size)
		}
	}
	for x := range options {
		for y := range x {
			if hosts[x] != hosts[y] {
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

package process

import (
	"io"
	"net"
	"time"

	"tpsh/comm"
)

// together makes one fabric of ranks that reach each other as processes do:
// each has links of its own.
type together struct {
	links       []*Links
	supervision *Supervision
	fabrics     []*comm.Fabric
	closed      bool
}

// Join returns a fabric with the endpoints of all links.
func Join(supervision *Supervision, links []*Links) *comm.Fabric {
	t := &together{links: links, supervision: supervision}
	f := comm.NewFabric(len(links))
	for _, l := range links {
		t.fabrics = append(t.fabrics, l.Fabric(0))
	}
	f.AttachAll(t, t.fabrics)
	f.Go(func() {
		<-f.Context().Done()
		for _, l := range links {
			l.Close()
		}
		supervision.Close()
	})
	return f
}

func (t *together) JoinRank(e *comm.Endpoint) comm.RankTransport { return nil }

func (t *together) Unreceived() []comm.Unreceived {
	var all []comm.Unreceived
	for _, f := range t.fabrics {
		all = append(all, f.Transport().Unreceived()...)
	}
	return all
}

func (t *together) Notice(after time.Duration, fn func(string)) {
	s := t.supervision
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current.noticeWaits(after, fn)
}

// NewPiped returns a fabric of ranks that are connected by pairs of pipe. hosts says where
// each is, as it were; nil for one host.
func NewPiped(size int, hosts []int, peerTimeout time.Duration, pair func() (a, b io.ReadWriteCloser)) *comm.Fabric {
	options := make([]LinkOptions, size)
	s := SuperviseOptions{Grace: 20 * time.Millisecond, Heartbeat: true, PeerTimeout: peerTimeout}
	for r := range options {
		a, b := pair()
		options[r] = LinkOptions{Rank: r, Size: size, Supervisor: b, Peers: make([]io.ReadWriteCloser, size), Hosts: hosts, Heartbeat: true, PeerTimeout: peerTimeout}
		s.Streams = append(s.Streams, a)
	}
	for a := range size {
		for b := range a {
			options[a].Peers[b], options[b].Peers[a] = pair()
		}
	}
	links := make([]*Links, size)
	for r, o := range options {
		var err error
		if links[r], err = Connect(o); err != nil {
			panic(err)
		}
	}
	return Join(Supervise(s), links)
}

// Loopback returns both ends of a connection over the loopback interface.
func Loopback() (a, b io.ReadWriteCloser) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		panic(err)
	}
	if b, err = l.Accept(); err != nil {
		panic(err)
	}
	return a, b
}

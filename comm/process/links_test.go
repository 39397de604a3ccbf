package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/wire"
)

// linkedPair returns the links of two ranks, and their supervision, by pairs.
func linkedPair(t *testing.T, o SuperviseOptions) ([2]*Links, *Supervision, [][2]io.Closer) {
	t.Helper()
	var links [2]*Links
	var ends [][2]io.Closer
	peer, other := Loopback()
	peers := [2][]io.ReadWriteCloser{{nil, peer}, {other, nil}}
	for r := range links {
		a, b := Loopback()
		o.Streams = append(o.Streams, a)
		ends = append(ends, [2]io.Closer{a, b})
		var err error
		links[r], err = Connect(LinkOptions{
			Rank: r, Size: 2, Supervisor: b, Peers: peers[r], Heartbeat: o.Heartbeat, PeerTimeout: o.PeerTimeout,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s := Supervise(o)
	t.Cleanup(func() {
		for _, l := range links {
			l.Close()
		}
		s.Close()
	})
	return links, s, ends
}

var barrierOp = &comm.Op{Kind: comm.Barrier, Desc: comm.Desc{Op: "barrier", Free: -1, Root: -1}}

// Generations follow each other over the same streams, though one rank is
// ahead, and whatever became of the one before.
func TestGenerations(t *testing.T) {
	links, s, _ := linkedPair(t, SuperviseOptions{})
	var groups [2]*comm.Group
	for generation := range 20 {
		var ranks sync.WaitGroup
		errs := [2]error{}
		for r := range links {
			ranks.Go(func() {
				if r == generation%2 {
					time.Sleep(time.Millisecond)
				}
				e := links[r].Fabric(generation).Endpoint(r)
				if generation == 0 {
					groups[r], _ = e.Group([]int{0, 1}, "")
				} else {
					e.Adopt(groups[r])
				}
				errs[r] = groups[r].Send(1-r, generation, comm.Message{}, "a line")
				for range 3 {
					_, err := groups[r].Run(context.Background(), barrierOp)
					errs[r] = errors.Join(errs[r], err)
				}
				var end error
				if generation%3 == r {
					end = errors.New("a mistake")
				}
				e.End(end)
			})
		}
		ranks.Wait()
		for r, err := range errs {
			if err != nil && generation%3 != 1-r {
				t.Errorf("generation %d: rank %d: %v", generation, r, err)
			}
		}
		if left := s.Unreceived(generation); len(left) != 2 || left[0].Tag != generation || left[1].Src != 0 {
			t.Errorf("generation %d: got %v not received, want a message of each rank", generation, left)
		}
	}
}

// A rank may come to a generation long after another has sent to it there.
func TestLateForGeneration(t *testing.T) {
	links, _, _ := linkedPair(t, SuperviseOptions{})
	world := func(r, generation int) *comm.Group {
		g, err := links[r].Fabric(generation).Endpoint(r).Group([]int{0, 1}, "")
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	world(0, 0)
	world(1, 0)
	world(0, 1).Send(1, 0, comm.Message{}, "a line")
	time.Sleep(10 * time.Millisecond) // until it is held
	if _, err := world(1, 1).Recv(t.Context(), 0, 0, func() string { return "" }); err != nil {
		t.Error(err)
	}
}

// What must not come is noticed, though it comes before its generation.
func TestAlienBeforeGeneration(t *testing.T) {
	links, _, _ := linkedPair(t, SuperviseOptions{})
	for r := range links {
		links[r].Fabric(0)
	}
	links[0].writers[1].Send(wire.Frame{Type: wire.FrameVerdict, Generation: 1}, nil, nil)
	time.Sleep(10 * time.Millisecond)
	g, err := links[1].Fabric(1).Endpoint(1).Group([]int{0, 1}, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := g.Recv(ctx, 0, 0, func() string { return "" }); !errors.As(err, new(*comm.PeerError)) {
		t.Errorf("got %v, want that rank 0 is lost", err)
	}
}

// Who falls silent on a connection with heartbeats is reported, and then lost,
// in every generation.
func TestSilence(t *testing.T) {
	t.Parallel() // it only waits
	var mu sync.Mutex
	var silent []int
	o := SuperviseOptions{Heartbeat: true, PeerTimeout: 2 * time.Second}
	o.Silent = func(rank int, _ time.Duration) {
		mu.Lock()
		defer mu.Unlock()
		silent = append(silent, rank)
	}
	a, mute := Loopback() // nobody speaks at the other end
	defer mute.Close()
	b, other := Loopback()
	o.Streams = []io.ReadWriteCloser{b, a}
	peer, quiet := Loopback()
	defer quiet.Close()
	l, err := Connect(LinkOptions{
		Rank: 0, Size: 2, Supervisor: other, Peers: []io.ReadWriteCloser{nil, peer}, Heartbeat: true, PeerTimeout: o.PeerTimeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	s := Supervise(o)
	defer s.Close()
	defer l.Close()
	for generation := range 2 {
		world, err := l.Fabric(generation).Endpoint(0).Group([]int{0, 1}, "")
		if err != nil {
			t.Fatal(err)
		}
		_, err = world.Run(context.Background(), barrierOp)
		if err == nil || !strings.HasSuffix(err.Error(), "nothing was heard of it for 2s") {
			t.Errorf("generation %d: got %v, want a failure for want of a sign", generation, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if fmt.Sprint(silent) != "[1]" {
		t.Errorf("got reports of %v, want one of rank 1", silent)
	}
}

// Options that do not reach every rank are refused.
func TestConnectRefuses(t *testing.T) {
	stream, other := Loopback()
	defer stream.Close()
	defer other.Close()
	for want, o := range map[string]LinkOptions{
		"got rank 2 of 2": {Rank: 2, Size: 2, Supervisor: stream},
		"got no stream to the supervisor, want one":            {Rank: 0, Size: 1},
		"got 2 streams for 1 ranks, want at most as many":      {Size: 1, Supervisor: stream, Peers: make([]io.ReadWriteCloser, 2)},
		"got no way to rank 1, want a stream or shared memory": {Size: 2, Supervisor: stream},
		"got no way to rank 0, want a stream or shared memory": {Rank: 1, Size: 2, Supervisor: stream, Peers: []io.ReadWriteCloser{nil}},
	} {
		if l, err := Connect(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v and %v, want %s", l, err, want)
		}
	}
}

// A connection of which there can be no second descriptor is an error of Connect,
// and nothing goes on.
func TestConnectWithoutDescriptor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	from, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	from.Close()
	stream, other := Loopback()
	defer other.Close()
	links, err := Connect(LinkOptions{Rank: 1, Size: 2, Supervisor: stream, Peers: []io.ReadWriteCloser{from}})
	if err == nil || !strings.Contains(err.Error(), "connect: to rank 0: ") {
		t.Fatalf("got %v and %v, want an error that names rank 0", links, err)
	}
	if _, err := stream.Write([]byte{0}); err == nil {
		t.Error("the stream to the supervisor is open, want it closed")
	}
}

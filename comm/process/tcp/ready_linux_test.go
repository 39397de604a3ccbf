package tcp

import (
	"io"
	"testing"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/comm/process/stream"
	"tpsh/comm/wire"
)

// crowd returns a set of rank 0 with connections to so many others, and the ends of those.
func crowd(t *testing.T, h *testHost, others int) (*Set, []*stream.Writer) {
	t.Helper()
	h.ctx = t.Context()
	s := NewSet(h, 0, others+1, time.Second)
	t.Cleanup(func() { s.Close(io.ErrClosedPipe) })
	var ends []*stream.Writer
	for r := 1; r <= others; r++ {
		from, to := pair(t)
		in := wire.NewReader(wire.ReaderOptions{Source: r, Spare: &wire.BufferPool{}})
		if _, err := s.Add(r, from, bootstrap.NewHeardReader(from), in); err != nil {
			t.Fatal(err)
		}
		ends = append(ends, &stream.Writer{Source: r, Stream: to})
	}
	return s, ends
}

// until returns when so many messages have come to h, looking by look.
func until(t *testing.T, h *testHost, want int, look func()) {
	t.Helper()
	for begun := time.Now(); h.count() < want; look() {
		if time.Since(begun) > patience {
			t.Fatalf("got %d messages, want %d", h.count(), want)
		}
	}
	if n := h.count(); n != want {
		t.Fatalf("got %d messages, want %d", n, want)
	}
}

// Of many connections those are read that have something, all of them and no others, however
// many the system tells of at a time.
func TestCrowd(t *testing.T) {
	h := &testHost{}
	s, ends := crowd(t, h, readyRooms+9)
	if s.Pump() {
		t.Error("something has come, want nothing: nobody has sent")
	}
	for _, w := range ends {
		w.Send(wire.Frame{Type: wire.FrameContract}, nil, nil)
	}
	until(t, h, len(ends), func() { s.Pump() })
	for range 3 {
		ends[5].Send(wire.Frame{Type: wire.FrameContract}, nil, nil)
	}
	s.PollFrom(make([]int, fewConns+1))
	until(t, h, len(ends)+3, func() { s.Pump() })
}

// While messages of many are held for a generation that has not come, the system does not tell
// of those connections again and again; then all is taken in.
func TestCrowdHeld(t *testing.T) {
	h := &testHost{late: true}
	s, ends := crowd(t, h, 2*fewConns)
	for _, w := range ends {
		for range 2 {
			w.Send(wire.Frame{Type: wire.FrameData}, nil, nil)
		}
	}
	for begun := time.Now(); len(s.ready.ask(make([]int, 0, readyRooms))) > 0; s.Pump() {
		if time.Since(begun) > patience {
			t.Fatal("the system tells of connections from which nothing is taken")
		}
	}
	h.turn(false)
	s.TakeHeld()
	until(t, h, 2*len(ends), func() { s.Pump() })
	list, there := s.pollList(nil)
	if len(list) != 1 || there {
		t.Errorf("got a list of %d and %v, want to sleep at one descriptor", len(list), there)
	}
}

package tcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/comm/process/stream"
	"tpsh/comm/wire"
)

// pair returns the ends of a connection within the host.
func pair(t *testing.T) (a, b *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialed.Close(); accepted.Close() })
	return dialed.(*net.TCPConn), accepted.(*net.TCPConn)
}

// A testHost keeps the messages that come for it.
type testHost struct {
	ctx context.Context

	mu       sync.Mutex
	late     bool // whether the generation of messages has not come
	received []wire.FrameType
}

func (h *testHost) Accept(_ int, f *wire.Frame) (come bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.late {
		h.received = append(h.received, f.Type)
	}
	return !h.late, nil
}

func (h *testHost) AwaitGeneration(uint32)   {}
func (h *testHost) Lose(int, error)          {}
func (h *testHost) Pump() bool               { return false }
func (h *testHost) Context() context.Context { return h.ctx }
func (h *testHost) Go(task func())           { go task() }

// turn says whether the generation of messages has not come.
func (h *testHost) turn(late bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.late = late
}

// count returns how many messages have come.
func (h *testHost) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.received)
}

// patience is how long what should come is waited for: no machine is so busy that it comes later.
const patience = 5 * time.Minute

// connTo returns the connection of rank 1 to rank 0, the reader of the frames that it
// sends, and the other end, on which to send.
func connTo(t *testing.T, h *testHost) (*Conn, *wire.FrameReader, *stream.Writer) {
	t.Helper()
	from, to := pair(t)
	h.ctx = t.Context()
	s := NewSet(h, 1, 2, 2*patience)
	in := wire.NewReader(wire.ReaderOptions{Source: 0, Spare: &wire.BufferPool{}})
	c, err := s.Add(0, from, bootstrap.NewHeardReader(from), in)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(io.ErrClosedPipe) })
	return c, &wire.FrameReader{Stream: to}, &stream.Writer{Source: 0, Stream: to}
}

// counting returns n bytes that count.
func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// That nothing is read while a message of a generation is held that has not come
// is no silence.
func TestHeldIsNoSilence(t *testing.T) {
	h := &testHost{late: true}
	c, _, other := connTo(t, h)
	other.Send(wire.Frame{Type: wire.FrameData}, nil, nil)
	for open := true; open; open, _ = c.Open() {
		c.set.PollFrom([]int{0})
	}
	if silence := c.Silent(); silence != 0 {
		t.Errorf("got a silence of %v, want none", silence)
	}
	h.turn(false)
	c.set.TakeHeld()
	if time.Sleep(time.Millisecond); c.Silent() == 0 || h.count() != 1 {
		t.Errorf("got a silence of %v and %d messages after all was taken in, want some and one", c.Silent(), h.count())
	}
}

// What was read ahead with a contract, and left by who wanted only that, is taken
// in by the next who would sleep.
func TestReadAheadIsTaken(t *testing.T) {
	h := &testHost{}
	c, _, other := connTo(t, h)
	for range 3 {
		other.Send(wire.Frame{Type: wire.FrameContract}, nil, nil)
	}
	for h.count() == 0 {
		c.set.PollFrom([]int{0})
	}
	if n := h.count(); n != 1 {
		t.Fatalf("a brief look took in %d messages, want one", n)
	}
	if err := c.set.Start(); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); time.Since(start) < patience; time.Sleep(time.Millisecond) {
		if h.count() == 3 {
			return
		}
	}
	t.Errorf("the contracts were not taken in for %v, half of what the listener sleeps", patience)
}

// A polled connection cuts a message into frames that fill whole segments, but for the last,
// and none that is hardly longer than its header.
func TestConnFrames(t *testing.T) {
	c, in, _ := connTo(t, &testHost{})
	for _, length := range []int{0, 1, wire.LargeWrite, tcpFrame, tcpFrame + frameRest/2, 512 << 10, 1 << 20, 1<<20 + 5, 3<<20 - 1} {
		t.Run(fmt.Sprint(length), func(t *testing.T) {
			head, body := []byte("head"), bytes.Repeat([]byte{1, 2, 3, 4, 5}, length/5+1)[:length]
			sent := make(chan struct{})
			go func() { defer close(sent); c.Send(wire.Frame{Type: wire.FrameData}, head, body) }()
			got, lengths := receiveFrames(t, in)
			<-sent
			if want := append(slices.Clone(head), body...); !bytes.Equal(got, want) {
				t.Fatalf("got other bytes than were sent, %d of %d", len(got), len(want))
			}
			checkLengths(t, lengths)
		})
	}
}

// receiveFrames returns the payload of a message and that of each of its frames.
func receiveFrames(t *testing.T, in *wire.FrameReader) (all []byte, lengths []int) {
	for {
		f, err := in.Next()
		if err != nil {
			t.Fatal(err)
		}
		all, lengths = append(all, f.Payload...), append(lengths, len(f.Payload))
		if !f.More {
			return all, lengths
		}
	}
}

// checkLengths checks the lengths of the payloads of a message's frames.
func checkLengths(t *testing.T, lengths []int) {
	last := len(lengths) - 1
	for _, n := range lengths[:last] {
		if n != lengths[0] || n > tcpFrame || n < tcpFrame/2 {
			t.Errorf("got frames of %v, want all but the last alike, and of at most %d", lengths, tcpFrame)
		}
	}
	if n := lengths[last]; last > 0 && n <= frameRest || n > tcpFrame+frameRest {
		t.Errorf("got frames of %v, want the last of more than %d and at most %d", lengths, frameRest, tcpFrame+frameRest)
	}
}

// The data of a long message follow a frame with all of its head, and fill whole
// segments together with it.
func TestConnMessage(t *testing.T) {
	c, in, _ := connTo(t, &testHost{})
	long := bytes.Repeat([]byte("m"), wire.LargeWrite)
	for _, test := range []struct {
		head  []byte
		data  int
		apart bool
	}{{[]byte("head"), leastApart - 1, false}, {[]byte("head"), leastApart, true}, {[]byte("head"), 1 << 20, true}, {long, 1 << 20, false}} {
		sent := make(chan struct{})
		body := counting(test.data)
		go func() { defer close(sent); c.Send(wire.Frame{Type: wire.FrameMessage}, test.head, body) }()
		got, lengths := receiveFrames(t, in)
		<-sent
		if !bytes.Equal(got, slices.Concat(test.head, body)) {
			t.Errorf("%d bytes behind %d: got others than were sent", len(body), len(test.head))
		}
		if apart := lengths[0] == len(test.head); apart != test.apart {
			t.Errorf("%d bytes behind %d: got frames of %v, want the head apart: %v", len(body), len(test.head), lengths, test.apart)
		}
		if !test.apart {
			continue
		}
		lengths[1] += wire.HeaderBytes + lengths[0]
		checkLengths(t, lengths[1:])
	}
}

// A frame of a polled connection fills the segments of its connection.
func TestConnSegments(t *testing.T) {
	from, to := pair(t)
	for _, conn := range []*net.TCPConn{from, to} {
		c, err := NewSet(&testHost{}, 0, 2, 0).Add(1, conn, bootstrap.NewHeardReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer closeSocket(c.at)
		segment := segmentLen(c.at, tcpFrame)
		if segment < 500 || segment > 64<<10 {
			t.Errorf("segmentLen = %d, want that of a connection", segment)
		}
		if got := c.mostOf(1<<20) + wire.HeaderBytes; got%segment != 0 || got > tcpFrame || got <= tcpFrame-segment {
			t.Errorf("got frames of %d bytes, want the most of %d in segments of %d", got, tcpFrame, segment)
		}
	}
	if got := segmentLen(-1, tcpFrame); got != 1 {
		t.Errorf("segmentLen of no connection = %d, want 1", got)
	}
}

// A heartbeat never waits: not for a message being sent, and not for room. What comes of heartbeats
// for which there was none is nothing, and the frames after them follow those before.
func TestBeatWaitsForNothing(t *testing.T) {
	c, in, _ := connTo(t, &testHost{})
	c.out.Lock()
	c.Beat()
	c.out.Unlock()
	if c.number != 0 {
		t.Fatalf("got %d frames while a message is being sent, want none", c.number)
	}
	for sent := uint32(1); c.number != sent-1; sent++ {
		c.Beat()
		if sent > 1<<20 {
			t.Fatal("there is room for a million heartbeats that nobody reads")
		}
	}
	sent := int(c.number)
	done := make(chan error, 1)
	go func() {
		for range sent + 1 {
			f, err := in.Next()
			if err != nil || f.Type != wire.FrameHeartbeat && f.Type != wire.FrameMessage {
				done <- fmt.Errorf("got %v and %v, want heartbeats and a message", f, err)
				return
			}
		}
		done <- nil
	}()
	c.Send(wire.Frame{Type: wire.FrameMessage}, nil, []byte("after them"))
	if err := <-done; err != nil {
		t.Error(err)
	}
}

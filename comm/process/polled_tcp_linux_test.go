package process

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"tpsh/comm/bootstrap"
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

// cableTo returns a polled connection, and what reads the frames that it sends.
func cableTo(t *testing.T) (*polledTCP, *wire.FrameReader) {
	t.Helper()
	from, to := pair(t)
	l := &Links{rank: 1}
	l.polledTCP.links = l
	c, err := newPolledTCP(l, 0, from, bootstrap.NewHeardReader(from))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeSocket(c.at) })
	return c, &wire.FrameReader{Stream: to}
}

// A polled connection cuts a message into frames that fill whole segments, but for the last,
// and none that is hardly longer than its header.
func TestCableFrames(t *testing.T) {
	c, in := cableTo(t)
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
func TestCableMessage(t *testing.T) {
	c, in := cableTo(t)
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
func TestCableSegments(t *testing.T) {
	from, to := pair(t)
	for _, conn := range []*net.TCPConn{from, to} {
		c, err := newPolledTCP(&Links{}, 0, conn, bootstrap.NewHeardReader(conn))
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

// A connection of which there can be no second descriptor is an error of Connect,
// and nothing goes on.
func TestConnectWithoutDescriptor(t *testing.T) {
	from, _ := pair(t)
	from.Close()
	stream, other := Loopback()
	defer other.Close()
	l, err := Connect(LinkOptions{Rank: 1, Size: 2, Supervisor: stream, Peers: []io.ReadWriteCloser{from}})
	if err == nil || !strings.Contains(err.Error(), "connect: to rank 0: ") {
		t.Fatalf("got %v and %v, want an error that names rank 0", l, err)
	}
	if _, err := stream.Write([]byte{0}); err == nil {
		t.Error("the stream to the supervisor is open, want it closed")
	}
}

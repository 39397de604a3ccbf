package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tpsh/comm"
	"tpsh/comm/mailbox"
	"tpsh/comm/schedule"
	"tpsh/comm/wire"
)

// appendInParts appends the frames of a message: its head, and data of which each
// frame has at most so many bytes. The number of the first frame is given.
func appendInParts(buf []byte, f wire.Frame, m comm.Message, most int, number uint32) []byte {
	payload := wire.Parts{Head: wire.AppendEnvelopeHead(nil, &mailbox.Envelope{Message: m, Where: "a line"}), Body: m.Data}
	f.Type = wire.FrameMessage
	for n := len(payload.Head); n > 0; n = min(most, payload.Len()) {
		f.Rest, f.More, f.Number = payload.Len(), payload.Len() > n, number
		f.Payload = payload.Next(n)
		buf = wire.AppendFrame(buf, &f)
		number++
	}
	return buf
}

// blank is what memory holds that nobody is to write to.
const blank = 0xEE

func blankBytes(n int) []byte { return bytes.Repeat([]byte{blank}, n) }

// counting returns n bytes that differ from those next to them.
func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i + i>>8)
	}
	return b
}

// A message in parts comes whole to the memory that it is given, in whatever pieces
// it comes; and if that memory is taken back at any moment, it comes whole to other
// memory, and nothing more to that.
func TestInletLeaves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 200<<10).Draw(t, "n")
		most := rapid.SampledFrom([]int{1000, 20 << 10, 100 << 10}).Draw(t, "most")
		data := counting(n)
		sent := bytes.NewReader(appendInParts(nil, wire.Frame{}, comm.Message{Meta: []byte("meta"), Data: data}, most, 0))
		pieces := rapid.SampledFrom([]int{1, 7, wire.HeaderBytes, 5000, 70 << 10}).Draw(t, "pieces")
		when := rapid.IntRange(0, 2*int(sent.Size())).Draw(t, "when") // it may be after the end
		var memory []byte
		in := wire.NewReader(wire.ReaderOptions{DataBuffer: func(f *wire.Frame) []byte {
			memory = blankBytes(f.Rest - len(f.Payload))
			return memory
		}})
		turn := 0
		read := func(b []byte) (int, error) {
			if turn++; turn%2 == 0 {
				return 0, wire.ErrAgain
			}
			return sent.Read(b[:min(pieces, len(b))])
		}
		left := false
		for {
			f, err := in.Pull(read)
			if err == wire.ErrAgain {
				if !left && memory != nil && int(sent.Size())-sent.Len() >= when {
					left = true
					in.AbandonBuffer(memory)
					copy(memory, blankBytes(len(memory)))
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(f.Data, data) {
				t.Fatalf("got other data, left %v", left)
			}
			if same := schedule.SameMemory(f.Data, memory); same == left {
				t.Fatalf("got that the data are in their place: %v, left %v", same, left)
			}
			break
		}
		if left && !bytes.Equal(memory, blankBytes(len(memory))) {
			t.Error("memory was written to after it was left")
		}
	})
}

// receiver is rank 1 of two. What comes to it from rank 0 is written to sent.
type receiver struct {
	world *comm.Group
	sent  net.Conn
}

func openReceiver(t *testing.T) *receiver {
	t.Helper()
	a, mute := Loopback()
	b, own := Loopback()
	sent, peer := Loopback()
	s := Supervise(SuperviseOptions{Streams: []io.ReadWriteCloser{a, b}, Grace: 20 * time.Millisecond})
	l, err := Connect(LinkOptions{Rank: 1, Size: 2, Supervisor: own, Peers: []io.ReadWriteCloser{peer, nil}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.Close()
		s.Close()
		mute.Close()
		sent.Close()
	})
	world, err := l.Fabric(0).Endpoint(1).Group([]int{0, 1}, "")
	if err != nil {
		t.Fatal(err)
	}
	return &receiver{world, sent.(net.Conn)}
}

// message returns the bytes of a message with a tag, and its data.
func (r *receiver) message(tag int, number uint32) (sent, data []byte) {
	data = counting(500 << 10)
	f := wire.Frame{Group: r.world.Transport().(*wireGroup).hash, Tag: tag}
	return appendInParts(nil, f, comm.Message{Meta: []byte("meta"), Data: data}, 200<<10, number), data
}

func (r *receiver) write(t *testing.T, b []byte) {
	t.Helper()
	if _, err := r.sent.Write(b); err != nil {
		t.Fatal(err)
	}
}

// A reception is a RecvInto under way.
type reception struct {
	memory []byte
	asked  chan struct{} // closed when place is asked
	ended  chan struct{}
	got    comm.Message
	err    error
}

func (r *receiver) receive(ctx context.Context, tag int, refusal error) *reception {
	c := &reception{asked: make(chan struct{}), ended: make(chan struct{})}
	place := func(meta []byte, n int) ([]byte, error) {
		defer close(c.asked)
		if string(meta) != "meta" {
			return nil, fmt.Errorf("got %q for meta", meta)
		}
		c.memory = blankBytes(n)
		return c.memory, refusal
	}
	go func() {
		defer close(c.ended)
		c.got, c.err = r.world.RecvInto(ctx, 0, tag, func() string { return "" }, place)
	}()
	return c
}

// waits returns when the rank waits for a message, and what comes may have a place.
func (r *receiver) waits() {
	wr := r.world.Transport().(*wireGroup).wireRank
	for waiting := false; !waiting; time.Sleep(100 * time.Microsecond) {
		wr.mu.Lock()
		waiting = wr.wait != nil
		wr.mu.Unlock()
	}
}

// want waits for the end of c, and checks that it has the data in its place.
func (c *reception) want(t *testing.T, data []byte) {
	t.Helper()
	<-c.ended
	switch {
	case c.err != nil:
		t.Error(c.err)
	case !bytes.Equal(c.got.Data, data) || string(c.got.Meta) != "meta":
		t.Error("got another message than was sent")
	case !schedule.SameMemory(c.got.Data, c.memory):
		t.Error("the data are not in their place")
	}
}

// The data of a long message for which a receive waits are read to their place as
// they come.
func TestMessageComesToItsPlace(t *testing.T) {
	r := openReceiver(t)
	sent, data := r.message(5, 0)
	c := r.receive(t.Context(), 5, nil)
	r.waits()
	r.write(t, sent[:300<<10])
	<-c.asked
	r.write(t, sent[300<<10:])
	c.want(t, data)
}

// cuts are where a message that is under way may stop: in the header of its data,
// behind that, within data, at the end of a frame, within the next, and before the
// last byte.
func cuts(sent []byte) map[string]int {
	head := wire.HeaderBytes + 3*8 + len("a line") + len("meta")
	first := head + wire.HeaderBytes + 200<<10
	return map[string]int{
		"behind the head": head, "in a header": head + 20, "behind a header": head + wire.HeaderBytes, "within data": head + 99<<10,
		"behind a frame": first, "behind the next header": first + wire.HeaderBytes, "before the end": len(sent) - 1,
	}
}

// Who leaves a receive has its memory back, though data are on their way to it: they
// go elsewhere, and to who asks for them next.
func TestLeftMessage(t *testing.T) {
	r := openReceiver(t)
	left := errors.New("left")
	sent, _ := r.message(0, 0)
	number := uint32(0)
	for name, cut := range cuts(sent) {
		t.Run(name, func(t *testing.T) {
			sent, data := r.message(7, number)
			number += 4
			ctx, leave := context.WithCancelCause(t.Context())
			c := r.receive(ctx, 7, nil)
			r.waits()
			r.write(t, sent[:cut])
			<-c.asked
			time.Sleep(2 * time.Millisecond) // until all is taken in
			leave(left)
			if <-c.ended; c.err != left {
				t.Fatalf("got %v, want that it was left", c.err)
			}
			copy(c.memory, blankBytes(len(c.memory)))
			next := r.receive(t.Context(), 7, nil)
			r.write(t, sent[cut:])
			next.want(t, data)
			if !bytes.Equal(c.memory, blankBytes(len(c.memory))) {
				t.Error("memory was written to after the receive had ended")
			}
		})
	}
}

// A receive whose sender is lost fails, wherever the message stops, and nothing is
// written to its memory afterwards; so does one whose data are not those that were sent.
func TestBrokenMessage(t *testing.T) {
	r := openReceiver(t)
	sent, _ := r.message(0, 0)
	for name, cut := range cuts(sent) {
		t.Run(name, func(t *testing.T) { testBroken(t, sent[:cut], "rank 0 failed: ", func(r *receiver) { r.sent.Close() }) })
		flipped := bytes.Clone(sent)
		flipped[cut] ^= 1
		t.Run(name+", flipped", func(t *testing.T) {
			testBroken(t, flipped, "rank 0 failed: its connection to rank 1 was lost: frame: ", func(*receiver) {})
		})
	}
}

func testBroken(t *testing.T, sent []byte, want string, end func(*receiver)) {
	r := openReceiver(t)
	c := r.receive(t.Context(), 0, nil)
	r.waits()
	r.write(t, sent)
	<-c.asked
	end(r)
	<-c.ended
	if peer := (*comm.PeerError)(nil); !errors.As(c.err, &peer) || !strings.Contains(c.err.Error(), want) {
		t.Errorf("got %v, want %s", c.err, want)
	}
	copy(c.memory, blankBytes(len(c.memory)))
	time.Sleep(2 * time.Millisecond)
	if !bytes.Equal(c.memory, blankBytes(len(c.memory))) {
		t.Error("memory was written to after the receive had ended")
	}
}

// A message that is refused a place has been received when it is there.
func TestRefusedMessage(t *testing.T) {
	r := openReceiver(t)
	refusal := errors.New("no room")
	first, _ := r.message(3, 0)
	c := r.receive(t.Context(), 3, refusal)
	r.waits()
	r.write(t, first[:1000])
	<-c.asked
	r.write(t, first[1000:])
	if <-c.ended; c.err != refusal {
		t.Fatalf("got %v, want %v", c.err, refusal)
	}
	second, data := r.message(3, 4)
	r.write(t, second)
	r.receive(t.Context(), 3, nil).want(t, data)
}

// Only the message for which a receive waits is given its memory.
func TestMailboxRoom(t *testing.T) {
	key, other := mailbox.Key{Group: 1, Src: 2, Tag: 3}, mailbox.Key{Group: 1, Src: 2, Tag: 4}
	memory := make([]byte, 10)
	place := func(_ []byte, n int) ([]byte, error) { return memory[:n], nil }
	var box mailbox.Box
	buffer := func(key mailbox.Key) bool { return box.Allocate(key, &comm.Message{}, 8) != nil }
	if buffer(key) {
		t.Error("got memory though nothing is expected")
	}
	box.Post(key, place)
	if buffer(other) {
		t.Error("got memory for another message")
	}
	box.Put(key, mailbox.Envelope{})
	if buffer(key) {
		t.Error("got memory for the second message, want it for the first")
	}
	box.TakeMessage(key)
	if !buffer(key) || buffer(key) {
		t.Error("want memory once")
	}
	box.Put(key, mailbox.Envelope{Message: comm.Message{Data: memory[:8]}})
	if b := box.TakePosted(); !b.Asked || !schedule.SameMemory(b.Memory, memory) || buffer(key) {
		t.Errorf("got %v, want what was asked for, and no more", b)
	}
	box.DetachFrom(key, memory)
	if m, _ := box.TakeMessage(key); schedule.SameMemory(m.Message.Data, memory) || len(m.Message.Data) != 8 {
		t.Errorf("got %d bytes, want 8 in other memory", len(m.Message.Data))
	}
}

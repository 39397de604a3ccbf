package shm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"tpsh/comm/wire"
)

// newRing returns a ring of so many bytes in memory of its own.
func newRing(n int) ring {
	return ring{new(atomic.Uint64), new(atomic.Uint64), new(atomic.Uint32), make([]byte, n)}
}

// testRingOut returns the writing end of r. Nobody sleeps.
func testRingOut(r ring, pump func()) *RingWriter {
	return &RingWriter{ring: r, futex: Futex{new(atomic.Uint32), new(atomic.Uint32), new(atomic.Uint32)}, pump: pump}
}

// Messages that are written to a ring are read as they were, however long they
// are, and the ring is empty then.
func TestRingRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRing(rapid.SampledFrom([]int{1 << 10, 4 << 10}).Draw(t, "bytes"))
		in := &RingReader{ring: r}
		var got []*wire.Frame
		take := func(f *wire.Frame) error {
			c := *f
			c.Payload, c.Transient = append([]byte(nil), f.Payload...), false
			got = append(got, &c)
			return nil
		}
		out := testRingOut(r, func() {
			if err := in.Each(5, take); err != nil {
				t.Fatal(err)
			}
		})
		var want []*wire.Frame
		for range rapid.IntRange(0, 20).Draw(t, "messages") {
			f := &wire.Frame{
				Type:       wire.FrameType(rapid.IntRange(1, int(wire.FrameHeartbeat)).Draw(t, "type")),
				Generation: 5,
				Group:      rapid.Uint64().Draw(t, "group"),
				Call:       rapid.Uint64().Draw(t, "call"),
				Step:       int(rapid.Uint32().Draw(t, "step")),
				Tag:        rapid.Int().Draw(t, "tag"),
			}
			if f.Rest = rapid.SampledFrom([]int{0, 1, 7, 4 << 10, 20 << 10}).Draw(t, "length"); f.Rest > 0 {
				f.Payload = bytes.Repeat([]byte{rapid.Byte().Draw(t, "byte")}, f.Rest)
			}
			want = append(want, f)
			out.Send(*f, f.Payload[:len(f.Payload)/3], f.Payload[len(f.Payload)/3:])
		}
		out.pump()
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("got %d messages, want %d and the same", len(got), len(want))
		}
		if in.Waiting() || in.partial != nil {
			t.Fatal("the ring is not empty")
		}
	})
}

// What is of a later generation stays in the ring; what is of an earlier one
// is dropped.
func TestRingGenerations(t *testing.T) {
	r := newRing(4 << 10)
	in, out := &RingReader{ring: r}, testRingOut(r, func() {})
	for _, g := range []uint32{0, 1, 2} {
		out.Send(wire.Frame{Type: wire.FrameData, Generation: g}, make([]byte, 1000), nil) // in two records
	}
	for now := range uint32(4) {
		var got []uint32
		err := in.Each(now, func(f *wire.Frame) error { got = append(got, f.Generation); return nil })
		if err != nil {
			t.Fatal(err)
		}
		if want := now < 3; want && !reflect.DeepEqual(got, []uint32{now}) || !want && got != nil {
			t.Errorf("in generation %d: got messages of %v", now, got)
		}
	}
}

// Who waits for room in a ring goes on when there is no reader any more.
func TestRingCut(t *testing.T) {
	r := newRing(1 << 10)
	var out *RingWriter
	rounds := 0
	out = testRingOut(r, func() {
		if rounds++; rounds == 200 {
			out.Stop()
		}
	})
	out.Send(wire.Frame{Type: wire.FrameData}, make([]byte, 1<<20), nil)
	if rounds < 200 {
		t.Errorf("a message longer than the ring was sent without a reader")
	}
}

// Whatever is in a ring, reading it ends, and with no error but a FrameError.
func FuzzRing(f *testing.F) {
	r := newRing(4 << 10)
	out := testRingOut(r, func() {})
	out.Send(wire.Frame{Type: wire.FrameContract, Group: 1, Call: 2}, wire.AppendContract(nil, &wire.Contract{}), nil)
	out.Send(wire.Frame{Type: wire.FrameMessage, Tag: -1}, make([]byte, 500), nil)
	f.Add(bytes.Clone(r.data), uint16(r.head.Load()))
	f.Add([]byte{}, uint16(64))
	f.Fuzz(func(t *testing.T, data []byte, head uint16) {
		r := newRing(4 << 10)
		copy(r.data, data)
		for at := 0; at+recordBytes <= len(r.data); at += recordBytes { // so that more than one record is believed
			if n := binary.LittleEndian.Uint32(r.data[at+12:]); n > 16 {
				binary.LittleEndian.PutUint32(r.data[at+12:], n%16)
			}
		}
		r.head.Store(uint64(head))
		in := &RingReader{ring: r}
		taken := 0
		err := in.Each(1, func(f *wire.Frame) error { taken += len(f.Payload); return nil })
		if frame := (*wire.FrameError)(nil); err != nil && !errors.As(err, &frame) {
			t.Fatalf("got %v, want a FrameError", err)
		}
		if taken > int(head) {
			t.Fatalf("got %d bytes of %d", taken, head)
		}
	})
}

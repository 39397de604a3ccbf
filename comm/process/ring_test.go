package process

import (
	"bytes"
	"encoding/binary"
	"errors"
	"reflect"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// newRing returns a ring of so many bytes in memory of its own.
func newRing(n int) ring {
	return ring{new(atomic.Uint64), new(atomic.Uint64), new(atomic.Uint32), make([]byte, n)}
}

// newRingOut returns the writing end of r. Nobody sleeps.
func newRingOut(r ring, pump func()) *ringOut {
	return &ringOut{ring: r, futex: futex{new(atomic.Uint32), new(atomic.Uint32)}, pump: pump}
}

// Messages that are written to a ring are read as they were, however long they
// are, and the ring is empty then.
func TestRingRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRing(rapid.SampledFrom([]int{1 << 10, 4 << 10}).Draw(t, "bytes"))
		in := &ringIn{ring: r}
		var got []*frame
		take := func(f *frame) error {
			c := *f
			c.payload, c.transient = append([]byte(nil), f.payload...), false
			got = append(got, &c)
			return nil
		}
		out := newRingOut(r, func() {
			if err := in.each(5, take); err != nil {
				t.Fatal(err)
			}
		})
		var want []*frame
		for range rapid.IntRange(0, 20).Draw(t, "messages") {
			f := drawFrame(t)
			f.source, f.more, f.beside, f.generation, f.number, f.rest = 0, false, false, 5, 0, len(f.payload)
			want = append(want, f)
			out.send(*f, f.payload[:len(f.payload)/3], f.payload[len(f.payload)/3:])
		}
		out.pump()
		if len(got)+len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Fatalf("got %d messages, want %d and the same", len(got), len(want))
		}
		if in.waiting() || in.partial != nil {
			t.Fatal("the ring is not empty")
		}
	})
}

// What is of a later generation stays in the ring; what is of an earlier one
// is dropped.
func TestRingGenerations(t *testing.T) {
	r := newRing(4 << 10)
	in, out := &ringIn{ring: r}, newRingOut(r, func() {})
	for _, g := range []uint32{0, 1, 2} {
		out.send(frame{typ: frameData, generation: g}, make([]byte, 1000), nil) // in two records
	}
	for now := range uint32(4) {
		var got []uint32
		err := in.each(now, func(f *frame) error { got = append(got, f.generation); return nil })
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
	var out *ringOut
	rounds := 0
	out = newRingOut(r, func() {
		if rounds++; rounds == 200 {
			out.stop()
		}
	})
	out.send(frame{typ: frameData}, make([]byte, 1<<20), nil)
	if rounds < 200 {
		t.Errorf("a message longer than the ring was sent without a reader")
	}
}

// Whatever is in a ring, reading it ends, and with no error but a FrameError.
func FuzzRing(f *testing.F) {
	r := newRing(4 << 10)
	out := newRingOut(r, func() {})
	out.send(frame{typ: frameContract, group: 1, call: 2}, appendContract(nil, &contract{}), nil)
	out.send(frame{typ: frameMessage, tag: -1}, make([]byte, 500), nil)
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
		in := &ringIn{ring: r}
		taken := 0
		err := in.each(1, func(f *frame) error { taken += len(f.payload); return nil })
		if frame := (*FrameError)(nil); err != nil && !errors.As(err, &frame) {
			t.Fatalf("got %v, want a FrameError", err)
		}
		if taken > int(head) {
			t.Fatalf("got %d bytes of %d", taken, head)
		}
	})
}

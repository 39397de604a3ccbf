package shm

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tpsh/comm/wire"
)

// long is how long nobody sleeps here whom somebody wakes.
const long = time.Minute

// A reader that looks only where arrivals tell it to, and sleeps when there are none, gets what
// many write: a record whose bit is lost, or whose writer wakes too early, is a sleep of a minute.
func TestArrivalsLoseNothing(t *testing.T) {
	const size, records = 130, 300
	s, err := CreateSegment(size)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var writers sync.WaitGroup
	for from := 1; from < size; from++ {
		writers.Go(func() {
			out := NewRingWriter(s, from, 0, func() {})
			for i := range records {
				out.Send(wire.Frame{Type: wire.FrameData, Tag: i}, nil, make([]byte, from))
			}
		})
	}
	readers, next := make([]RingReader, size), make([]int, size)
	for from := range readers {
		readers[from] = NewRingReader(s, from, 0, from, &wire.BufferPool{})
	}
	futex, arrivals, begun := s.Futex(0), s.Arrivals(0), time.Now()
	for got := 0; got < (size-1)*records; {
		arrivals.Take(func(index int) {
			err := readers[index].Each(0, func(f *wire.Frame) error {
				if f.Tag != next[index] || len(f.Payload) != index {
					t.Errorf("got record %d of %d bytes from %d, want %d of %d", f.Tag, len(f.Payload), index, next[index], index)
				}
				next[index]++
				got++
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		})
		if ticket := futex.BeginWait(); got < (size-1)*records && !arrivals.Any() {
			futex.Wait(ticket, long)
		}
		futex.CancelWait()
	}
	writers.Wait()
	if d := time.Since(begun); d > long {
		t.Errorf("took %v: a wake-up was lost", d)
	}
}

// Who dozes is not disturbed by what others wait for, and woken by whoever rouses it, though that
// comes between its looks.
func TestDozeIsRoused(t *testing.T) {
	s, err := CreateSegment(2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	futex := s.Futex(0)
	futex.BeginWait()
	rung := futex.Bell.Load()
	futex.Wake()
	futex.WakeAll()
	if now := futex.Bell.Load(); now != rung {
		t.Errorf("who dozes was woken %d times by what others wait for", now-rung)
	}
	begun := time.Now()
	futex.Rouse()
	futex.Doze(rung, long) // it was roused before it slept

	var work, done atomic.Int32
	var dozer sync.WaitGroup
	dozer.Go(func() {
		for done.Load() < 10000 {
			rung := futex.Bell.Load()
			if n := work.Load(); n > done.Load() {
				done.Store(n)
				continue
			}
			futex.Doze(rung, long)
		}
	})
	for n := range int32(10000) {
		work.Store(n + 1)
		futex.Rouse()
		for n%3 == 0 && done.Load() <= n && time.Since(begun) < long {
			time.Sleep(time.Microsecond)
		}
	}
	dozer.Wait()
	if d := time.Since(begun); d > long {
		t.Errorf("took %v: a call was lost", d)
	}
}

// Where many share memory, a writer without room sleeps until there is some, also one that comes after
// its look.
func TestStarvedWriterIsWoken(t *testing.T) {
	const records = 2000
	s, err := CreateSegment(40)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out := NewRingWriter(s, 1, 0, func() {})
	out.looks, out.nap = 0, long
	begun := time.Now()
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range records {
			out.Send(wire.Frame{Type: wire.FrameData, Tag: i}, nil, make([]byte, 100+17*i%3000))
		}
	})
	in, got := NewRingReader(s, 1, 0, 1, &wire.BufferPool{}), 0
	futex := s.Futex(0)
	for got < records {
		rung := futex.Bell.Load()
		if err := in.Each(0, func(*wire.Frame) error { got++; return nil }); err != nil {
			t.Fatal(err)
		}
		if got < records {
			futex.Doze(rung, time.Millisecond) // the last are too few to be starved of
		}
	}
	writer.Wait()
	if d := time.Since(begun); d > long {
		t.Errorf("took %v: a wake-up was lost", d)
	}
}

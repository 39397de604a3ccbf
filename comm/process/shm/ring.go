package shm

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"tpsh/comm/wire"
	"tpsh/internal/allowance"
)

// A ring carries records from one process to another through shared memory. A
// record is a frame without magic, version, source and checksum:
//
//	offset  bytes  field
//	 0      4      length of the payload in this record
//	 4      1      type, or recordSkip
//	 5      1      1 if the message goes on in the next record, else 0
//	 6      2      0
//	 8      4      generation
//	12      4      number of the record in the ring, modulo 1<<32
//	16      4      step
//	20      4      0
//	24      8      group
//	32      8      call
//	40      8      tag
//	48      8      length of the payload of all the message that is still to come
//	56      8      0
//	64             payload, then nothing up to a multiple of 64 bytes
//
// A record does not go round the end of the ring: before one that would, a
// record that is to be skipped fills the ring up.
type ring struct {
	head    *atomic.Uint64 // bytes ever written, by the writer
	tail    *atomic.Uint64 // bytes ever read, by the reader
	starved *atomic.Uint32 // 1 while the writer sleeps for want of room
	data    []byte
}

const (
	recordBytes = 64 // of the header of a record, of which records are multiples
	recordSkip  = 255
)

// maxRecord returns the longest payload that a record of the ring may have.
func (r *ring) maxRecord() int { return len(r.data)/8 - recordBytes }

// recordLen returns the bytes that a record takes.
func recordLen(payload int) int {
	return recordBytes + (payload+recordBytes-1)/recordBytes*recordBytes
}

// A RingWriter is a sender that writes to a ring.
type RingWriter struct {
	ring
	futex    Futex         // of the reader
	arrivals Arrivals      // of the reader
	index    int           // of the writer among them
	looks    int           // how often it looks for room before it sleeps
	nap      time.Duration // how long it sleeps then, at most
	pump     func()        // takes in records while there is no room
	gone     atomic.Bool   // whether there is no reader any more

	mu     sync.Mutex
	next   uint64 // as head
	seen   uint64 // tail as it was seen last
	number uint32 // of the next record
}

// NewRingWriter returns the writer from the rank at one index of a segment to another,
// which calls pump while there is no room.
func NewRingWriter(s *Segment, from, to int, pump func()) *RingWriter {
	o := &RingWriter{
		ring: s.ring(from, to), futex: s.Futex(to), arrivals: s.Arrivals(to), index: from,
		looks: 100, nap: time.Millisecond, pump: pump,
	}
	if share := Share(s.size); share >= Crowd { // the reader needs the core that a look takes
		o.looks, o.nap = 0, time.Duration(share)*o.nap
	}
	return o
}

// Share returns how many of the ranks of a segment share a core, at least 1.
func Share(size int) int { return max(1, size/allowance.Processors()) }

// Crowd is from how many ranks that share a core on nobody looks again and again for what is to
// come, or lets others run in between: with hundreds of ranks that took most of the cores.
const Crowd = 16

func (o *RingWriter) Send(f wire.Frame, head, body []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	payload := wire.Parts{Head: head, Body: body}
	for first := true; first || payload.Len() > 0; first = false {
		n := min(payload.Len(), o.maxRecord())
		if !o.reserve(recordLen(n)) {
			return
		}
		to := o.data[o.next%uint64(len(o.data)):]
		o.header(to, &f, n, payload.Len())
		for at := recordBytes; at < recordBytes+n; {
			at += copy(to[at:], payload.Next(recordBytes+n-at))
		}
		o.publish(recordLen(n))
	}
}

// header writes the header of a record of n bytes, of a message of which rest
// bytes are not written.
func (o *RingWriter) header(b []byte, f *wire.Frame, n, rest int) {
	b = b[:recordBytes]
	binary.LittleEndian.PutUint32(b, uint32(n))
	binary.LittleEndian.PutUint32(b[4:], uint32(f.Type)|uint32(wire.MoreByte(rest > n))<<8)
	binary.LittleEndian.PutUint32(b[8:], f.Generation)
	binary.LittleEndian.PutUint32(b[12:], o.number)
	binary.LittleEndian.PutUint64(b[16:], uint64(uint32(f.Step)))
	binary.LittleEndian.PutUint64(b[24:], f.Group)
	binary.LittleEndian.PutUint64(b[32:], f.Call)
	binary.LittleEndian.PutUint64(b[40:], uint64(f.Tag))
	binary.LittleEndian.PutUint64(b[48:], uint64(rest))
	binary.LittleEndian.PutUint64(b[56:], 0)
	o.number++
}

// publish makes n bytes visible, and wakes the reader.
func (o *RingWriter) publish(n int) {
	o.next += uint64(n)
	o.head.Store(o.next)
	o.arrivals.Add(o.index)
	o.futex.Wake()
}

// reserve waits until n bytes fit in one piece. It reports false if there is no
// reader any more.
func (o *RingWriter) reserve(n int) bool {
	at := int(o.next % uint64(len(o.data)))
	if left := len(o.data) - at; n > left {
		if !o.awaitSpace(left) {
			return false
		}
		skip := wire.Frame{Type: recordSkip}
		o.header(o.data[at:], &skip, left-recordBytes, left-recordBytes)
		o.publish(left)
	}
	return o.awaitSpace(n)
}

// awaitSpace waits until n bytes are free.
func (o *RingWriter) awaitSpace(n int) bool {
	for spins := 0; o.next+uint64(n)-o.seen > uint64(len(o.data)); spins++ {
		o.seen = o.tail.Load()
		if o.next+uint64(n)-o.seen <= uint64(len(o.data)) {
			break
		}
		if o.gone.Load() {
			return false
		}
		o.pump()
		if spins > o.looks {
			o.starve()
		}
	}
	return !o.gone.Load()
}

// starve sleeps for want of room, for a moment. The reader may be busy with
// something else: its listener is woken. Whoever reads makes room first and then looks whether
// the writer is starved, which says that it is and then looks for room.
func (o *RingWriter) starve() {
	o.starved.Store(1)
	if o.tail.Load() == o.seen && !o.gone.Load() {
		o.futex.Rouse()
		o.futex.WakeAll()
		futexWait((*uint32)(wordOf(o.starved)), 1, o.nap)
	}
	o.starved.Store(0)
}

func (o *RingWriter) Stop() {
	o.gone.Store(true)
	o.starved.Store(0)
	futexWake((*uint32)(wordOf(o.starved)))
}

// A RingReader reads a ring. It is for one goroutine at a time.
type RingReader struct {
	ring
	Source  int // the rank that writes
	pool    *wire.BufferPool
	next    uint64
	number  uint32      // that the next record must have
	came    wire.Frame  // the frame that each hands out
	partial *wire.Frame // a message of which more is to come
	Broken  bool        // whether something came that was no record
	Later   bool        // whether what came is left there, since it is of a generation to come
}

// NewRingReader returns the reader of the ring that the rank at one index of a segment writes to
// another; source is that rank.
func NewRingReader(s *Segment, from, to, source int, pool *wire.BufferPool) RingReader {
	return RingReader{ring: s.ring(from, to), Source: source, pool: pool}
}

// Waiting reports whether something has come. It may be called on any
// goroutine.
func (in *RingReader) Waiting() bool { return in.head.Load() != in.tail.Load() }

// Each calls take with the messages that have come, up to the first of a
// generation above now; those of one below are dropped. The payload of a
// message is transient where it came in one record.
func (in *RingReader) Each(now uint32, take func(f *wire.Frame) error) error {
	defer in.release()
	head := in.head.Load()
	f := &in.came
	in.Later = false
	for in.next != head {
		n, err := in.record(f, head)
		if err != nil {
			return err
		}
		if f.Type != recordSkip {
			if f.Generation > now {
				in.Later = true
				return nil
			}
			if err := in.message(f, now, take); err != nil {
				return err
			}
		}
		in.next += uint64(n)
		in.number++
		if n >= promptBytes {
			in.release()
		}
	}
	return nil
}

// promptBytes is the length of a record from which the writer is told at once
// that it was read, since it may wait for the room.
const promptBytes = 4 << 10

// message takes in a record that is not skipped.
func (in *RingReader) message(f *wire.Frame, now uint32, take func(f *wire.Frame) error) error {
	whole := f
	if in.partial != nil || f.More {
		var err error
		if whole, err = in.gather(f); err != nil || whole == nil {
			return err
		}
	}
	if whole.Generation < now {
		return nil
	}
	return take(whole)
}

// release gives the writer the room of records that were read.
func (in *RingReader) release() {
	in.tail.Store(in.next)
	if in.starved.Load() == 1 {
		in.starved.Store(0)
		futexWake((*uint32)(wordOf(in.starved)))
	}
}

// record decodes the record at in.next, and returns the bytes that it takes.
func (in *RingReader) record(f *wire.Frame, head uint64) (int, error) {
	at := int(in.next % uint64(len(in.data)))
	b := in.data[at:]
	length := int(binary.LittleEndian.Uint32(b))
	n := recordLen(length)
	if length > len(in.data) || n > len(b) || uint64(n) > head-in.next {
		return 0, &wire.FrameError{What: "length", Got: fmt.Sprint(length), Want: fmt.Sprintf("at most %d", head-in.next)}
	}
	if number := binary.LittleEndian.Uint32(b[12:]); number != in.number {
		return 0, &wire.FrameError{What: "number", Got: fmt.Sprint(number), Want: fmt.Sprint(in.number)}
	}
	*f = wire.Frame{
		Type:       wire.FrameType(b[4]),
		More:       b[5] == 1,
		Source:     in.Source,
		Generation: binary.LittleEndian.Uint32(b[8:]),
		Step:       int(binary.LittleEndian.Uint32(b[16:])),
		Group:      binary.LittleEndian.Uint64(b[24:]),
		Call:       binary.LittleEndian.Uint64(b[32:]),
		Tag:        int(binary.LittleEndian.Uint64(b[40:])),
		Rest:       int(binary.LittleEndian.Uint64(b[48:])),
		Payload:    b[recordBytes:][:length:length],
		Transient:  true,
	}
	return n, nil
}

// gather puts messages together that come in several records. It returns nil
// while more is to come.
func (in *RingReader) gather(f *wire.Frame) (*wire.Frame, error) {
	if in.partial == nil {
		total := f.Rest
		if total < 0 || total > wire.MaxMessage {
			return nil, &wire.FrameError{What: "length", Got: fmt.Sprint(total), Want: fmt.Sprintf("at most %d", wire.MaxMessage)}
		}
		first := *f
		first.Transient, first.Payload = false, in.pool.Get(total)
		in.partial = &first
	}
	whole := in.partial
	if !wire.Continues(f, whole) || len(whole.Payload)+len(f.Payload) > cap(whole.Payload) {
		return nil, &wire.FrameError{What: "alien", Got: "a record of another message", Want: "the rest of one"}
	}
	whole.Payload = append(whole.Payload, f.Payload...)
	if f.More {
		return nil, nil
	}
	in.partial, whole.More = nil, false
	return whole, nil
}

package shm

import (
	"encoding/binary"
	"fmt"
	"os"
	goruntime "runtime"
	"sync/atomic"
	"unsafe"
)

// A Segment is memory that the processes of one host share: rings from every
// rank to every other, a futex for each rank, and staging buffers for large data. It
// exists as long as a process has it, and nowhere in the file system.
//
// Its parts, each aligned to a page:
//
//	the header: magic, version, ranks, bytes of a ring and of all, 8 bytes each
//	for each rank its futex, rung and sleepers, a cache line each, and beside
//	rung all that others need to read its memory: see exposed_span.go
//	for each of many ranks its arrivals: see arrivals.go
//	for each rank, and each other that writes to it, the control words of its ring, and
//	whether the rank can read the other's memory: a rank looks at all of its own at once
//	for each rank, and each other that writes to it, the bytes of its ring
//	for each rank its staging buffers: see staging_buffer.go
type Segment struct {
	file *os.File
	mem  []byte
	size int
	plan segmentPlan
}

const (
	segmentMagic   = "tpsh shm"
	segmentVersion = 3
	headerWords    = 4
	lineBytes      = 64 // of a cache line
	pageBytes      = 4096
	maxLocal       = 1024 // ranks that one segment may have
)

// A segmentPlan says where the parts of a segment are.
type segmentPlan struct {
	ringBytes                                         int
	futexes, arrivals, controls, rings, staging, size int // offsets
}

// planSegment returns the plan for size ranks.
func planSegment(size int) segmentPlan {
	p := segmentPlan{ringBytes: ringBytesFor(size), futexes: pageBytes}
	p.arrivals = p.futexes + pages(size*futexBytes)
	p.controls = p.arrivals + pages(size*arrivalBytes(size))
	p.rings = p.controls + pages(size*size*controlBytes)
	p.staging = p.rings + size*size*p.ringBytes
	p.size = p.staging + size*allStagingBytes(size)
	return p
}

// ringBytesFor returns the length of a ring among size ranks: many ranks have
// many rings.
func ringBytesFor(size int) int {
	switch {
	case size <= 8:
		return 256 << 10
	case size <= 32:
		return 64 << 10
	}
	return 16 << 10
}

// pages rounds n up to whole pages.
func pages(n int) int { return (n + pageBytes - 1) / pageBytes * pageBytes }

// CreateSegment makes memory that size ranks of this host share.
func CreateSegment(size int) (*Segment, error) {
	if size < 1 || size > maxLocal {
		return nil, fmt.Errorf("shared memory: got %d ranks, want 1..%d", size, maxLocal)
	}
	plan := planSegment(size)
	f, err := createMemory(plan.size)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	mem, err := mapMemory(f)
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	copy(mem, segmentMagic)
	for i, x := range plan.header(size) {
		binary.LittleEndian.PutUint64(mem[8*(i+1):], x)
	}
	s := newSegment(f, mem)
	return s, s.check()
}

// newSegment returns the segment of a mapped file. The memory is mapped for as
// long as the Segment is reachable, which whatever uses it keeps so.
func newSegment(f *os.File, mem []byte) *Segment {
	s := &Segment{file: f, mem: mem}
	goruntime.AddCleanup(s, func(mem []byte) { unmapMemory(mem) }, mem)
	return s
}

// header returns the numbers in the header of a segment.
func (p segmentPlan) header(size int) [headerWords]uint64 {
	return [...]uint64{segmentVersion, uint64(size), uint64(p.ringBytes), uint64(p.size)}
}

// OpenSegment returns the segment of which another process has passed the
// file, and takes the file over.
func OpenSegment(f *os.File) (*Segment, error) {
	mem, err := mapMemory(f)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	s := newSegment(f, mem)
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	return s, nil
}

// check reads the header, and checks that all of the segment is there.
func (s *Segment) check() error {
	if len(s.mem) < pageBytes || string(s.mem[:len(segmentMagic)]) != segmentMagic {
		return fmt.Errorf("got other memory, want %q", segmentMagic)
	}
	var got [headerWords]uint64
	for i := range got {
		got[i] = binary.LittleEndian.Uint64(s.mem[8*(i+1):])
	}
	if got[0] != segmentVersion {
		return fmt.Errorf("got version %d, want %d", got[0], segmentVersion)
	}
	if got[1] < 1 || got[1] > maxLocal {
		return fmt.Errorf("got %d ranks, want 1..%d", got[1], maxLocal)
	}
	s.size = int(got[1])
	s.plan = planSegment(s.size)
	if want := s.plan.header(s.size); got != want || len(s.mem) != s.plan.size {
		return fmt.Errorf("got %d and %d bytes, want %d and %d", got, len(s.mem), want, s.plan.size)
	}
	return nil
}

// File returns the file to pass to a process that is to share the memory.
func (s *Segment) File() *os.File { return s.file }

// Size returns the number of ranks that share the memory.
func (s *Segment) Size() int { return s.size }

// Close closes the file. The memory stays with the processes that still use it.
func (s *Segment) Close() error { return s.file.Close() }

const (
	futexBytes   = 2 * lineBytes
	controlBytes = 3 * lineBytes
)

// Where the words of a rank lie among the futexBytes that are its.
const (
	sequenceAt = 0
	ProcessAt  = 8  // the process that the rank is, 0 until it is known
	probeAt    = 16 // an address in its memory where segmentMagic stands
	exposesAt  = 24 // the generation in which it exposes: see ExposureGeneration
	waitersAt  = lineBytes
	bellAt     = lineBytes + 8
)

// RankWord returns one of the words of the rank at an index.
func (s *Segment) RankWord(index, at int) *atomic.Uint64 {
	return s.word64(s.plan.futexes + index*futexBytes + at)
}

// Futex returns the futex of the rank at an index, numbered from 0.
func (s *Segment) Futex(index int) Futex {
	at := s.plan.futexes + index*futexBytes
	return Futex{s.word32(at + sequenceAt), s.word32(at + waitersAt), s.word32(at + bellAt)}
}

// pair returns the number of the ring from one place to another.
func (s *Segment) pair(from, to int) int { return to*s.size + from }

// ring returns the ring from one place to another.
func (s *Segment) ring(from, to int) ring {
	pair := s.pair(from, to)
	at, data := s.plan.controls+pair*controlBytes, s.plan.rings+pair*s.plan.ringBytes
	return ring{
		head:    s.word64(at),
		tail:    s.word64(at + lineBytes),
		starved: s.word32(at + 2*lineBytes),
		data:    s.mem[data:][:s.plan.ringBytes:s.plan.ringBytes],
	}
}

// word32 returns the word at an offset, which is a multiple of 4.
func (s *Segment) word32(at int) *atomic.Uint32 {
	return (*atomic.Uint32)(unsafe.Pointer(&s.mem[at]))
}

// word64 returns the word at an offset, which is a multiple of 8.
func (s *Segment) word64(at int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&s.mem[at]))
}

// wordOf returns where w is.
func wordOf(w *atomic.Uint32) unsafe.Pointer { return unsafe.Pointer(w) }

package process

import (
	"io"
	"math"
	"slices"
	"sync/atomic"
	"unsafe"

	"tpsh/comm"
	"tpsh/comm/schedule"
)

// withdrawn is the count of a slot whose block is not exposed any more.
const withdrawn = 1<<31 - 1

const (
	// longPiece is how much is copied at a time where it does not. From there on
	// copy writes past the caches.
	longPiece = 1 << 20
)

// introduce lets the others find out whether they can read the memory of the
// rank at an index of s, which is this process.
func (s *Segment) introduce(index int) {
	s.rankWord(index, probeAt).Store(uint64(addressOf(s.mem)))
	s.rankWord(index, processAt).Store(uint64(processID()))
}

// process returns the process of the rank at an index, 0 if it is not known.
func (s *Segment) process(index int) int {
	return int(s.rankWord(index, processAt).Load())
}

// What a rank knows of whether it can read another's memory.
const (
	untried = iota
	readable
	unreadable
)

// reads is where the rank at the index to says whether it can read the memory of
// the one at the index from.
func (s *Segment) reads(from, to int) *atomic.Uint32 {
	pair := from*s.size + to
	return s.word32(s.plan.controls + pair*controlBytes + 2*lineBytes + 8)
}

// try finds out for an index whether the memory of the others can be read, as far
// as they have introduced themselves, and reports whether all have.
func (s *Segment) try(index int) (all bool) {
	all = true
	for other := range s.size {
		word := s.reads(other, index)
		if other == index || word.Load() != untried {
			continue
		}
		process := s.process(other)
		if process == 0 {
			all = false
			continue
		}
		var probe [len(segmentMagic)]byte
		address := uintptr(s.rankWord(other, probeAt).Load())
		if readMemory(process, probe[:], address) == nil && string(probe[:]) == segmentMagic {
			word.Store(readable)
		} else {
			word.Store(unreadable)
		}
	}
	return all
}

// An exposedSpan is a span in the memory of the rank that exposes it: rows of width
// bytes that start pitch bytes apart, of which the first begins at address. It
// begins with byte skew of that row.
type exposedSpan struct {
	address            uintptr
	skew, width, pitch int
}

// exposedWords are the fields of a exposedSpan as they lie in shared memory.
type exposedWords [4]uint64

func (s exposedSpan) words() exposedWords {
	return exposedWords{uint64(s.address), uint64(s.skew), uint64(s.width), uint64(s.pitch)}
}

func (w exposedWords) span() exposedSpan {
	return exposedSpan{uintptr(w[0]), int(w[1]), int(w[2]), int(w[3])}
}

// valid reports whether s, which another process has written, may be a span of so
// many bytes. Whether there is such memory shows when it is read.
func (s exposedSpan) valid(length int) bool {
	return s.width > 0 && s.skew >= 0 && s.skew < s.width && s.skew <= math.MaxInt-length
}

// exposedSpanOf returns s, which is not empty, for others to read.
func exposedSpanOf(s schedule.Span) exposedSpan {
	if s.Block.Contiguous() {
		return exposedSpan{address: addressOf(s.Run(0)), width: s.Len(), pitch: s.Len()}
	}
	row, skew := s.Lo/s.Block.Width, s.Lo%s.Block.Width
	return exposedSpan{addressOf(s.Block.Data[row*s.Block.Pitch:]), skew, s.Block.Width, s.Block.Pitch}
}

func addressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// A localRun and a remoteRun are some bytes of this process's memory and of
// another's, as the system has them in its calls.
type (
	localRun struct {
		first *byte
		bytes int
	}
	remoteRun struct {
		address uintptr
		bytes   int
	}
)

func localRunOf(b []byte) localRun { return localRun{unsafe.SliceData(b), len(b)} }

// appendRuns appends the runs of the n bytes at byte at of s, mostRuns of them at
// most, and returns how many bytes they have.
func (s exposedSpan) appendRuns(runs []remoteRun, at, n int) ([]remoteRun, int) {
	bytes := 0
	for bytes < n && len(runs) < mostRuns {
		row, column := (s.skew+at+bytes)/s.width, (s.skew+at+bytes)%s.width
		run := remoteRun{s.address + uintptr(row*s.pitch+column), min(n-bytes, s.width-column)}
		runs = append(runs, run)
		bytes += run.bytes
	}
	return runs, bytes
}

// appendLocalRuns appends the runs of s, mostRuns of them at most, and returns how many
// bytes they have.
func appendLocalRuns(runs []localRun, s schedule.Span) ([]localRun, int) {
	bytes := 0
	for bytes < s.Len() && len(runs) < mostRuns {
		run := s.Run(bytes)
		runs = append(runs, localRunOf(run))
		bytes += len(run)
	}
	return runs, bytes
}

// An exposing is a block that others read from where it is.
type exposing struct {
	*stagingWriter
	returned bool // whether all have read it
}

// newExposing exposes a part of the member's to the readers of a slot.
func newExposing(o *stagingWriter, src schedule.Span) *exposing {
	o.exposed = exposedSpanOf(src)
	return &exposing{stagingWriter: o}
}

func (t *exposing) IsDone() bool { return t.returned }

func (t *exposing) CanStep() bool {
	for _, r := range t.readers {
		if countIn(r.taken.Load(), t.own.use) == 0 {
			return false
		}
	}
	return true
}

func (t *exposing) Step() { t.returned = true }

// withdraw ends the lending before all have read.
func (t *exposing) withdraw() {
	t.own.written(t.slot).Store(counted(t.own.use, withdrawn))
}

// A crossReading reads what another exposes.
type crossReading struct {
	stagingReader
	process int
	dst     schedule.Span
	drop    bool
	piece   int         // bytes that are read at a time, at most
	at      int         // bytes that were read
	lose    func(error) // is told that the other's memory cannot be read
	failed  bool
	read    bool // whether all was read, or dropped

	to     []localRun
	from   []remoteRun
	packed []byte // what goes to narrow rows
}

func (t *crossReading) IsDone() bool { return t.read }

func (t *crossReading) CanStep() bool { return !t.failed }

func (t *crossReading) Step() {
	n, err := t.length, error(nil)
	if !t.drop {
		n, err = t.pull(min(t.piece, t.length-t.at))
	}
	if t.withdrawn() { // and its memory may be other memory by now, or none
		t.failed = true
		return
	}
	if err != nil {
		t.failed = true
		t.lose(err)
		return
	}
	if t.at += n; t.at >= t.length {
		t.read = true
		t.release()
	}
}

// withdrawn reports whether the block is not exposed any more.
func (t *crossReading) withdrawn() bool {
	return t.past() || countIn(t.buffer.written(t.slot).Load(), t.use) == withdrawn
}

// narrowRow is the width of rows that are not worth reading each by itself.
const narrowRow = 512

// pull reads at most n bytes, and returns how many.
func (t *crossReading) pull(n int) (int, error) {
	dst := t.dst.Cut(t.at, t.at+n)
	if dst.Block.Contiguous() || dst.Block.Width >= narrowRow {
		return t.pullTo(dst)
	}
	t.packed = slices.Grow(t.packed[:0], n)[:n]
	n, err := t.pullTo(comm.Whole(t.packed).All())
	schedule.CopySpan(dst.Cut(0, n), comm.Whole(t.packed[:n]).All())
	return n, err
}

// pullTo reads what comes next to dst, as far as the system does so in one call.
func (t *crossReading) pullTo(dst schedule.Span) (int, error) {
	var to, from int
	t.to, to = appendLocalRuns(t.to[:0], dst)
	t.from, from = t.exposed.appendRuns(t.from[:0], t.at, dst.Len())
	n, err := readRuns(t.process, t.to, t.from)
	if err == nil && n < min(to, from) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// readMemory reads from an address of another process's memory, if the system
// lets this one.
func readMemory(process int, b []byte, address uintptr) error {
	for len(b) > 0 {
		n := min(len(b), longPiece)
		got, err := readRuns(process, []localRun{localRunOf(b[:n])}, []remoteRun{{address, n}})
		switch {
		case err != nil:
			return err
		case got < n:
			return io.ErrUnexpectedEOF
		}
		b, address = b[n:], address+uintptr(n)
	}
	return nil
}

// exposesIn is where the rank at an index says in which generation it exposes: it is
// that of exposureGeneration, or 0 for none.
func (s *Segment) exposesIn(index int) *atomic.Uint64 { return s.rankWord(index, exposesAt) }

func exposureGeneration(generation uint32) uint64 { return uint64(generation) + 1 }

package shm

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

// LongPiece is how much is copied at a time where that finds no room in a cache. From there on
// copy writes past the caches.
const LongPiece = 1 << 20

// Introduce lets the others find out whether they can read the memory of the
// rank at an index of s, which is this process.
func (s *Segment) Introduce(index int) {
	s.RankWord(index, probeAt).Store(uint64(AddressOf(s.mem)))
	s.RankWord(index, ProcessAt).Store(uint64(processID()))
}

// Process returns the process of the rank at an index, 0 if it is not known.
func (s *Segment) Process(index int) int {
	return int(s.RankWord(index, ProcessAt).Load())
}

// Whether a rank can read another's memory, as far as it knows.
const (
	untried = iota
	Readable
	Unreadable
)

// Reads is where the rank at the index to says whether it can read the memory of
// the one at the index from.
func (s *Segment) Reads(from, to int) *atomic.Uint32 {
	return s.word32(s.plan.controls + s.pair(from, to)*controlBytes + 2*lineBytes + 8)
}

// Try finds out for an index whether the memory of others can be read, as far
// as they have introduced themselves, and reports whether all have.
func (s *Segment) Try(index int, others []int) (all bool) {
	all = true
	for _, other := range others {
		word := s.Reads(other, index)
		if other == index || word.Load() != untried {
			continue
		}
		process := s.Process(other)
		if process == 0 {
			all = false
			continue
		}
		var probe [len(segmentMagic)]byte
		address := uintptr(s.RankWord(other, probeAt).Load())
		if ReadMemory(process, probe[:], address) == nil && string(probe[:]) == segmentMagic {
			word.Store(Readable)
		} else {
			word.Store(Unreadable)
		}
	}
	return all
}

// An ExposedSpan is a span in the memory of the rank that exposes it: rows of width
// bytes that start pitch bytes apart, of which the first begins at address. It
// begins with byte skew of that row.
type ExposedSpan struct {
	Address            uintptr
	Skew, Width, Pitch int
}

// exposedWords are the fields of an ExposedSpan as they lie in shared memory.
type exposedWords [4]uint64

func (s ExposedSpan) words() exposedWords {
	return exposedWords{uint64(s.Address), uint64(s.Skew), uint64(s.Width), uint64(s.Pitch)}
}

func (w exposedWords) span() ExposedSpan {
	return ExposedSpan{uintptr(w[0]), int(w[1]), int(w[2]), int(w[3])}
}

// Valid reports whether s, which another process has written, may be a span of so
// many bytes. Whether there is such memory shows when it is read.
func (s ExposedSpan) Valid(length int) bool {
	return s.Width > 0 && s.Skew >= 0 && s.Skew < s.Width && s.Skew <= math.MaxInt-length
}

// exposedSpanOf returns s, which is not empty, for others to read.
func exposedSpanOf(s schedule.Span) ExposedSpan {
	if s.Block.Contiguous() {
		return ExposedSpan{Address: AddressOf(s.Run(0)), Width: s.Len(), Pitch: s.Len()}
	}
	row, skew := s.Lo/s.Block.Width, s.Lo%s.Block.Width
	return ExposedSpan{AddressOf(s.Block.Data[row*s.Block.Pitch:]), skew, s.Block.Width, s.Block.Pitch}
}

// AddressOf returns the address of the first byte of b.
func AddressOf(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

type (
	// A localRun is some bytes of this process's memory, as the system has them in its calls.
	localRun struct {
		first *byte
		bytes int
	}
	// A remoteRun is some bytes of another's.
	remoteRun struct {
		address uintptr
		bytes   int
	}
)

func localRunOf(b []byte) localRun { return localRun{unsafe.SliceData(b), len(b)} }

// appendRuns appends the runs of the n bytes at byte at of s, mostRuns of them at
// most, and returns how many bytes they have.
func (s ExposedSpan) appendRuns(runs []remoteRun, at, n int) ([]remoteRun, int) {
	bytes := 0
	for bytes < n && len(runs) < mostRuns {
		row, column := (s.Skew+at+bytes)/s.Width, (s.Skew+at+bytes)%s.Width
		run := remoteRun{s.Address + uintptr(row*s.Pitch+column), min(n-bytes, s.Width-column)}
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

// An Exposing is a block that others read from where it is.
type Exposing struct {
	*StagingWriter
	Returned bool // whether all have read it
}

// NewExposing exposes a part of the member's to the readers of a slot.
func NewExposing(o *StagingWriter, src schedule.Span) *Exposing {
	o.exposed = exposedSpanOf(src)
	return &Exposing{StagingWriter: o}
}

func (t *Exposing) IsDone() bool { return t.Returned }

func (t *Exposing) CanStep() bool {
	for _, r := range t.readers {
		if countIn(r.taken.Load(), t.Own.Use) == 0 {
			return false
		}
	}
	return true
}

func (t *Exposing) Step() { t.Returned = true }

// Withdraw ends the lending before all have read.
func (t *Exposing) Withdraw() {
	t.Own.written(t.Slot).Store(counted(t.Own.Use, withdrawn))
}

// A CrossReading reads a block that another rank exposes.
type CrossReading struct {
	StagingReader
	Process int
	Dst     schedule.Span
	Drop    bool
	Piece   int         // bytes that are read at a time, at most
	at      int         // bytes that were read
	Lose    func(error) // is told that the other's memory cannot be read
	failed  bool
	read    bool // whether all was read, or dropped

	to     []localRun
	from   []remoteRun
	packed []byte // the bytes for narrow rows
}

func (t *CrossReading) IsDone() bool { return t.read }

func (t *CrossReading) CanStep() bool { return !t.failed }

func (t *CrossReading) Step() {
	n, err := t.Length, error(nil)
	if !t.Drop {
		n, err = t.pull(min(t.Piece, t.Length-t.at))
	}
	if t.withdrawn() { // and its memory may be other memory by now, or none
		t.failed = true
		return
	}
	if err != nil {
		t.failed = true
		t.Lose(err)
		return
	}
	if t.at += n; t.at >= t.Length {
		t.read = true
		t.release()
	}
}

// withdrawn reports whether the block is not exposed any more.
func (t *CrossReading) withdrawn() bool {
	return t.past() || countIn(t.Buffer.written(t.Slot).Load(), t.Use) == withdrawn
}

// narrowRow is the width of rows that are not worth reading each by itself.
const narrowRow = 512

// pull reads at most n bytes, and returns how many.
func (t *CrossReading) pull(n int) (int, error) {
	dst := t.Dst.Cut(t.at, t.at+n)
	if dst.Block.Contiguous() || dst.Block.Width >= narrowRow {
		return t.pullTo(dst)
	}
	t.packed = slices.Grow(t.packed[:0], n)[:n]
	n, err := t.pullTo(comm.Whole(t.packed).All())
	schedule.CopySpan(dst.Cut(0, n), comm.Whole(t.packed[:n]).All())
	return n, err
}

// pullTo reads the next bytes to dst, as far as the system does so in one call.
func (t *CrossReading) pullTo(dst schedule.Span) (int, error) {
	var to, from int
	t.to, to = appendLocalRuns(t.to[:0], dst)
	t.from, from = t.Exposed.appendRuns(t.from[:0], t.at, dst.Len())
	n, err := readRuns(t.Process, t.to, t.from)
	if err == nil && n < min(to, from) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// ReadMemory reads from an address of another process's memory, if the system
// lets this one.
func ReadMemory(process int, b []byte, address uintptr) error {
	for len(b) > 0 {
		n := min(len(b), LongPiece)
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

// ExposesIn is where the rank at an index says in which generation it exposes: it is
// that of ExposureGeneration, or 0 for none.
func (s *Segment) ExposesIn(index int) *atomic.Uint64 { return s.RankWord(index, exposesAt) }

// ExposureGeneration returns the value of ExposesIn for a rank that exposes in a generation.
func ExposureGeneration(generation uint32) uint64 { return uint64(generation) + 1 }

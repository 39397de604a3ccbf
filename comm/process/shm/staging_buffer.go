package shm

import (
	"sync"
	"sync/atomic"
)

// A StagingBuffer is shared memory through which one rank passes large data to the other
// members of a call, without copying them into records and out again. A staging buffer
// belongs to one call at a time, from before its contract is sent, so nobody
// waits for one: without a staging buffer, data go as records.
//
// It has a slot for each other member of the call, by group rank, and in the
// place of the rank's own one for data that go to several. A slot holds the
// latest pieces of its data, and two counts, of pieces that were put in and of
// pieces that each reader has taken. A count stands in the lower half of a
// word, and the number of the staging buffer's use in the upper half: a count left of an
// earlier use counts for nothing.
//
// The words of a staging buffer for n ranks, a cache line each:
//
//	n times, by group rank, the pieces put into a slot, the bytes that will be, and the ExposedSpan where they are
//	n times, by index, the pieces that a rank has taken from the slot that is for it
//	n times, by index, the pieces that a rank has taken from the slot for several
type StagingBuffer struct {
	segment *Segment
	words   int // offset in the segment
	data    []byte
}

// StagingEach is how many staging buffers a rank has.
const StagingEach = 4

// StagingBytes returns the bytes for data of a staging buffer among size ranks.
func StagingBytes(size int) int {
	switch {
	case size <= 8:
		return 1 << 20
	case size <= 32:
		return 512 << 10
	}
	return 256 << 10
}

// stagingWords returns the bytes of the words of a staging buffer among size ranks.
func stagingWords(size int) int { return pages(3 * size * lineBytes) }

// allStagingBytes returns the bytes of all the staging buffers of one rank among size.
func allStagingBytes(size int) int { return StagingEach * (stagingWords(size) + StagingBytes(size)) }

// StagingBuffer returns staging buffer i of the rank at an index.
func (s *Segment) StagingBuffer(index, i int) StagingBuffer {
	at := s.plan.staging + index*allStagingBytes(s.size) + i*(stagingWords(s.size)+StagingBytes(s.size))
	data := at + stagingWords(s.size)
	return StagingBuffer{s, at, s.mem[data:][:StagingBytes(s.size):StagingBytes(s.size)]}
}

func (b StagingBuffer) word(i int) *atomic.Uint64 { return b.segment.word64(b.words + i*lineBytes) }

// written returns how many pieces were put into a slot.
func (b StagingBuffer) written(slot int) *atomic.Uint64 { return b.word(slot) }

// Length returns the bytes that will be put into a slot.
func (b StagingBuffer) Length(slot int) *atomic.Uint64 {
	return b.segment.word64(b.words + slot*lineBytes + 8)
}

// SetExposed says where the bytes are that the writer of a slot exposes.
func (b StagingBuffer) SetExposed(slot int, s ExposedSpan) {
	for i, x := range s.words() {
		b.exposedWord(slot, i).Store(x)
	}
}

// exposed returns where the bytes are that the writer of a slot exposes.
func (b StagingBuffer) exposed(slot int) ExposedSpan {
	var words exposedWords
	for i := range words {
		words[i] = b.exposedWord(slot, i).Load()
	}
	return words.span()
}

func (b StagingBuffer) exposedWord(slot, i int) *atomic.Uint64 {
	return b.segment.word64(b.words + slot*lineBytes + 16 + 8*i)
}

// taken returns how many pieces the rank at an index has taken from the slot
// that is for it, or from that for several.
func (b StagingBuffer) taken(index int, several bool) *atomic.Uint64 {
	if several {
		return b.word(2*b.segment.Size() + index)
	}
	return b.word(b.segment.Size() + index)
}

// counted returns the word for a count in a use of a staging buffer.
func counted(use uint32, n int) uint64 { return uint64(use)<<32 | uint64(uint32(n)) }

// countIn returns the count of a word in a use of a staging buffer, 0 if the word is of
// another use.
func countIn(word uint64, use uint32) int {
	if uint32(word>>32) != use {
		return 0
	}
	return int(uint32(word))
}

// A slotPlan says how data go through a slot.
type slotPlan struct {
	start  int // offset in the staging buffer's data
	Piece  int // bytes of a piece
	depth  int // pieces that the slot holds
	Pieces int // of all the data, at least one
}

const (
	mostPiece  = 32 << 10
	leastPiece = 4 << 10
	mostDepth  = 8
)

// PlanSlot returns the plan of a slot of a staging buffer of so many bytes, for
// data of so many bytes among size members. Both ends come to the same. No data are one
// piece, of no bytes: until its reader has taken it the buffer is not used again, which
// would hide from a late reader that nothing was to come.
func PlanSlot(buffer, slot, size, length, align int) slotPlan {
	space := buffer / size / leastPiece * leastPiece
	piece := min(mostPiece, space/2, max(leastPiece, pages((length+3)/4)))
	piece = piece / max(align, 1) * max(align, 1)
	return slotPlan{
		start:  slot * space,
		Piece:  piece,
		depth:  min(mostDepth, space/piece),
		Pieces: max(1, (length+piece-1)/piece),
	}
}

// pieceAt returns the bytes for piece i, of n bytes.
func (p *slotPlan) pieceAt(data []byte, i, n int) []byte {
	at := p.start + i%p.depth*p.Piece
	return data[at : at+n : at+n]
}

// pieceLen returns the bytes of piece i of data of so many bytes.
func (p *slotPlan) pieceLen(i, length int) int { return min(p.Piece, length-i*p.Piece) }

// A StagingPool holds the staging buffers of one rank.
type StagingPool struct {
	mu   sync.Mutex
	each [StagingEach]OwnStagingBuffer
}

// An OwnStagingBuffer is one of the rank's own staging buffers.
type OwnStagingBuffer struct {
	StagingBuffer
	Number  int
	Use     uint32
	busy    bool
	pending []pendingRead // of the last use
}

// A pendingRead is a count that a reader has yet to come to before a staging buffer can be used again.
type pendingRead struct {
	taken *atomic.Uint64
	want  uint64
}

// Init makes all staging buffers free. index is the rank's own in the segment.
func (s *StagingPool) Init(segment *Segment, index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.each {
		b := &s.each[i]
		b.StagingBuffer, b.Number, b.busy, b.pending = segment.StagingBuffer(index, i), i, false, nil
	}
}

// Acquire returns a staging buffer that is free and that nobody reads any more, or nil if
// there is none.
func (s *StagingPool) Acquire() *OwnStagingBuffer {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.each {
		if b := &s.each[i]; !b.busy && b.settled() {
			b.busy = true
			b.Use++
			b.pending = b.pending[:0]
			return b
		}
	}
	return nil
}

// settled reports whether nobody reads data of the last use any more.
func (b *OwnStagingBuffer) settled() bool {
	for _, d := range b.pending {
		if d.taken.Load() != d.want {
			return false
		}
	}
	return true
}

// Release makes a staging buffer free.
func (s *StagingPool) Release(b *OwnStagingBuffer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.busy = false
}

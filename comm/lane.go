package comm

import (
	"sync"
	"sync/atomic"
)

// A lane is shared memory through which one rank passes large data to the other
// members of a call, without copying them into records and out again. A lane
// belongs to one call at a time, from before its contract is sent, so nobody
// waits for one: without a lane, data go as records.
//
// It has a channel for each other member of the call, by group rank, and in the
// place of the rank's own one for what goes to several. A channel holds the
// latest pieces of its data, and two counts, of pieces that were put in and of
// pieces that each reader has taken. A count stands in the lower half of a
// word, and the number of the lane's use in the upper half: what is left of an
// earlier use counts for nothing.
//
// The words of a lane for n ranks, a cache line each:
//
//	n times, by group rank, what was put into a channel, the bytes that will be, and the lentSpan where they are
//	n times, by place, what a rank has taken from the channel that is for it
//	n times, by place, what a rank has taken from the channel for several
type lane struct {
	segment *Segment
	words   int // offset in the segment
	data    []byte
}

// lanesEach is how many lanes a rank has.
const lanesEach = 4

// laneBytes returns the bytes for data of a lane among size ranks.
func laneBytes(size int) int {
	switch {
	case size <= 8:
		return 1 << 20
	case size <= 32:
		return 512 << 10
	}
	return 256 << 10
}

// laneWords returns the bytes of the words of a lane among size ranks.
func laneWords(size int) int { return pages(3 * size * lineBytes) }

// lanesBytes returns the bytes of all the lanes of one rank among size.
func lanesBytes(size int) int { return lanesEach * (laneWords(size) + laneBytes(size)) }

// lane returns lane i of the rank at a place.
func (s *Segment) lane(place, i int) lane {
	at := s.plan.lanes + place*lanesBytes(s.size) + i*(laneWords(s.size)+laneBytes(s.size))
	data := at + laneWords(s.size)
	return lane{s, at, s.mem[data:][:laneBytes(s.size):laneBytes(s.size)]}
}

func (l lane) word(i int) *atomic.Uint64 { return l.segment.word64(l.words + i*lineBytes) }

// put returns how many pieces were put into a channel.
func (l lane) put(channel int) *atomic.Uint64 { return l.word(channel) }

// length returns the bytes that will be put into a channel.
func (l lane) length(channel int) *atomic.Uint64 {
	return l.segment.word64(l.words + channel*lineBytes + 8)
}

// lend says where the bytes are that the writer of a channel lends.
func (l lane) lend(channel int, s lentSpan) {
	for i, x := range s.words() {
		l.lentWord(channel, i).Store(x)
	}
}

// lent returns where the bytes are that the writer of a channel lends.
func (l lane) lent(channel int) lentSpan {
	var words lentWords
	for i := range words {
		words[i] = l.lentWord(channel, i).Load()
	}
	return words.span()
}

func (l lane) lentWord(channel, i int) *atomic.Uint64 {
	return l.segment.word64(l.words + channel*lineBytes + 16 + 8*i)
}

// taken returns how many pieces the rank at a place has taken from the channel
// that is for it, or from that for several.
func (l lane) taken(place int, several bool) *atomic.Uint64 {
	if several {
		return l.word(2*l.segment.size + place)
	}
	return l.word(l.segment.size + place)
}

// counted returns the word for a count in a use of a lane.
func counted(use uint32, n int) uint64 { return uint64(use)<<32 | uint64(uint32(n)) }

// countIn returns the count of a word in a use of a lane, 0 if the word is of
// another use.
func countIn(word uint64, use uint32) int {
	if uint32(word>>32) != use {
		return 0
	}
	return int(uint32(word))
}

// A channelPlan says how data go through a channel.
type channelPlan struct {
	start  int // offset in the lane's data
	piece  int // bytes of a piece
	slots  int // pieces that the channel holds
	pieces int // of all the data
}

const (
	mostPiece  = 32 << 10
	leastPiece = 4 << 10
	mostSlots  = 8
)

// planChannel returns the plan of a channel of a lane of so many bytes, for
// data of so many bytes among size members. Both ends come to the same.
func planChannel(lane, channel, size, length, align int) channelPlan {
	room := lane / size / leastPiece * leastPiece
	piece := min(mostPiece, room/2, max(leastPiece, pages((length+3)/4)))
	piece = piece / max(align, 1) * max(align, 1)
	return channelPlan{
		start:  channel * room,
		piece:  piece,
		slots:  min(mostSlots, room/piece),
		pieces: (length + piece - 1) / piece,
	}
}

// slot returns the bytes for piece i, of n bytes.
func (p *channelPlan) slot(data []byte, i, n int) []byte {
	at := p.start + i%p.slots*p.piece
	return data[at : at+n : at+n]
}

// size returns the bytes of piece i of data of so many bytes.
func (p *channelPlan) size(i, length int) int { return min(p.piece, length-i*p.piece) }

// lanes are the lanes of one rank.
type lanes struct {
	mu   sync.Mutex
	each [lanesEach]ownLane
}

// An ownLane is one of the rank's own lanes.
type ownLane struct {
	lane
	number int
	use    uint32
	busy   bool
	owed   []debt // of the last use
}

// A debt is what a reader has yet to take before a lane can be used again.
type debt struct {
	taken *atomic.Uint64
	want  uint64
}

// init makes all lanes free. place is the rank's own.
func (s *lanes) init(segment *Segment, place int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.each {
		l := &s.each[i]
		l.lane, l.number, l.busy, l.owed = segment.lane(place, i), i, false, nil
	}
}

// acquire returns a lane that is free and that nobody reads any more, or nil if
// there is none.
func (s *lanes) acquire() *ownLane {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.each {
		if l := &s.each[i]; !l.busy && l.settled() {
			l.busy = true
			l.use++
			l.owed = l.owed[:0]
			return l
		}
	}
	return nil
}

// settled reports whether nobody reads what the last use has left.
func (l *ownLane) settled() bool {
	for _, d := range l.owed {
		if d.taken.Load() != d.want {
			return false
		}
	}
	return true
}

// release makes a lane free.
func (s *lanes) release(l *ownLane) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.busy = false
}

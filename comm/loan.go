package comm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// The data of a long message are lent, where the receiver can read the sender's
// memory: what crosses the ring says where they are, and the receiver reads them
// from there to where they belong. The sender keeps them meanwhile, and goes on.
//
// A loan ends when the receiver has read, which it says with a record that is
// taken in as all others are; when the receiver has ended; and with the
// generation. A receiver that reads what is not lent any more finds out when it
// has read, by the generation that the sender is in.

// leastLoan is the length from which the data of a message are lent: below,
// having the system find their pages costs more than the copies do.
const leastLoan = 128 << 10

// Types of records that are of no use on streams.
const (
	// recordLoan carries what frameMessage does, but for the data: where they are
	// in the sender's memory.
	recordLoan frameType = 128 + iota
	// recordReturned carries nothing: it says that a loan, of which call is the
	// number, has ended.
	recordReturned
)

// loans are what a rank has lent with its messages.
type loans struct {
	mu   sync.Mutex
	last uint64          // number of the last loan
	open map[uint64]loan // by number
}

// A loan is a message of which the receiver may yet read the data.
type loan struct {
	to      int // a rank of the fabric
	message Message
}

// add begins a loan to a rank, and returns its number, which is not 0.
func (l *loans) add(to int, m Message) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[uint64]loan{}
	}
	l.last++
	l.open[l.last] = loan{to, m}
	return l.last
}

// end ends a loan to a rank, if it has not ended.
func (l *loans) end(to int, number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x, ok := l.open[number]; ok && x.to == to {
		delete(l.open, number)
		x.message.done()
	}
}

// endTo ends all loans to a rank.
func (l *loans) endTo(to int) { l.endThose(func(x loan) bool { return x.to == to }) }

// endAll ends all loans.
func (l *loans) endAll() { l.endThose(func(loan) bool { return true }) }

// endThose ends the loans of which ends tells so.
func (l *loans) endThose(ends func(loan) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for number, x := range l.open {
		if ends(x) {
			delete(l.open, number)
			x.message.done()
		}
	}
}

// lend sends a message to a rank that can read this one's memory, without its
// data. It reports false if it has sent nothing.
func (st *station) lend(to int, f frame, head []byte, m Message) bool {
	sl := st.shared
	if len(m.Data) < leastLoan || !sl.reaches([]int{to}) {
		return false
	}
	if sl.segment.reads(sl.places[st.rank], sl.places[to]).Load() != readable {
		return false
	}
	if sl.waiting() {
		sl.drain(st) // some may have returned what was lent before
	}
	if st.meter != nil {
		st.meter.memory.Add(int64(len(m.Data)))
	}
	f.typ = recordLoan
	b := borrowed{
		number:  st.loans.add(to, m),
		address: addressOf(m.Data),
		length:  len(m.Data),
	}
	st.writeParts(to, f, head, b.append(nil))
	return true
}

// takeLoan takes in what concerns data that are lent.
func (st *station) takeLoan(peer int, f *frame) error {
	if f.typ == recordReturned {
		st.loans.end(peer, f.call)
		return nil
	}
	l, err := decodeLetter(bytes.Clone(f.payload))
	if err != nil {
		return err
	}
	if l.message.lent, err = decodeBorrowed(l.message.Data); err != nil {
		return err
	}
	l.message.Data, l.message.pool = nil, st.pool
	l.message.lent.station, l.message.lent.from = st, peer
	return st.deliver(peer, f, l)
}

// A borrowed is what a receiver knows of data that are lent to it.
type borrowed struct {
	station *station // the receiver's
	from    int      // a rank of the fabric
	number  uint64   // of the loan
	address uintptr
	length  int
}

// append appends the number, the address and the length to buf.
func (b *borrowed) append(buf []byte) []byte {
	buf = binary.LittleEndian.AppendUint64(buf, b.number)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(b.address))
	return appendInt(buf, b.length)
}

// decodeBorrowed decodes what append appends, and nothing else.
func decodeBorrowed(data []byte) (*borrowed, error) {
	d := decoder{rest: data}
	b := &borrowed{number: d.uint64(), address: uintptr(d.uint64()), length: d.size()}
	if b.length > maxMessage {
		d.fail("length", fmt.Sprint(b.length), fmt.Sprintf("at most %d", maxMessage))
	}
	return b, d.end("loan")
}

// errRecalled is the error of reading what is not lent any more.
var errRecalled = errors.New("it lends no more what it has sent")

// read reads all that is lent to dst, which has its length.
func (b *borrowed) read(dst []byte) error {
	sl := b.station.shared
	place := sl.places[b.from]
	if err := readMemory(sl.segment.process(place), dst, b.address); err != nil {
		return err
	}
	if sl.segment.lends(place).Load() != lendsIn(b.station.number) {
		return errRecalled
	}
	return nil
}

// forsake has the supervisor give a rank up that has lent what cannot be read,
// even if it has ended in good order. If its process has died, who watches that
// may yet say why.
func (st *station) forsake(rank int, cause error) {
	st.report(&report{kind: reportLost, peer: rank, text: cause.Error()})
}

// giveBack ends the loan.
func (b *borrowed) giveBack() {
	b.station.write(b.from, frame{typ: recordReturned, call: b.number}, nil)
}

// lends is where the rank at a place says in which generation it lends: it is
// that of lendsIn, or 0 for none.
func (s *Segment) lends(place int) *atomic.Uint64 { return s.rankWord(place, lendsAt) }

func lendsIn(generation uint32) uint64 { return uint64(generation) + 1 }

// recall ends the loans of st, a station of the rank at a place, which lends in
// another generation from now on, or in none.
func (s *Segment) recall(place int, now uint64, st *station) {
	s.lends(place).Store(now)
	if st != nil {
		st.loans.endAll()
	}
}

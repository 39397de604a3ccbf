package comm

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// A loanPair is both ends of a block that the rank at place 0 of a segment lends
// to the one at place 1.
type loanPair struct {
	*lending
	*pulling
	lanes *lanes
	told  []error // of memory that cannot be read
}

func newLoanPair(t testing.TB, src, dst span) *loanPair {
	s, err := CreateSegment(2)
	if err != nil {
		t.Fatal(err)
	}
	s.Close() // the memory stays
	p := &loanPair{lanes: &lanes{}}
	p.lanes.init(s, 0)
	out := &laneOut{own: p.lanes.acquire(), channel: 1, length: src.len()}
	out.read(1, false)
	p.lending = newLending(out, src)
	out.open(1, 2)
	in := laneIn{lane: out.own.lane, use: out.own.use, channel: 1, place: 1, bell: s.bell(0)}
	in.open(1, 2)
	lose := func(err error) { p.told = append(p.told, err) }
	p.pulling = &pulling{laneIn: in, process: os.Getpid(), dst: dst, piece: shortPiece, lose: lose}
	return p
}

// wantFailed fails the test unless the reader has given up, and neither end takes
// the block for read.
func (p *loanPair) wantFailed(t *testing.T, told int) {
	t.Helper()
	if p.pulling.over() || p.pulling.ready() || p.lending.ready() {
		t.Errorf("got over %v, ready %v and returned %v, want none", p.pulling.over(), p.pulling.ready(), p.lending.ready())
	}
	if len(p.told) != told {
		t.Errorf("got told of %v, want %d errors", p.told, told)
	}
}

// rows draws a span of n bytes of a block, and what the block is of.
func rows(t *rapid.T, name string, n int) span {
	width := rapid.IntRange(1, 2*n).Draw(t, name+" width")
	pitch := width + rapid.IntRange(0, 40).Draw(t, name+" gap")
	lo := rapid.IntRange(0, width).Draw(t, name+" start")
	count := (lo+n+width-1)/width + 1
	return span{Block{make([]byte, count*pitch), count, width, pitch}, lo, lo + n}
}

// What is lent arrives, however the blocks lie and in whatever pieces it is read.
func TestLent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 5000).Draw(rt, "bytes")
		src, dst := rows(rt, "source", n), rows(rt, "destination", n)
		for i := range src.block.Data {
			src.block.Data[i] = byte(i + i>>8)
		}
		p := newLoanPair(t, src, dst)
		p.piece = rapid.IntRange(1, n).Draw(rt, "piece")
		for !p.pulling.over() {
			if p.lending.ready() {
				rt.Fatal("the block is returned before it is read")
			}
			if p.pulling.step(); !p.pulling.ready() {
				rt.Fatalf("got %v, want no error", p.told)
			}
		}
		if got, want := dst.appendTo(nil), src.appendTo(nil); !bytes.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
		if !p.lending.ready() {
			rt.Fatal("the block is not returned")
		}
	})
}

// A reader that comes too late takes nothing for read, and does not say that the
// memory of the lender cannot be read: it need not be there any more.
func TestLentWithdrawn(t *testing.T) {
	for name, end := range map[string]func(p *loanPair){
		"withdrawn":     func(p *loanPair) { p.withdraw() },
		"unmapped":      func(p *loanPair) { p.withdraw(); p.pulling.lent.address = 16 },
		"of a dead one": func(p *loanPair) { p.withdraw(); p.process = 1<<31 - 2 },
		"of a past use": func(p *loanPair) {
			p.lanes.release(p.own)
			again := &laneOut{own: p.lanes.acquire(), channel: 1, length: 9}
			again.open(1, 2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newLoanPair(t, Whole(make([]byte, 3*shortPiece)).all(), Whole(make([]byte, 3*shortPiece)).all())
			p.pulling.step()
			if !p.pulling.ready() || p.pulling.over() {
				t.Fatal("the first piece cannot be read, or is all")
			}
			end(p)
			p.pulling.step()
			p.wantFailed(t, 0)
		})
	}
}

// halfReadable returns memory of n bytes, a multiple of two pages, of which the
// second half cannot be read.
func halfReadable(t *testing.T, n int) []byte {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(mem) })
	if err := unix.Mprotect(mem[n/2:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return mem
}

// A reader of what cannot be read says so.
func TestLentUnreadable(t *testing.T) {
	for name, spoil := range map[string]func(p *loanPair){
		"no memory":  func(p *loanPair) { p.pulling.lent.address = 16 },
		"no process": func(p *loanPair) { p.process = 1<<31 - 2 },
		"too little": func(p *loanPair) { p.pulling.lent.address = addressOf(halfReadable(t, shortPiece)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newLoanPair(t, Whole(make([]byte, shortPiece)).all(), Whole(make([]byte, shortPiece)).all())
			spoil(p)
			p.pulling.step()
			p.wantFailed(t, 1)
			if gone := errors.Is(p.told[0], errNoProcess); gone != (name == "no process") {
				t.Errorf("got %v for %s", p.told[0], name)
			}
		})
	}
}

// A rank that lends what turns out to be unreadable counts as lost, and nobody
// waits for it.
func TestLenderLost(t *testing.T) {
	other := exec.Command("sleep", "60") // a process with other memory
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	f := NewShared(2)
	defer f.Close()
	groups, stations := everyone(t, f)
	for _, st := range stations {
		st.shared.try()
	}
	s := stations[0].shared.segment
	s.rankWord(0, processAt).Store(uint64(other.Process.Pid))
	errs := make(chan error, 2)
	for _, g := range groups {
		go func() {
			out := []Block{Whole(make([]byte, leastLent)), Whole(make([]byte, leastLent))}
			_, err := g.Run(context.Background(), &Op{
				Desc:    Desc{Op: "all_gather", Free: -1, Root: -1, Dims: [2]int{-1, -1}},
				Kind:    AllGather,
				In:      []Block{Whole(make([]byte, leastLent))},
				Align:   1,
				Prepare: func([]Member, Flags) ([]Block, error) { return out, nil },
			})
			errs <- err
		}()
	}
	for range groups {
		err := <-errs
		var peer *PeerError
		if !errors.As(err, &peer) || peer.Rank != 0 || !strings.Contains(err.Error(), "its memory cannot be read") {
			t.Errorf("got %v, want a failure of rank 0 whose memory cannot be read", err)
		}
	}
}

// What a rank says of a block that it has for others is not believed if it cannot
// be: the rank is relied on no more, and nobody crashes.
func TestLaneRefuses(t *testing.T) {
	const n = 2 * leastLent
	lends := func(s lentSpan) func(lane, *contract) {
		return func(l lane, _ *contract) { l.lend(0, s) }
	}
	lies := map[string]func(lane, *contract){
		"a lane that is none": func(_ lane, k *contract) { k.lane = lanesEach + 1 },
		"less than nothing":   func(l lane, _ *contract) { l.length(0).Store(1 << 63) },
		"rows of no width":    lends(lentSpan{address: 16}),
		"rows of less":        lends(lentSpan{address: 16, width: -8, pitch: 8}),
		"no byte of a row":    lends(lentSpan{address: 16, skew: 8, width: 8, pitch: 8}),
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			f := NewShared(2)
			defer f.Close()
			groups, stations := everyone(t, f)
			out := []Block{Whole(make([]byte, n))}
			op := &Op{
				Desc: Desc{Op: "a_call", Free: -1, Root: -1, Dims: [2]int{-1, -1}, Pairs: [][2]int{{1, 0}}},
				Kind: Permute, Align: 1, In: []Block{Whole(nil)},
				Prepare: func([]Member, Flags) ([]Block, error) { return out, nil },
			}
			liar := stations[1]
			own := liar.shared.lanes.acquire()
			source := &laneOut{own: own, channel: 0, length: n}
			source.open(1, 2)
			k := contract{hash: hashDesc(&op.Desc), bytes: n, lane: uint32(own.number + 1), use: own.use}
			lie(own.lane, &k)
			line := groups[1].line.(*wireLine)
			liar.write(0, frame{typ: frameContract, group: line.hash, call: 1}, appendContract(nil, &k))
			_, err := groups[0].Run(t.Context(), op)
			var peer *PeerError
			if !errors.As(err, &peer) || peer.Rank != 1 || !strings.Contains(err.Error(), "a_call: got ") {
				t.Errorf("got %v, want that what rank 1 says is refused", err)
			}
		})
	}
}

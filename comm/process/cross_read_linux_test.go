package process

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

	"tpsh/comm"
	"tpsh/comm/schedule"
	"tpsh/comm/wire"
)

// A loanPair is both ends of a block that the rank at place 0 of a segment exposes
// to the one at place 1.
type loanPair struct {
	*exposing
	*crossReading
	lanes *stagingPool
	told  []error // of memory that cannot be read
}

func newLoanPair(t testing.TB, src, dst schedule.Span) *loanPair {
	s, err := CreateSegment(2)
	if err != nil {
		t.Fatal(err)
	}
	s.Close() // the memory stays
	p := &loanPair{lanes: &stagingPool{}}
	p.lanes.init(s, 0)
	out := &stagingWriter{own: p.lanes.acquire(), slot: 1, length: src.Len()}
	out.addReader(1, false)
	p.exposing = newExposing(out, src)
	out.open(1, 2)
	in := stagingReader{buffer: out.own.stagingBuffer, use: out.own.use, slot: 1, index: 1, futex: s.futex(0)}
	in.open(1, 2)
	lose := func(err error) { p.told = append(p.told, err) }
	p.crossReading = &crossReading{stagingReader: in, process: os.Getpid(), dst: dst, piece: shortPiece, lose: lose}
	return p
}

// wantFailed fails the test unless the reader has given up, and neither end takes
// the block for read.
func (p *loanPair) wantFailed(t *testing.T, told int) {
	t.Helper()
	if p.crossReading.IsDone() || p.crossReading.CanStep() || p.exposing.CanStep() {
		t.Errorf("got over %v, ready %v and returned %v, want none", p.crossReading.IsDone(), p.crossReading.CanStep(), p.exposing.CanStep())
	}
	if len(p.told) != told {
		t.Errorf("got told of %v, want %d errors", p.told, told)
	}
}

// rows draws a span of n bytes of a block, and what the block is of.
func rows(t *rapid.T, name string, n int) schedule.Span {
	width := rapid.IntRange(1, 2*n).Draw(t, name+" width")
	pitch := width + rapid.IntRange(0, 40).Draw(t, name+" gap")
	lo := rapid.IntRange(0, width).Draw(t, name+" start")
	count := (lo+n+width-1)/width + 1
	return schedule.Span{Block: comm.Block{Data: make([]byte, count*pitch), Rows: count, Width: width, Pitch: pitch}, Lo: lo, Hi: lo + n}
}

// What is exposed arrives, however the blocks lie and in whatever pieces it is read.
func TestLent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 5000).Draw(rt, "bytes")
		src, dst := rows(rt, "source", n), rows(rt, "destination", n)
		for i := range src.Block.Data {
			src.Block.Data[i] = byte(i + i>>8)
		}
		p := newLoanPair(t, src, dst)
		p.piece = rapid.IntRange(1, n).Draw(rt, "piece")
		for !p.crossReading.IsDone() {
			if p.exposing.CanStep() {
				rt.Fatal("the block is returned before it is read")
			}
			if p.crossReading.Step(); !p.crossReading.CanStep() {
				rt.Fatalf("got %v, want no error", p.told)
			}
		}
		if got, want := dst.AppendTo(nil), src.AppendTo(nil); !bytes.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
		if !p.exposing.CanStep() {
			rt.Fatal("the block is not returned")
		}
	})
}

// A reader that comes too late takes nothing for read, and does not say that the
// memory of the owner cannot be read: it need not be there any more.
func TestLentWithdrawn(t *testing.T) {
	for name, end := range map[string]func(p *loanPair){
		"withdrawn":     func(p *loanPair) { p.withdraw() },
		"unmapped":      func(p *loanPair) { p.withdraw(); p.crossReading.exposed.address = 16 },
		"of a dead one": func(p *loanPair) { p.withdraw(); p.process = 1<<31 - 2 },
		"of a past use": func(p *loanPair) {
			p.lanes.release(p.own)
			again := &stagingWriter{own: p.lanes.acquire(), slot: 1, length: 9}
			again.open(1, 2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newLoanPair(t, comm.Whole(make([]byte, 3*shortPiece)).All(), comm.Whole(make([]byte, 3*shortPiece)).All())
			p.crossReading.Step()
			if !p.crossReading.CanStep() || p.crossReading.IsDone() {
				t.Fatal("the first piece cannot be read, or is all")
			}
			end(p)
			p.crossReading.Step()
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
		"no memory":  func(p *loanPair) { p.crossReading.exposed.address = 16 },
		"no process": func(p *loanPair) { p.process = 1<<31 - 2 },
		"too little": func(p *loanPair) { p.crossReading.exposed.address = addressOf(halfReadable(t, shortPiece)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newLoanPair(t, comm.Whole(make([]byte, shortPiece)).All(), comm.Whole(make([]byte, shortPiece)).All())
			spoil(p)
			p.crossReading.Step()
			p.wantFailed(t, 1)
			if gone := errors.Is(p.told[0], errNoProcess); gone != (name == "no process") {
				t.Errorf("got %v for %s", p.told[0], name)
			}
		})
	}
}

// A rank that exposes what turns out to be unreadable counts as lost, and nobody
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
	for _, wr := range stations {
		wr.shared.try()
	}
	s := stations[0].shared.segment
	s.rankWord(0, processAt).Store(uint64(other.Process.Pid))
	errs := make(chan error, 2)
	for _, g := range groups {
		go func() {
			out := []comm.Block{comm.Whole(make([]byte, leastExposedReading)), comm.Whole(make([]byte, leastExposedReading))}
			_, err := g.Run(context.Background(), &comm.Op{
				Desc:    comm.Desc{Op: "all_gather", Free: -1, Root: -1, Dims: [2]int{-1, -1}},
				Kind:    comm.AllGather,
				In:      []comm.Block{comm.Whole(make([]byte, leastExposedReading))},
				Align:   1,
				Prepare: func([]comm.Member, comm.Flags) ([]comm.Block, error) { return out, nil },
			})
			errs <- err
		}()
	}
	for range groups {
		err := <-errs
		var peer *comm.PeerError
		if !errors.As(err, &peer) || peer.Rank != 0 || !strings.Contains(err.Error(), "its memory cannot be read") {
			t.Errorf("got %v, want a failure of rank 0 whose memory cannot be read", err)
		}
	}
}

// What a rank says of a block that it has for others is not believed if it cannot
// be: the rank is relied on no more, and nobody crashes.
func TestLaneRefuses(t *testing.T) {
	const n = 2 * leastExposedReading
	lends := func(s exposedSpan) func(stagingBuffer, *wire.Contract) {
		return func(l stagingBuffer, _ *wire.Contract) { l.setExposed(0, s) }
	}
	lies := map[string]func(stagingBuffer, *wire.Contract){
		"a lane that is none": func(_ stagingBuffer, k *wire.Contract) { k.Staging = stagingEach + 1 },
		"less than nothing":   func(l stagingBuffer, _ *wire.Contract) { l.length(0).Store(1 << 63) },
		"rows of no width":    lends(exposedSpan{address: 16}),
		"rows of less":        lends(exposedSpan{address: 16, width: -8, pitch: 8}),
		"no byte of a row":    lends(exposedSpan{address: 16, skew: 8, width: 8, pitch: 8}),
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			f := NewShared(2)
			defer f.Close()
			groups, stations := everyone(t, f)
			out := []comm.Block{comm.Whole(make([]byte, n))}
			op := &comm.Op{
				Desc: comm.Desc{Op: "a_call", Free: -1, Root: -1, Dims: [2]int{-1, -1}, Pairs: [][2]int{{1, 0}}},
				Kind: comm.Permute, Align: 1, In: []comm.Block{comm.Whole(nil)},
				Prepare: func([]comm.Member, comm.Flags) ([]comm.Block, error) { return out, nil },
			}
			liar := stations[1]
			own := liar.shared.staging.acquire()
			source := &stagingWriter{own: own, slot: 0, length: n}
			source.open(1, 2)
			k := wire.Contract{Hash: wire.HashDesc(&op.Desc), Bytes: n, Staging: uint32(own.number + 1), Use: own.use}
			lie(own.stagingBuffer, &k)
			line := groups[1].Transport().(*wireGroup)
			liar.write(0, wire.Frame{Type: wire.FrameContract, Group: line.hash, Call: 1}, wire.AppendContract(nil, &k))
			_, err := groups[0].Run(t.Context(), op)
			var peer *comm.PeerError
			if !errors.As(err, &peer) || peer.Rank != 1 || !strings.Contains(err.Error(), "a_call: got ") {
				t.Errorf("got %v, want that what rank 1 says is refused", err)
			}
		})
	}
}

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
	"tpsh/comm/process/shm"
	"tpsh/comm/schedule"
	"tpsh/comm/wire"
)

// A loanPair is both ends of a block that the rank at place 0 of a segment exposes
// to the one at place 1.
type loanPair struct {
	*shm.Exposing
	*shm.CrossReading
	pool *shm.StagingPool
	told []error // of memory that cannot be read
}

func newLoanPair(t testing.TB, src, dst schedule.Span) *loanPair {
	s, err := shm.CreateSegment(2)
	if err != nil {
		t.Fatal(err)
	}
	s.Close() // the memory stays
	p := &loanPair{pool: &shm.StagingPool{}}
	p.pool.Init(s, 0)
	out := &shm.StagingWriter{Own: p.pool.Acquire(), Slot: 1, Length: src.Len()}
	out.AddReader(1, false)
	p.Exposing = shm.NewExposing(out, src)
	out.Open(1, 2)
	in := shm.StagingReader{Buffer: out.Own.StagingBuffer, Use: out.Own.Use, Slot: 1, Index: 1, Futex: s.Futex(0)}
	in.Open(1, 2)
	lose := func(err error) { p.told = append(p.told, err) }
	p.CrossReading = &shm.CrossReading{StagingReader: in, Process: os.Getpid(), Dst: dst, Piece: shortPiece, Lose: lose}
	return p
}

// wantFailed fails the test unless the reader has given up, and neither end takes
// the block for read.
func (p *loanPair) wantFailed(t *testing.T, told int) {
	t.Helper()
	if p.CrossReading.IsDone() || p.CrossReading.CanStep() || p.Exposing.CanStep() {
		t.Errorf("got over %v, ready %v and returned %v, want none", p.CrossReading.IsDone(), p.CrossReading.CanStep(), p.Exposing.CanStep())
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
		p.Piece = rapid.IntRange(1, n).Draw(rt, "piece")
		for !p.CrossReading.IsDone() {
			if p.Exposing.CanStep() {
				rt.Fatal("the block is returned before it is read")
			}
			if p.CrossReading.Step(); !p.CrossReading.CanStep() {
				rt.Fatalf("got %v, want no error", p.told)
			}
		}
		if got, want := dst.AppendTo(nil), src.AppendTo(nil); !bytes.Equal(got, want) {
			rt.Fatalf("got %v, want %v", got, want)
		}
		if !p.Exposing.CanStep() {
			rt.Fatal("the block is not returned")
		}
	})
}

// A reader that comes too late takes nothing for read, and does not say that the
// memory of the owner cannot be read: it need not be there any more.
func TestLentWithdrawn(t *testing.T) {
	for name, end := range map[string]func(p *loanPair){
		"withdrawn":     func(p *loanPair) { p.Withdraw() },
		"unmapped":      func(p *loanPair) { p.Withdraw(); p.CrossReading.Exposed.Address = 16 },
		"of a dead one": func(p *loanPair) { p.Withdraw(); p.Process = 1<<31 - 2 },
		"of a past use": func(p *loanPair) {
			p.pool.Release(p.Own)
			again := &shm.StagingWriter{Own: p.pool.Acquire(), Slot: 1, Length: 9}
			again.Open(1, 2)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newLoanPair(t, comm.Whole(make([]byte, 3*shortPiece)).All(), comm.Whole(make([]byte, 3*shortPiece)).All())
			p.CrossReading.Step()
			if !p.CrossReading.CanStep() || p.CrossReading.IsDone() {
				t.Fatal("the first piece cannot be read, or is all")
			}
			end(p)
			p.CrossReading.Step()
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
		"no memory":  func(p *loanPair) { p.CrossReading.Exposed.Address = 16 },
		"no process": func(p *loanPair) { p.Process = 1<<31 - 2 },
		"too little": func(p *loanPair) { p.CrossReading.Exposed.Address = shm.AddressOf(halfReadable(t, shortPiece)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newLoanPair(t, comm.Whole(make([]byte, shortPiece)).All(), comm.Whole(make([]byte, shortPiece)).All())
			spoil(p)
			p.CrossReading.Step()
			p.wantFailed(t, 1)
			if gone := errors.Is(p.told[0], shm.ErrNoProcess); gone != (name == "no process") {
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
		wr.shared.try(nil)
	}
	s := stations[0].shared.segment
	s.RankWord(0, shm.ProcessAt).Store(uint64(other.Process.Pid))
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
	lends := func(s shm.ExposedSpan) func(shm.StagingBuffer, *wire.Contract) {
		return func(l shm.StagingBuffer, _ *wire.Contract) { l.SetExposed(0, s) }
	}
	lies := map[string]func(shm.StagingBuffer, *wire.Contract){
		"a staging buffer that is none": func(_ shm.StagingBuffer, k *wire.Contract) { k.Staging = shm.StagingEach + 1 },
		"less than nothing":             func(l shm.StagingBuffer, _ *wire.Contract) { l.Length(0).Store(1 << 63) },
		"rows of no width":              lends(shm.ExposedSpan{Address: 16}),
		"rows of less":                  lends(shm.ExposedSpan{Address: 16, Width: -8, Pitch: 8}),
		"no byte of a row":              lends(shm.ExposedSpan{Address: 16, Skew: 8, Width: 8, Pitch: 8}),
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
			own := liar.shared.staging.Acquire()
			source := &shm.StagingWriter{Own: own, Slot: 0, Length: n}
			source.Open(1, 2)
			k := wire.Contract{Hash: wire.HashDesc(&op.Desc), Bytes: n, Staging: uint32(own.Number + 1), Use: own.Use}
			lie(own.StagingBuffer, &k)
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

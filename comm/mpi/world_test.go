package mpi

import (
	"bytes"
	"errors"
	"io"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

// closeAll closes worlds, each of which waits for the others.
func closeAll(t testing.TB, worlds []*World) {
	var tasks sync.WaitGroup
	for _, w := range worlds {
		tasks.Go(func() {
			if err := w.Close(); err != nil {
				t.Errorf("%v: close: got %v", w, err)
			}
		})
	}
	tasks.Wait()
}

// What is written is read, in order, however it is cut into pieces; blocks come
// in their order beside it; and then comes the end.
func TestStreamCarries(t *testing.T) {
	defer goleak.VerifyNone(t)
	rapid.Check(t, func(t *rapid.T) {
		worlds := Simulate(2, rapid.Uint64().Draw(t, "seed"))
		pieces := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 100, smallBytes, smallBytes + 1, 100000}), 0, 8).Draw(t, "pieces")
		blocks := rapid.SliceOfN(rapid.SampledFrom([]int{0, 1, 5000, 200000}), 0, 3).Draw(t, "blocks")
		a, b := worlds[0].Stream(1, 7).(*Stream), worlds[1].Stream(0, 7).(*Stream)
		var sent bytes.Buffer
		var tasks sync.WaitGroup
		tasks.Go(func() {
			for i, n := range pieces {
				piece := bytes.Repeat([]byte{byte(i + 1)}, n)
				sent.Write(piece)
				a.Write(piece)
				clear(piece) // it is the caller's again
			}
			for i, n := range blocks {
				block := bytes.Repeat([]byte{byte(i + 101)}, n)
				a.WriteBlock(block)()
				clear(block)
			}
			a.Close()
		})
		for i, n := range blocks {
			block := make([]byte, n)
			for done := b.BeginBlock(block); ; time.Sleep(time.Microsecond) {
				if over, err := done(); err != nil {
					t.Fatal(err)
				} else if over {
					break
				}
			}
			if want := bytes.Repeat([]byte{byte(i + 101)}, n); !bytes.Equal(block, want) {
				t.Fatalf("block %d: got other bytes than were sent", i)
			}
		}
		got, err := io.ReadAll(b)
		tasks.Wait()
		if err != nil || !bytes.Equal(got, sent.Bytes()) {
			t.Fatalf("got %d bytes and %v, want the %d that were written", len(got), err, sent.Len())
		}
		var ends sync.WaitGroup
		for _, w := range worlds {
			ends.Go(func() { w.Close() })
		}
		ends.Wait()
	})
}

// A block of another length than is wanted is an error to whoever finds that it has come, however soon.
func TestBlockOfAnotherLength(t *testing.T) {
	defer goleak.VerifyNone(t)
	worlds := Simulate(2, 1)
	a, b := worlds[0].Stream(1, 7).(*Stream), worlds[1].Stream(0, 7).(*Stream)
	for i := range 400 {
		done := b.BeginBlock(make([]byte, 8))
		a.WriteBlock(make([]byte, 5))
		over, err := done()
		for ; !over; over, err = done() {
			if goruntime.GOMAXPROCS(0) == 1 {
				goruntime.Gosched()
			}
		}
		if err == nil || !strings.Contains(err.Error(), "got a block of 5 bytes of rank 0, want 8") {
			t.Errorf("block %d: got %v, want an error of its length", i, err)
			break
		}
	}
	closeAll(t, worlds)
}

// Close ends whatever waits in a stream's methods.
func TestStreamClose(t *testing.T) {
	worlds := Simulate(2, 1)
	s := worlds[0].Stream(1, 0).(*Stream)
	results := make(chan error, 2)
	go func() { _, err := s.Read(make([]byte, 1)); results <- err }()
	go func() { results <- s.WriteBlock(make([]byte, 1<<20))() }() // nobody reads it
	time.Sleep(5 * time.Millisecond)
	s.Close()
	for range 2 {
		if err := <-results; !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("got %v, want that the stream is closed", err)
		}
	}
	if _, err := s.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write after close: got %v, want that the stream is closed", err)
	}
	if n, err := worlds[1].Stream(0, 0).Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("read at the other end: got %d and %v, want io.EOF", n, err)
	}
	closeAll(t, worlds)
}

// Both ends of a stream of a rank to itself are its own.
func TestStreamToItself(t *testing.T) {
	worlds := Simulate(1, 1)
	a, b, c := worlds[0].Stream(0, 1), worlds[0].Stream(0, 1), worlds[0].Stream(0, 1)
	for _, end := range [][2]io.ReadWriteCloser{{a, b}, {b, c}} {
		end[0].Write([]byte("to the other"))
		got := make([]byte, 12)
		if _, err := io.ReadFull(end[1], got); err != nil || string(got) != "to the other" {
			t.Errorf("got %q and %v, want what was written", got, err)
		}
	}
	a.Close()
	if _, err := b.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v, want io.EOF", err)
	}
	closeAll(t, worlds)
}

// A world is closed though there is on its way what nobody reads.
func TestCloseUnderWay(t *testing.T) {
	defer goleak.VerifyNone(t)
	for seed := range uint64(20) {
		worlds := Simulate(3, seed)
		var tasks sync.WaitGroup
		for r, w := range worlds {
			for peer := range worlds {
				if peer != r {
					s := w.Stream(peer, 0).(*Stream)
					tasks.Go(func() { s.Write(make([]byte, 3<<20)); s.WriteBlock(make([]byte, 1<<20))() })
					s.BeginBlock(make([]byte, 1<<20))
				}
			}
		}
		closeAll(t, worlds)
		tasks.Wait()
		if left := worlds[0].engine.(*simulated).s.letters; len(left) > 0 {
			t.Errorf("seed %d: %d messages were never received, the first of rank %d to %d", seed, len(left), left[0].from, left[0].to)
		}
		if _, err := worlds[0].Stream(1, 5).Write([]byte("x")); !errors.Is(err, errClosed) {
			t.Errorf("write in a closed world: got %v, want %v", err, errClosed)
		}
	}
}

// A write that comes too late pins nothing: the runtime panics at memory that
// stays pinned when nobody knows of it any more.
func TestWriteTooLate(t *testing.T) {
	worlds := Simulate(2, 1)
	closeAll(t, worlds)
	for range 2 * slabBuffers {
		worlds[0].Stream(1, 0).(*Stream).write([]byte("x"))
		worlds[0].memory.get(1)
	}
	worlds = nil
	for range 5 {
		goruntime.GC()
		time.Sleep(time.Millisecond)
	}
}

// A stuck engine does not come to an end.
type stuck struct {
	engine
	release chan struct{}
}

func (s *stuck) finalize() error {
	<-s.release
	return nil
}

// Close does not wait for ever for MPI to finalise, when all ranks have ended.
func TestStuckFinalize(t *testing.T) {
	defer goleak.VerifyNone(t)
	release := make(chan struct{})
	s := &simulation{}
	w := newWorld(&stuck{newSimulated(s, 0, 1), release}, newTimerBell(), 0, 1, []int{0}, "a stuck engine")
	w.patient = time.Millisecond
	go w.drive()
	if err := w.Close(); err != ErrUnfinished {
		t.Errorf("close: got %v, want %v", err, ErrUnfinished)
	}
	close(release)
	w.patient = time.Minute
	if err := w.Close(); err != nil {
		t.Errorf("close once more: got %v", err)
	}
}

// A broken engine fails when it is to do a thing.
type broken struct {
	engine
	what string
}

var errBroken = errors.New("mpi: MPI_Test failed: broken")

func (b *broken) test(r request) (bool, arrival, error) {
	switch b.what {
	case "test":
		return false, arrival{}, errBroken
	case "a far rank":
		return true, arrival{from: 5}, nil
	case "a negative tag":
		return true, arrival{from: 1, tag: -1}, nil
	case "a high tag":
		return true, arrival{from: 1, tag: farewell + 1}, nil
	case "a negative length":
		return true, arrival{from: 1, bytes: -1}, nil
	case "a great length":
		return true, arrival{from: 1, bytes: smallBytes + 1}, nil
	}
	return b.engine.test(r)
}

func (b *broken) send(in circle, to, tag int, m []byte) (request, error) {
	if b.what == "send" {
		return 0, errBroken
	}
	return b.engine.send(in, to, tag, m)
}

func (b *broken) listen(in circle, m []byte) (request, error) {
	if b.what == "listen" {
		return 0, errBroken
	}
	return b.engine.listen(in, m)
}

// When MPI fails, or says what cannot be, all that waits for it fails, and
// nothing waits for it again.
func TestBrokenEngine(t *testing.T) {
	for what, want := range map[string]string{
		"listen": "broken", "send": "broken", "test": "broken",
		"a far rank": "rank 5", "a negative tag": "tag -1", "a high tag": "tag 16386", "a negative length": "-1 bytes", "a great length": "8193 bytes",
	} {
		s := &simulation{}
		w := newWorld(&broken{newSimulated(s, 0, 2), what}, newTimerBell(), 0, 2, []int{0, 0}, "a broken engine")
		read := make(chan error)
		stream := w.Stream(1, 0)
		go func() { _, err := stream.Read(make([]byte, 1)); read <- err }()
		go w.drive()
		stream.Write([]byte("x"))
		for name, err := range map[string]error{"read": <-read, "collective": w.Broadcast(0, nil), "close": w.Close()} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %s: got %v, want one about %s", what, name, err, want)
			}
		}
		if _, err := stream.Write([]byte("x")); err == nil {
			t.Errorf("%s: a write after it succeeded", what)
		}
	}
}

// Whatever an engine says has come, the world takes it or fails.
func FuzzTake(f *testing.F) {
	f.Add(1, 0, 3)
	f.Add(0, 0, 0)
	f.Add(-1, -1, -1)
	f.Add(1, maxChannel, smallBytes+1)
	f.Fuzz(func(t *testing.T, from, tag, n int) {
		w := newWorld(newSimulated(&simulation{}, 0, 2), newTimerBell(), 0, 2, []int{0, 0}, "a simulation")
		good := from == 1 && 0 <= tag && tag <= farewell && 0 <= n && n <= smallBytes
		w.mu.Lock()
		w.take(arrival{from, tag, n}, w.memory.get(smallBytes))
		w.mu.Unlock()
		if good != (w.err == nil) {
			t.Errorf("rank %d, tag %d, %d bytes: got %v", from, tag, n, w.err)
		}
		w.release()
	})
}

// A world knows who is on which machine.
func TestHosts(t *testing.T) {
	for _, c := range []struct{ hosts, want, local []int }{
		{[]int{0, 0, 0}, nil, []int{0, 1, 2}},
		{[]int{0, 0, 2}, []int{0, 0, 2}, []int{0, 1}},
		{[]int{0, 1, 0}, []int{0, 1, 0}, []int{0, 2}},
	} {
		worlds := SimulateOn(c.hosts, 1)
		if w := worlds[0]; !slices.Equal(w.Hosts(), c.want) || !slices.Equal(w.Local(), c.local) {
			t.Errorf("%v: got hosts %v and local ranks %v, want %v and %v", c.hosts, w.Hosts(), w.Local(), c.want, c.local)
		}
		var ends sync.WaitGroup
		for _, w := range worlds {
			ends.Go(func() { w.Close() })
		}
		ends.Wait()
	}
}

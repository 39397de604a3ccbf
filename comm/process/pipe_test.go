package process

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// writeAll writes pieces and closes the pipe.
func writeAll(t *testing.T, w io.WriteCloser, pieces [][]byte) {
	t.Helper()
	for _, p := range pieces {
		if n, err := w.Write(p); n != len(p) || err != nil {
			t.Errorf("Write: got %d, %v, want %d", n, err, len(p))
		}
	}
	w.Close()
}

// randomPieces returns pieces of 2 bytes and more.
func randomPieces(seed uint64, count, most int) [][]byte {
	rng := rand.New(rand.NewPCG(seed, 0))
	pieces := make([][]byte, count)
	for i := range pieces {
		pieces[i] = make([]byte, 2+rng.IntN(most))
		for j := range pieces[i] {
			pieces[i][j] = byte(rng.Uint32())
		}
	}
	return pieces
}

// What is written arrives, in order, with and without delays, while the two
// ends work at the same time.
func TestPipeKeepsOrder(t *testing.T) {
	for seed := range uint64(20) {
		for _, delay := range []time.Duration{0, time.Microsecond} {
			pieces := randomPieces(seed, 200, 500)
			r, w := newPipe(t.Context(), pipeFaults{seed: seed, delay: delay})
			go writeAll(t, w, pieces)
			got, err := io.ReadAll(r)
			if want := slices.Concat(pieces...); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("seed %d, delay %v: got %d bytes and %v, want %d", seed, delay, len(got), err, len(want))
			}
		}
	}
}

// The writer need not wait for a reader, whatever it writes.
func TestPipeHoldsEverything(t *testing.T) {
	r, w := newPipe(t.Context(), pipeFaults{})
	want := make([]byte, 3*sparePipeBytes)
	for i := range want {
		want[i] = byte(i >> 3)
	}
	for round := range 3 {
		w.Write(want)
		got := make([]byte, len(want))
		if _, err := io.ReadFull(r, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("round %d: %v, or other bytes than written", round, err)
		}
	}
}

func TestPipeClose(t *testing.T) {
	r, w := newPipe(t.Context(), pipeFaults{})
	w.Write([]byte("ab"))
	w.Close()
	if _, err := w.Write([]byte("c")); err != io.ErrClosedPipe {
		t.Errorf("Write after Close: got %v, want io.ErrClosedPipe", err)
	}
	got, err := io.ReadAll(r)
	if string(got) != "ab" || err != nil {
		t.Errorf("got %q and %v, want ab", got, err)
	}
	if n, err := r.Read(nil); n != 0 || err != nil {
		t.Errorf("Read of nothing: got %d, %v", n, err)
	}
}

// A cut ends the stream at the same byte for the same seed, inside a Write, and
// the writer does not notice.
func TestPipeCut(t *testing.T) {
	places := map[int]bool{}
	for seed := range uint64(200) {
		pieces := randomPieces(seed, 40, 30)
		var lengths []int
		for range 2 {
			r, w := newPipe(t.Context(), pipeFaults{seed: seed, cutBefore: 80})
			go writeAll(t, w, pieces)
			got, err := io.ReadAll(r)
			if err != nil || !bytes.HasPrefix(slices.Concat(pieces...), got) {
				t.Fatalf("seed %d: got other bytes than written, or %v", seed, err)
			}
			lengths = append(lengths, len(got))
		}
		if lengths[0] != lengths[1] || lengths[0] > 80 {
			t.Fatalf("seed %d: cut at %v, want the same byte, up to 80", seed, lengths)
		}
		places[lengths[0]] = true
		edge := 0
		for _, p := range pieces {
			if edge == lengths[0] {
				t.Fatalf("seed %d: cut at %d, between two writes", seed, edge)
			}
			edge += len(p)
		}
	}
	if len(places) < 30 {
		t.Errorf("200 seeds cut at %d places, want more", len(places))
	}
}

// A cut without Close ends the stream too.
func TestPipeCutNeedsNoClose(t *testing.T) {
	r, w := newPipe(t.Context(), pipeFaults{cutBefore: 1})
	w.Write([]byte("abc"))
	if got, err := io.ReadAll(r); string(got) != "a" || err != nil {
		t.Errorf("got %q and %v, want a", got, err)
	}
}

// readSizes returns the lengths in which a full pipe is read, and how long it
// takes.
func readSizes(t *testing.T, seed uint64, delay time.Duration) (sizes []int, took time.Duration) {
	r, w := newPipe(t.Context(), pipeFaults{seed: seed, delay: delay})
	writeAll(t, w, [][]byte{make([]byte, 200000)})
	start := time.Now()
	for buf := make([]byte, 1<<20); ; {
		n, err := r.Read(buf)
		if err == io.EOF {
			return sizes, time.Since(start)
		}
		sizes = append(sizes, n)
	}
}

// Delays cut the stream into pieces that depend on the seed alone.
func TestPipeDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sizes, took := readSizes(t, 1, time.Minute)
		again, tookAgain := readSizes(t, 1, time.Minute)
		other, _ := readSizes(t, 2, time.Minute)
		if len(sizes) < 3 || !slices.Equal(sizes, again) || took != tookAgain || took == 0 {
			t.Errorf("got %v in %v, then %v in %v, want several sizes, twice the same", sizes, took, again, tookAgain)
		}
		if slices.Equal(sizes, other) {
			t.Errorf("two seeds give the same pieces %v", sizes)
		}
	})
}

// A Read that waits, for bytes or in a delay, ends with its context.
func TestPipeReadStops(t *testing.T) {
	stop := errors.New("stop")
	for _, c := range []struct {
		name   string
		faults pipeFaults
		bytes  int
	}{
		{"no bytes", pipeFaults{}, 0},
		{"some bytes", pipeFaults{}, 10},
		{"delay", pipeFaults{delay: 1000 * time.Hour}, 1 << 20},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			r, w := newPipe(ctx, c.faults)
			w.Write(make([]byte, c.bytes))
			time.AfterFunc(time.Millisecond, func() { cancel(stop) })
			if n, err := io.Copy(io.Discard, r); err != stop {
				t.Errorf("%s: got %d bytes and %v, want %v", c.name, n, err, stop)
			}
		})
	}
}

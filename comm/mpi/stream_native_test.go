//go:build native && linux

package mpi_test

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"tpsh/comm/mpi"
)

// Bytes arrive whole and in order, whatever the lengths of what is written and
// read, on several channels at once, and then comes the end.
func TestStreams(t *testing.T) { playAll(t, []int{1, 2, 4}, "streams") }

func streamScenario(_ *testing.T, w *mpi.World, _ []string) error {
	var tasks sync.WaitGroup
	errs := make(chan error, 4*w.Size()*3)
	for peer := range w.Size() {
		for _, channel := range []int{mpi.Data, mpi.Supervision, mpi.Control} {
			s := w.Stream(peer, channel)
			other := s
			if peer == w.Rank() {
				other = w.Stream(peer, channel)
			}
			tasks.Go(func() { errs <- writeRandom(s, seedOf(w.Rank(), peer, channel)) })
			tasks.Go(func() { errs <- readRandom(other, seedOf(peer, w.Rank(), channel)) })
		}
	}
	tasks.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			return err
		}
	}
	return endStreams(w)
}

func seedOf(from, to, channel int) uint64 { return uint64(from*1000 + to*10 + channel) }

// randomBytes returns the bytes that a seed stands for.
func randomBytes(seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, 3<<20+r.IntN(1000))
	for i := range b {
		b[i] = byte(uint64(i)*seed + uint64(i)>>8)
	}
	return b
}

func writeRandom(s io.WriteCloser, seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	for b := randomBytes(seed); len(b) > 0; {
		n := min(len(b), 1+r.IntN([]int{10, 1000, 100000, 1 << 20}[r.IntN(4)]))
		if _, err := s.Write(b[:n]); err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

func readRandom(s io.Reader, seed uint64) error {
	want := randomBytes(seed)
	got := make([]byte, len(want))
	if _, err := io.ReadFull(s, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("seed %d: got other bytes than were written", seed)
	}
	return nil
}

// endStreams has the lower of two ranks close their streams, and the higher see
// that they have ended.
func endStreams(w *mpi.World) error {
	for peer := range w.Size() {
		s := w.Stream(peer, mpi.Data)
		if peer > w.Rank() {
			s.Close()
		} else if peer < w.Rank() {
			if n, err := s.Read(make([]byte, 1)); n != 0 || err != io.EOF {
				return fmt.Errorf("stream to rank %d: got %d bytes and %v, want its end", peer, n, err)
			}
		}
	}
	return nil
}

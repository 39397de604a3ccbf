package process

import (
	"io"
	"math/rand/v2"
	"sync"
	"time"
)

// A Disturbance says how a stream misbehaves, for tests. Its faults are a
// function of its fields and of the bytes written; the zero value does nothing.
type Disturbance struct {
	Seed  uint64
	Delay time.Duration // the longest time by which a Write comes late; a quarter of them do
	Fault Fault         // that happens to one Write
	Below int           // the Write is one of the first so many, chosen by Seed
}

// A Fault is a way in which bytes written to a stream are changed or lost.
type Fault int

const (
	NoFault   Fault = iota
	Drop            // the bytes do not arrive
	Duplicate       // they arrive twice
	Corrupt         // one of them is another
	CutShort        // a part of them arrives, and nothing after it
)

// Disturb returns a stream that is s but for the faults of what is written.
func Disturb(s io.ReadWriteCloser, d Disturbance) io.ReadWriteCloser {
	rng := rand.New(rand.NewPCG(d.Seed, uint64(d.Fault)))
	return &disturbed{ReadWriteCloser: s, Disturbance: d, rng: rng, at: rng.IntN(max(d.Below, 1))}
}

// A disturbed stream is the stream that Disturb returns.
type disturbed struct {
	io.ReadWriteCloser
	Disturbance

	mu      sync.Mutex
	rng     *rand.Rand
	at      int // the number of the Write to which the fault happens
	written int // how many Writes there were
	ended   bool
}

func (s *disturbed) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.Delay > 0 && s.rng.IntN(4) == 0 {
		time.Sleep(time.Duration(s.rng.Int64N(int64(s.Delay)) + 1))
	}
	s.written++
	if s.ended {
		return len(b), nil
	}
	if s.written != s.at+1 {
		return s.ReadWriteCloser.Write(b)
	}
	return s.fault(b)
}

// fault writes b as the fault has it.
func (s *disturbed) fault(b []byte) (int, error) {
	switch s.Fault {
	case Drop:
		return len(b), nil
	case Duplicate:
		b = append(append([]byte{}, b...), b...)
	case Corrupt:
		b = append([]byte{}, b...)
		b[s.rng.IntN(len(b))] ^= byte(1 + s.rng.IntN(255))
	case CutShort:
		b, s.ended = b[:s.rng.IntN(len(b))], true
	}
	if _, err := s.ReadWriteCloser.Write(b); err != nil {
		return 0, err
	}
	if s.ended {
		return 0, s.ReadWriteCloser.Close()
	}
	return len(b), nil
}

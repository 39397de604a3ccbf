package process

import (
	"context"
	"io"
	"math"
	"math/rand/v2"
	"sync"
	"time"
)

// pipeFaults says how a pipe misbehaves; the zero value is a pipe that does
// not. Which bytes arrive, and in which pieces, is a function of these fields
// and of the bytes written, whatever the timing.
type pipeFaults struct {
	seed uint64

	// delay is the longest time by which bytes become readable later than
	// they could; 0 is for no delay. The stream then arrives in pieces of odd
	// lengths, and some of them wait.
	delay time.Duration

	// cutBefore makes the stream end at a byte, chosen by the seed, below
	// cutBefore; 0 is for no cut. The byte is moved by one where that is
	// needed for the cut to lie inside the bytes of one Write.
	cutBefore int
}

// A pipe carries bytes from one goroutine to another, and is its own writing
// end. It holds as many bytes as it must: writing never waits for the reader.
type pipe struct {
	cutAt int
	ready chan struct{} // holds an element when the reader should look at buf

	mu      sync.Mutex
	buf     []byte // written, but not taken by the reader
	written int    // the length of the stream, the bytes that a cut lost included
	closed  bool
}

// newPipe returns both ends of a new pipe. The reading end is for one
// goroutine; when ctx ends, a Read that waits fails with its cause.
func newPipe(ctx context.Context, f pipeFaults) (io.Reader, io.WriteCloser) {
	p := &pipe{cutAt: math.MaxInt, ready: make(chan struct{}, 1)}
	if f.cutBefore > 0 {
		p.cutAt = rand.New(rand.NewPCG(f.seed, 1)).IntN(f.cutBefore)
	}
	r := &pipeReader{ctx: ctx, pipe: p, piece: math.MaxInt}
	if f.delay > 0 {
		r.rng, r.delay, r.piece = rand.New(rand.NewPCG(f.seed, 2)), f.delay, 0
	}
	return r, p
}

// Write adds b to the stream. After a cut it succeeds, though nothing arrives:
// as on a connection whose other end is gone, the writer is not the end that
// notices. After Close it fails with io.ErrClosedPipe.
func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	p.buf = append(p.buf, b[:p.kept(len(b))]...)
	p.written += len(b)
	p.wake()
	return len(b), nil
}

// kept returns how many of the next n bytes come before the cut: all, none, or
// if the cut is among them at least one and at most n-1.
func (p *pipe) kept(n int) int {
	switch left := p.cutAt - p.written; {
	case left >= n:
		return n
	case left < 0:
		return 0
	default:
		return min(max(left, 1), n-1)
	}
}

// Close ends the stream after all bytes written. It returns nil.
func (p *pipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.wake()
	return nil
}

// wake lets a waiting reader look at buf, or one that is about to wait.
func (p *pipe) wake() {
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

// sparePipeBytes is how large a buffer may be that a pipe keeps while empty.
const sparePipeBytes = 1 << 20

// take returns the bytes written since the last take, and whether the
// stream ends after it. It gives the pipe spent to write to.
func (p *pipe) take(spent []byte) (taken []byte, end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if cap(spent) > sparePipeBytes {
		spent = nil
	}
	taken, p.buf = p.buf, spent[:0]
	return taken, p.closed || p.written > p.cutAt
}

// A pipeReader is the reading end of a pipe.
type pipeReader struct {
	ctx   context.Context
	pipe  *pipe
	buf   []byte     // the bytes taken from the pipe
	rest  []byte     // the part of buf that is not read
	rng   *rand.Rand // nil if nothing is delayed
	delay time.Duration
	piece int // bytes that may be read before the next delay
}

// Read waits for at least one byte, and returns io.EOF at the end of the
// stream.
func (r *pipeReader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := r.awaitBytes(); err != nil {
		return 0, err
	}
	if r.piece == 0 {
		if err := r.nextPiece(); err != nil {
			return 0, err
		}
	}
	n := copy(b[:min(len(b), r.piece)], r.rest)
	r.rest = r.rest[n:]
	if r.rng != nil {
		r.piece -= n
	}
	return n, nil
}

// awaitBytes returns when there is something in rest.
func (r *pipeReader) awaitBytes() error {
	for len(r.rest) == 0 {
		taken, end := r.pipe.take(r.buf)
		r.buf, r.rest = taken, taken
		switch {
		case len(taken) > 0:
		case end:
			return io.EOF
		default:
			select {
			case <-r.pipe.ready:
			case <-r.ctx.Done():
				return context.Cause(r.ctx)
			}
		}
	}
	return nil
}

// nextPiece begins a piece of 1 byte to 64 KiB, short ones as likely as long
// ones; every fourth, about, waits first.
func (r *pipeReader) nextPiece() error {
	r.piece = 1 + r.rng.IntN(1<<r.rng.IntN(17))
	wait := time.Duration(r.rng.Int64N(int64(r.delay)) + 1)
	if r.rng.IntN(4) > 0 {
		return nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-r.ctx.Done():
		r.piece = 0
		return context.Cause(r.ctx)
	}
}

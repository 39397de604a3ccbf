package comm

import (
	"context"
	"fmt"
	"io"
	goruntime "runtime"
	"sync/atomic"
	"time"
)

// A pulse tells streams that are silent because their other end has nothing to
// say from those whose other end is gone.
type pulse struct {
	interval time.Duration // between heartbeats
	silence  time.Duration // after which to say that nothing is heard
	timeout  time.Duration // after which a stream is lost
}

const (
	// beatInterval is how often a heartbeat is sent.
	beatInterval = 300 * time.Millisecond
	// silenceTime is after how long a silent participant is reported.
	silenceTime = time.Second
	// defaultPeerTimeout is after how long it is taken to be lost.
	defaultPeerTimeout = 10 * time.Second
)

// newPulse returns the pulse of streams that carry heartbeats.
func newPulse(timeout time.Duration) *pulse {
	if timeout <= 0 {
		timeout = defaultPeerTimeout
	}
	return &pulse{min(beatInterval, timeout/4), min(silenceTime, timeout/2), timeout}
}

// pulse returns the pulse of the streams, nil if they have none.
func (o *LinkOptions) pulse() *pulse {
	if !o.Heartbeat {
		return nil
	}
	return newPulse(o.PeerTimeout)
}

// A heardReader reads a stream, and knows when it was last heard of.
type heardReader struct {
	stream io.Reader
	last   atomic.Int64 // nanoseconds since start, or paused
	start  time.Time
}

// paused stands for the time of a reader that does not read now.
const paused = -1

// newHeardReader returns a reader of a stream, which is heard of now.
func newHeardReader(stream io.Reader) *heardReader {
	return &heardReader{stream: stream, start: time.Now()}
}

func (h *heardReader) Read(b []byte) (int, error) {
	n, err := h.stream.Read(b)
	h.resume()
	return n, err
}

// pause says that silence means nothing, since nobody listens.
func (h *heardReader) pause() { h.last.Store(paused) }

// resume says that the stream is heard of now.
func (h *heardReader) resume() { h.last.Store(int64(time.Since(h.start))) }

// silent returns for how long nothing was heard.
func (h *heardReader) silent() time.Duration {
	if last := h.last.Load(); last != paused {
		return time.Since(h.start) - time.Duration(last)
	}
	return 0
}

// beat sends heartbeats until ctx ends. It has a thread of its own, so that a
// long computation does not look like a death.
func (p *pulse) beat(ctx context.Context, out sender) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			out.send(frame{typ: frameHeartbeat}, nil, nil)
		case <-ctx.Done():
			return
		}
	}
}

// guard has lose called when nothing was heard for too long, and before that,
// once a silence, report, unless it is nil. It returns then, or when ctx ends.
func (p *pulse) guard(ctx context.Context, h *heardReader, report func(silence time.Duration), lose func(error)) {
	ticker := time.NewTicker(p.silence / 4)
	defer ticker.Stop()
	reported := false
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		switch silence := h.silent(); {
		case silence >= p.timeout:
			lose(fmt.Errorf("nothing was heard of it for %v", p.timeout))
			return
		case silence < p.silence:
			reported = false
		case !reported && report != nil:
			reported = true
			report(silence)
		}
	}
}

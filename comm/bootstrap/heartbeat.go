package bootstrap

import (
	"context"
	"fmt"
	"io"
	goruntime "runtime"
	"sync/atomic"
	"time"
)

// A Heartbeat tells streams that are silent because their other end has nothing to
// say from those whose other end is gone.
type Heartbeat struct {
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

// NewHeartbeat returns the heartbeat of streams that carry heartbeats, and are lost when
// nothing comes for timeout, or if that is 0 for ten seconds.
func NewHeartbeat(timeout time.Duration) *Heartbeat {
	if timeout <= 0 {
		timeout = defaultPeerTimeout
	}
	return &Heartbeat{min(beatInterval, timeout/4), min(silenceTime, timeout/2), timeout}
}

// A HeardReader reads a stream, and knows when it was last heard of.
type HeardReader struct {
	stream io.Reader
	last   atomic.Int64 // nanoseconds since start, or paused
	start  time.Time
}

// paused stands for the time of a reader that does not read now.
const paused = -1

// NewHeardReader returns a reader of a stream, which is heard of now.
func NewHeardReader(stream io.Reader) *HeardReader {
	return &HeardReader{stream: stream, start: time.Now()}
}

// Read reads the stream.
func (h *HeardReader) Read(b []byte) (int, error) {
	n, err := h.stream.Read(b)
	h.Resume()
	return n, err
}

// Pause says that silence means nothing, since nobody listens.
func (h *HeardReader) Pause() { h.last.Store(paused) }

// Resume says that the stream is heard of now.
func (h *HeardReader) Resume() { h.last.Store(int64(time.Since(h.start))) }

// Silent returns for how long nothing was heard.
func (h *HeardReader) Silent() time.Duration {
	if last := h.last.Load(); last != paused {
		return time.Since(h.start) - time.Duration(last)
	}
	return 0
}

// Beat calls send at every heartbeat until ctx ends. It has a thread of its own,
// so that a long computation does not look like a death.
func (p *Heartbeat) Beat(ctx context.Context, send func()) {
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	ticker := time.NewTicker(p.interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			send()
		case <-ctx.Done():
			return
		}
	}
}

// Guard has lose called when nothing was heard for too long, and before that,
// once a silence, report, unless it is nil. It returns then, or when ctx ends.
// When this process was itself kept from running, bytes that have come meanwhile are
// read first.
func (p *Heartbeat) Guard(ctx context.Context, h *HeardReader, report func(silence time.Duration), lose func(error)) {
	ticker := time.NewTicker(p.silence / 4)
	defer ticker.Stop()
	reported, before := false, time.Now()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		since := time.Since(before)
		if before = time.Now(); since > p.silence {
			continue
		}
		switch silence := h.Silent(); {
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

package process

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/comm/wire"
)

// A polledTCP is a connection of the operating system's of which Go's scheduler does
// not know, since that would wake a thread whenever something comes. What comes
// is read by whoever waits for it, and by the listener of the polled connections while the
// rank waits for nothing.
//
// Who writes and finds no room reads meanwhile, so that two ranks which write
// to each other do not wait for each other.
type polledTCP struct {
	streamReader
	set *polledTCPSet
	at  int // the file descriptor

	out    sync.Mutex // held to write; guards the next three
	number uint32     // of the next frame
	buf    []byte
	runs   [][]byte
	shut   sync.Once
	gone   atomic.Bool // whether nothing can be written any more
	told   bool        // whether the links know of err; guarded by mu
}

// newPolledTCP returns a polled connection for a connection, which it takes over. The error is that
// the process has no descriptor left for it, or that the connection is closed.
func newPolledTCP(l *Links, peer int, conn *net.TCPConn, heard *bootstrap.HeardReader) (*polledTCP, error) {
	enlarge(conn)
	at, err := detach(conn)
	if err != nil {
		return nil, err
	}
	conn.Close()
	c := &polledTCP{set: &l.polledTCP, at: at}
	c.streamReader = streamReader{links: l, peer: peer, heard: heard, from: readSocket}
	c.in = l.newReader(peer, nil)
	return c, nil
}

// takeFrames takes in what is there, unless somebody else does just now, or if brief is
// true at most one message of a call. It reports whether something was.
func (c *polledTCP) takeFrames(brief bool) bool {
	if !c.mu.TryLock() {
		return false
	}
	if c.err != nil || c.held != nil {
		c.mu.Unlock()
		return false
	}
	before := c.in.Progress()
	c.prompt = brief
	c.takeAll(uintptr(c.at))
	c.prompt = false
	if brief && c.in.HasAhead() {
		c.set.stir()
	}
	came := c.in.Progress() != before
	c.unlock()
	return came
}

// unlock unlocks mu when something was taken in, and tells the links if that was
// the end. Silence means nothing while a message is held: nobody listens.
func (c *polledTCP) unlock() {
	if c.held != nil {
		c.heard.Pause()
	}
	lost := c.err
	if c.told {
		lost = nil
	}
	c.told = c.told || lost != nil
	c.mu.Unlock()
	if lost != nil && c.links.ctx.Err() == nil {
		c.links.lose(c.peer, lost)
	}
}

// takeHeld takes in what was held for the generation that has come.
func (c *polledTCP) takeHeld() {
	c.mu.Lock()
	if held := c.held; held != nil {
		c.held = nil
		c.heard.Resume()
		c.hand(held)
	}
	c.unlock()
}

// open reports whether something may still come that can be taken in, and
// whether some of it is there: a brief take leaves what it has read ahead, of
// which the system no longer tells.
func (c *polledTCP) open() (open, there bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	open = c.err == nil && c.held == nil
	return open, open && c.in.HasAhead()
}

// release makes sure that nothing is read to memory that a message of a call
// was to go to, when the call has ended before all of it had come.
func (c *polledTCP) release(memory []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil { // otherwise nothing is read
		c.in.AbandonBuffer(memory)
	}
}

func (c *polledTCP) Send(f wire.Frame, head, body []byte) {
	c.out.Lock()
	defer c.out.Unlock()
	f.Source = c.links.rank
	payload := wire.Parts{Head: head, Body: body}
	most := c.mostOf(payload.Len())
	c.buf, c.runs = c.buf[:0], c.runs[:0]
	ahead := 0 // bytes of a frame that is written together with the next
	if f.Type == wire.FrameMessage && len(body) >= leastApart && len(head) < wire.LargeWrite {
		c.buf, c.runs = wire.AppendRuns(c.buf, c.runs, &f, &payload, &c.number, len(head))
		ahead = wire.HeaderBytes + len(head)
	}
	for first := true; first || payload.Len() > 0; first = false {
		n := most - ahead
		if payload.Len() <= most+frameRest {
			n = payload.Len()
		}
		c.buf, c.runs = wire.AppendRuns(c.buf, c.runs, &f, &payload, &c.number, n)
		if !c.write() {
			return
		}
		c.buf, c.runs, ahead = c.buf[:0], c.runs[:0], 0
		if payload.Len() > 0 {
			c.set.links.pump() // for the others, who send as well
		}
	}
}

const (
	// tcpFrame is the longest frame that is written without a look at what has
	// come, but for the last of a message: the less is under way, the less falls
	// out of the caches.
	tcpFrame = 256 << 10
	// frameRest is how much more a frame may have than others if that is the end of
	// a message: it is not worth a frame of its own.
	frameRest = 32 << 10
	// leastApart is the length from which the data of a message follow a frame of
	// their own with its head, which says where they belong: below, a copy costs no
	// more than the frame does.
	leastApart = 80 << 10
)

// mostOf returns how much of a payload of so many bytes goes into a frame: as many
// segments as there is room for, since the connection sends what is over as one
// more, which costs it as much as a whole one.
func (c *polledTCP) mostOf(bytes int) int {
	if bytes <= tcpFrame {
		return bytes
	}
	segment := segmentLen(c.at, tcpFrame)
	return tcpFrame/segment*segment - wire.HeaderBytes
}

// write writes runs. It reports false if the other end takes nothing any more.
func (c *polledTCP) write() bool {
	defer clear(c.runs)
	for rest := c.runs; len(rest) > 0; {
		if c.gone.Load() {
			return false
		}
		n, err := writeSocket(c.at, rest)
		switch {
		case errors.Is(err, wire.ErrAgain):
			c.starve()
		case err != nil:
			c.gone.Store(true)
			return false
		}
		rest = behind(rest, n)
	}
	return true
}

// behind returns what is left of runs behind n bytes.
func behind(runs [][]byte, n int) [][]byte {
	for len(runs) > 0 && n >= len(runs[0]) {
		n -= len(runs[0])
		runs = runs[1:]
	}
	if n > 0 {
		runs[0] = runs[0][n:]
	}
	return runs
}

// starve takes in what has come while there is no room to write, and sleeps for
// a moment if nothing has.
func (c *polledTCP) starve() {
	if c.set.links.pump() {
		return
	}
	yieldCore()
	if !c.set.links.pump() {
		c.set.sleep(time.Millisecond, c, nil)
	}
}

// Stop ends what is being sent, and lets nothing be sent any more.
func (c *polledTCP) Stop() { c.gone.Store(true) }

// Close ends the connection. The set closes the file descriptor when nobody uses
// it any more.
func (c *polledTCP) Close() error {
	c.gone.Store(true)
	var err error
	c.shut.Do(func() { err = shutdownSocket(c.at) })
	return err
}

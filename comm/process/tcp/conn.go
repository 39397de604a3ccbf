package tcp

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/comm/process/spin"
	"tpsh/comm/process/stream"
	"tpsh/comm/wire"
)

// A Conn is a polled connection to one peer: it sends, and takes in by its Intake the messages
// that are there when a goroutine polls.
//
// A writer that finds no room reads meanwhile, so that two ranks which write
// to each other do not wait for each other.
type Conn struct {
	*stream.Intake
	set *Set
	at  int // the file descriptor

	out    sync.Mutex // held to write; guards the next three
	number uint32     // of the next frame
	buf    []byte
	runs   [][]byte
	shut   sync.Once
	gone   atomic.Bool // whether nothing can be written any more
	listed bool        // whether it is in Set.ahead; guarded by Set.aheadMu
}

// newConn returns a polled connection for conn, which it takes over. The error is that
// the process has no descriptor left for it, or that the connection is closed.
func newConn(s *Set, peer int, conn *net.TCPConn, heard *bootstrap.HeardReader, in *wire.Reader) (*Conn, error) {
	enlarge(conn)
	at, err := detach(conn)
	if err != nil {
		return nil, err
	}
	conn.Close()
	c := &Conn{set: s, at: at}
	c.Intake = stream.NewIntake(s.host, peer, heard, in, func(b []byte) (int, error) { return readSocket(at, b) })
	c.OnDeaf(c.setDeaf)
	return c, nil
}

// loopbackBuffer is the room for bytes under way between processes of a host.
const loopbackBuffer = 2 << 20

// enlarge gives a connection within the host room for a large block, so that
// its ends need not take turns, and no need to spare anybody. On a network the system
// knows better.
func enlarge(conn *net.TCPConn) {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		conn.SetWriteBuffer(loopbackBuffer)
		conn.SetReadBuffer(loopbackBuffer)
		unpace(conn)
	}
}

// take takes in the messages that are there, or if brief is true one of a call. It
// reports whether there were some.
func (c *Conn) take(brief bool) (came bool) {
	came, _ = c.Take(brief, c.leave)
	return came
}

// leave notes that c has messages that were read ahead.
func (c *Conn) leave() {
	c.set.noteAhead(c)
	c.set.stir()
}

// setDeaf lets the system tell of what comes on c only while it is to be taken in.
func (c *Conn) setDeaf(deaf bool) {
	if deaf {
		c.set.ready.remove(c.at)
	} else {
		c.set.ready.add(c.at, c.Peer()) // there was room for it before
		c.leave()                       // messages may have been read ahead
	}
}

// Send sends head and then body as one message with the numbers of f. It is done with
// both when it returns.
func (c *Conn) Send(f wire.Frame, head, body []byte) {
	c.out.Lock()
	defer c.out.Unlock()
	f.Source = c.set.rank
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
			c.set.host.Pump() // for the other ranks, which send as well
		}
	}
}

const (
	// tcpFrame is the longest frame that is written without a look at messages that have
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
// segments as there is room for, since the connection sends the rest as one
// more, which costs it as much as a whole one.
func (c *Conn) mostOf(bytes int) int {
	if bytes <= tcpFrame {
		return bytes
	}
	segment := segmentLen(c.at, tcpFrame)
	return tcpFrame/segment*segment - wire.HeaderBytes
}

// write writes runs. It reports false if the other end takes nothing any more.
func (c *Conn) write() bool {
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

// behind returns the part of runs behind n bytes.
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

// starve takes in messages while there is no room to write, and sleeps for
// a moment if none have come.
func (c *Conn) starve() {
	if c.set.host.Pump() {
		return
	}
	spin.YieldCore()
	if !c.set.host.Pump() {
		c.set.sleep(time.Millisecond, c, nil, pollList.doze)
	}
}

// Beat sends a heartbeat, unless something is under way, which is heard as well.
func (c *Conn) Beat() {
	if !c.out.TryLock() {
		return
	}
	defer c.out.Unlock()
	if c.gone.Load() {
		return
	}
	number := c.number
	f := wire.Frame{Type: wire.FrameHeartbeat, Source: c.set.rank}
	c.buf = wire.AppendNext(c.buf[:0], &f, &wire.Parts{}, &c.number)
	n, err := writeSocket(c.at, [][]byte{c.buf})
	switch {
	case errors.Is(err, wire.ErrAgain):
		c.number = number
	case err != nil:
		c.gone.Store(true)
	case n < len(c.buf):
		c.runs = append(c.runs[:0], c.buf[n:])
		c.write()
	}
}

// Stop ends the message being sent, and lets nothing be sent any more.
func (c *Conn) Stop() { c.gone.Store(true) }

// Close ends the connection. The set closes the file descriptor when nobody uses
// it any more.
func (c *Conn) Close() error {
	c.gone.Store(true)
	var err error
	c.shut.Do(func() { err = shutdownSocket(c.at) })
	return err
}

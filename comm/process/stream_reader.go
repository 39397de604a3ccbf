package process

import (
	"net"
	"sync"

	"tpsh/comm/bootstrap"
	"tpsh/comm/wire"
)

// A streamReader reads a PollStream, or as part of a polled connection a connection of the operating
// system's. Its listener sleeps until something comes; but whoever waits for it may
// look, and take it in at once, which spares waking another thread.
type streamReader struct {
	links *Links
	peer  int
	conn  *polledConn // nil in a polled connection, as are kick and ready
	heard *bootstrap.HeardReader
	from  func(fd uintptr, b []byte) (int, error)
	kick  func()      // wakes the listener
	ready func() bool // whether something has come

	mu    sync.Mutex
	in    *wire.Reader
	fd    uintptr     // while it is being read
	short bool        // whether the last read has emptied it
	held  *wire.Frame // of a generation that has not come; nil if there is none
	err   error       // after which nothing is read

	prompt bool // whether to stop behind a contract or data
}

// newStreamReader returns a socket for what a rank sends through a stream.
func newStreamReader(l *Links, peer int, p PollStream, heard *bootstrap.HeardReader) *streamReader {
	conn := newPolledConn(p)
	s := &streamReader{links: l, peer: peer, heard: heard, conn: conn, from: conn.read, kick: conn.kick, ready: p.Ready}
	s.in = l.newReader(peer, p.BeginBlock)
	l.pollGroup.add(s, p)
	return s
}

// loopbackBuffer is the room for bytes under way between processes of a host.
const loopbackBuffer = 2 << 20

// enlarge gives a connection within the host room for a large block, so that
// its ends need not take turns, and no need to spare anybody. On a network the system knows better.
func enlarge(conn *net.TCPConn) {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		conn.SetWriteBuffer(loopbackBuffer)
		conn.SetReadBuffer(loopbackBuffer)
		unpace(conn)
	}
}

// read reads for in.
func (s *streamReader) read(b []byte) (int, error) {
	if s.short {
		s.short = false
		return 0, wire.ErrAgain
	}
	n, err := s.from(s.fd, b)
	if n > 0 {
		s.short = n < len(b)
		s.heard.Resume()
	}
	return n, err
}

// takeAll takes in what is there. It reports false if there may be more later.
// The caller holds mu.
func (s *streamReader) takeAll(fd uintptr) (over bool) {
	s.fd, s.short = fd, false
	for s.err == nil && s.held == nil {
		f, err := s.in.Pull(s.read)
		if err == wire.ErrAgain {
			return false
		}
		if s.err = err; err == nil {
			s.hand(f)
			if s.prompt && (f.Type == wire.FrameContract || f.Type == wire.FrameData) {
				return false
			}
		}
	}
	return true
}

// hand gives a message to the rank of its generation, or holds it.
func (s *streamReader) hand(f *wire.Frame) {
	wr, come := s.links.rankIn(f.Generation)
	if !come {
		s.held = f
	} else if wr != nil {
		s.err = wr.acceptFrame(s.peer, f)
	}
}

// poll takes in what is there, unless somebody else does just now.
func (s *streamReader) poll() {
	if !s.ready() {
		return
	}
	if !s.mu.TryLock() {
		s.kick() // whoever is at it may be past what has come
		return
	}
	defer s.mu.Unlock()
	if s.err == nil && s.held == nil {
		s.takeAll(0)
	}
	if s.err != nil || s.held != nil {
		s.kick() // the rest is the listener's
	}
}

// listenStream takes in what comes until the links are closed or the connection is
// no good.
func (s *streamReader) listenStream() {
	for {
		err := s.conn.Read(func(fd uintptr) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.takeAll(fd)
		})
		if s.links.ctx.Err() != nil {
			return
		}
		if failed := s.wait(); failed != nil {
			err = failed
		}
		if err != nil {
			s.links.lose(s.peer, err)
			return
		}
	}
}

// wait waits until the generation has come of which s holds a message, and
// takes that in. It returns the error of s.
func (s *streamReader) wait() error {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	if held != nil {
		s.heard.Pause()
		s.links.awaitGeneration(held.Generation)
		s.heard.Resume()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held != nil {
		s.held = nil
		s.hand(held)
	}
	return s.err
}

// pollRounds is how often a wait looks in vain at what comes through connections
// before it sleeps.
const pollRounds = 300

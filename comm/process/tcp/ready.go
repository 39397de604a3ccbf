package tcp

// fewConns is how many connections are read one after another to see whether something has
// come. Of more the system is asked once, and those are read where something has: what a
// look costs does not grow with their number.
const fewConns = 12

// crowded reports whether so many connections are more than are looked at one after another.
func crowded(conns int) bool { return conns > fewConns }

// noteAhead notes that messages of c were read ahead, of which the system does not tell.
func (s *Set) noteAhead(c *Conn) {
	s.aheadMu.Lock()
	defer s.aheadMu.Unlock()
	if !c.listed {
		c.listed = true
		s.ahead = append(s.ahead, c)
		s.aheads.Store(int32(len(s.ahead)))
	}
}

// takeAhead takes in messages that were read ahead, and reports whether there were some.
func (s *Set) takeAhead(brief bool) (came bool) {
	if s.aheads.Load() == 0 {
		return false
	}
	s.aheadMu.Lock()
	list := s.ahead
	s.ahead = nil
	s.aheads.Store(0)
	for _, c := range list {
		c.listed = false
	}
	s.aheadMu.Unlock()
	for _, c := range list {
		took, busy := c.Take(brief, c.leave)
		if came = came || took; busy { // who is at it may be past them
			s.noteAhead(c)
		}
	}
	return came
}

// readyRooms is how many connections the system is asked for at a time.
const readyRooms = 64

// takeReady takes in the messages that are there on any connection, or if brief is true one of a
// call from each peer. It reports whether there were some.
func (s *Set) takeReady(brief bool) (came bool) {
	came = s.takeAhead(brief)
	var rooms [readyRooms]int
	for rest := len(s.conns()); rest > 0; rest -= readyRooms {
		peers := s.ready.ask(rooms[:0])
		for _, r := range peers {
			if c := s.by[r].Load(); c != nil { // it may be about to be added
				came = c.take(brief) || came
			}
		}
		if len(peers) < readyRooms {
			break
		}
	}
	return came
}

package comm

import (
	"context"
	"sync/atomic"
	"time"
)

// cables are the connections of a rank to others of which Go's scheduler does
// not know.
//
// Who waits looks at them for a moment and then sleeps at them; the listener
// leaves them alone as long as the rank looks now and then, so that what comes
// wakes one thread and not two.
type cables struct {
	links *Links
	all   []*cable
	by    []*cable      // by rank, nil where there is none
	looks atomic.Uint64 // how often the rank has looked
	here  atomic.Int32  // goroutines that sleep at the cables
	aside atomic.Int32  // waits of calls that go on beside the rank
	dozes atomic.Bool   // whether the listener sleeps at the cables, or is about to
	bell  *rouser       // of those who sleep at the cables
	ear   *rouser       // of the listener that does
	kick  chan struct{} // holds an element when the listener is to listen
}

// start begins to listen, if there are cables.
func (s *cables) start() error {
	if len(s.all) == 0 {
		return nil
	}
	var err error
	if s.bell, err = newRouser(); err == nil {
		s.ear, err = newRouser()
	}
	if err != nil {
		return err
	}
	s.kick = make(chan struct{}, 1)
	s.links.tasks.Go(s.listen)
	return nil
}

// add makes c one of the cables.
func (s *cables) add(c *cable) {
	s.all = append(s.all, c)
	s.by[c.peer] = c
}

// look takes in what has come from a rank, at most one message of a call, so
// that the rank can get ready for the next when it has it. It reports whether
// something has come, and may be called on nil.
func (s *cables) look(rank int) (came bool) {
	if s == nil || s.by[rank] == nil {
		return false
	}
	s.looks.Add(1)
	return s.by[rank].take(true)
}

// pump takes in what has come, and reports whether there was something.
func (s *cables) pump() bool {
	s.looks.Add(1)
	came := false
	for _, c := range s.all {
		came = c.take(false) || came
	}
	if sl := s.links.segment; sl != nil && sl.waiting() {
		sl.pump()
		came = true
	}
	return came
}

// turn takes in what was held for the generation that has come.
func (s *cables) turn() {
	for _, c := range s.all {
		c.turn()
	}
	if s.ear != nil {
		s.ear.rouse()
	}
}

// sleep returns when something may have come, one that wants to write may, the
// rouser was roused, or after timeout.
func (s *cables) sleep(timeout time.Duration, writer *cable, r *rouser) {
	var list pollList
	for _, c := range s.all {
		open, there := c.open()
		if there {
			return
		}
		if open || c == writer {
			list.add(c.at, open, c == writer)
		}
	}
	if r != nil {
		list.add(r.at, true, false)
	}
	list.wait(timeout)
	if r != nil {
		r.calm()
	}
}

const (
	// A listener looks whether the rank does between these times, the longer the
	// longer it has.
	leastAbsence = 500 * time.Microsecond
	mostAbsence  = 4 * time.Millisecond
)

// listen takes in what comes while the rank does not look.
func (s *cables) listen() {
	defer context.AfterFunc(s.links.ctx, func() { s.ear.rouse(); s.bell.rouse() })()
	timer := time.NewTimer(leastAbsence)
	defer timer.Stop()
	for absence := leastAbsence; s.links.ctx.Err() == nil; {
		looks := s.looks.Load()
		timer.Reset(absence)
		select {
		case <-timer.C:
		case <-s.kick:
		case <-s.links.ctx.Done():
		}
		if s.aside.Load() == 0 && (s.looks.Load() != looks || s.here.Load() > 0) {
			absence = min(2*absence, mostAbsence)
			continue
		}
		absence = leastAbsence
		s.attend()
	}
}

// attend takes in what comes until the rank looks.
func (s *cables) attend() {
	for looks := s.looks.Load(); s.links.ctx.Err() == nil; {
		for _, c := range s.all {
			c.take(false)
		}
		if s.aside.Load() == 0 && (s.looks.Load() != looks || s.here.Load() > 0) {
			return
		}
		s.dozes.Store(true)
		s.sleep(s.links.naps.long, nil, s.ear)
		s.dozes.Store(false)
	}
}

// stir wakes the listener if it sleeps: of what the rank has read ahead the system
// does not tell it. Who calls it holds the mu of the cable, at which the listener
// looks before it sleeps.
func (s *cables) stir() {
	if s.dozes.Load() {
		s.ear.rouse()
	}
}

// heed has the listener take in what comes from now on until unheed, for a wait
// that does not look.
func (s *cables) heed() {
	s.aside.Add(1)
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

func (s *cables) unheed() { s.aside.Add(-1) }

// rouse wakes those who sleep at the cables.
func (s *cables) rouse() {
	if s.here.Load() > 0 {
		s.bell.rouse()
	}
}

// await is station.await for a goroutine that sleeps at the cables.
func (s *cables) await(ctx context.Context, st *station, w *watcher) error {
	for i := range pollRounds {
		if over, err := st.look(w, false); over {
			return err
		}
		yield(i)
		s.pump()
	}
	return st.nap(ctx, s.bell.rouse, func(nap time.Duration, tell bool) (bool, error) { return s.awaitRoused(ctx, st, w, nap, tell) })
}

// awaitRoused looks once whether w is over, and sleeps if it is not.
func (s *cables) awaitRoused(ctx context.Context, st *station, w *watcher, nap time.Duration, tell bool) (bool, error) {
	s.here.Add(1)
	defer s.here.Add(-1)
	s.pump()
	if over, err := st.ends(ctx, w, tell); over {
		return true, err
	}
	s.sleep(nap, nil, s.bell)
	return false, nil
}

// close closes what nobody uses any more.
func (s *cables) close() {
	for _, c := range s.all {
		c.mu.Lock()
		c.out.Lock()
		c.err, c.told = errLinksClosed, true
		closeSocket(c.at)
		c.out.Unlock()
		c.mu.Unlock()
	}
	if s.ear != nil {
		s.bell.close()
		s.ear.close()
	}
}

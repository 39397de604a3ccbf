package lang

import "time"

// A stopwatch says when a time has gone by, but for pauses.
type stopwatch struct {
	timer  *time.Timer // nil for no end
	left   time.Duration
	since  time.Time // when left was true
	paused bool
}

// start begins with a time; 0 is for no end.
func (s *stopwatch) start(d time.Duration) {
	if d > 0 {
		s.timer, s.left, s.since = time.NewTimer(d), d, time.Now()
	}
}

func (s *stopwatch) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}

// expired returns the channel that is sent to when the time has gone by; nil for never.
func (s *stopwatch) expired() <-chan time.Time {
	if s.timer == nil {
		return nil
	}
	return s.timer.C
}

// pause stops the time, or lets it go on.
func (s *stopwatch) pause(on bool) {
	if s.timer == nil || on == s.paused {
		return
	}
	s.paused = on
	if on {
		s.timer.Stop()
		s.left -= time.Since(s.since)
		return
	}
	s.since = time.Now()
	s.timer.Reset(max(s.left, 0))
}

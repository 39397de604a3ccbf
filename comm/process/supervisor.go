package process

import (
	"time"

	"tpsh/comm"
	"tpsh/comm/deadlock"
	"tpsh/comm/wire"
)

// A supervisor drives the machine of one generation: it hands it the events
// that come, and sends the verdicts that follow.
type supervisor struct {
	number  uint32          // of the generation
	writers []messageWriter // to each rank
	events  chan deadlock.Event
	done    <-chan struct{} // closed when there is no more to do
	settled chan struct{}   // closed when the list of messages not received is complete
	machine *deadlock.Machine

	notice func(line string) // of Fabric.Notice, nil if nobody has asked; set before the event that asks
}

// newSupervisor returns a supervisor that works until done is closed.
func newSupervisor(done <-chan struct{}, o deadlock.Options) *supervisor {
	return &supervisor{
		writers: make([]messageWriter, o.Size),
		events:  make(chan deadlock.Event),
		done:    done,
		settled: make(chan struct{}),
		machine: deadlock.NewMachine(o),
	}
}

// readReports passes on a rank's reports, until it sends no more or what is no
// report.
func (s *supervisor) readReports(rank int, in *wire.Reader) {
	for {
		f, err := in.Next()
		var r *deadlock.Report
		if err == nil {
			r, err = wire.ReadReport(f, len(s.writers))
		}
		s.tell(deadlock.Event{Rank: rank, Report: r, Lost: err})
		if err != nil {
			return
		}
	}
}

// tell hands an event to run.
func (s *supervisor) tell(e deadlock.Event) {
	select {
	case s.events <- e:
	case <-s.done:
	}
}

// noticeWaits asks for a line whenever a rank has waited for longer than after.
func (s *supervisor) noticeWaits(after time.Duration, fn func(line string)) {
	s.notice = fn
	s.tell(deadlock.Event{NoticeAfter: after})
}

// run acts on events until there is no more to do.
func (s *supervisor) run() {
	timer := time.NewTimer(0)
	timer.Stop()
	defer timer.Stop()
	var due time.Time // when the timer fires, zero for never
	for {
		var e deadlock.Event
		select {
		case e = <-s.events:
		case <-timer.C:
		case <-s.done:
			return
		}
		s.act(s.machine.Step(time.Now(), e))
		if next := s.machine.Due(); next != due || !next.IsZero() && !time.Now().Before(next) {
			if due = next; due.IsZero() {
				timer.Stop()
			} else {
				timer.Reset(time.Until(due))
			}
		}
	}
}

// act sends and tells the outcome of an event.
func (s *supervisor) act(o *deadlock.Outcome) {
	for _, v := range o.Verdicts {
		s.writers[v.To].Send(wire.Frame{Type: wire.FrameVerdict, Generation: s.number}, wire.AppendVerdict(nil, v.Verdict), nil)
	}
	for _, line := range o.Notices {
		s.notice(line)
	}
	if o.Settled {
		select {
		case <-s.settled:
		default:
			close(s.settled)
		}
	}
}

// unreceived returns the messages that no rank has received, once the list is complete.
func (s *supervisor) unreceived() []comm.Unreceived {
	select {
	case <-s.settled:
		return s.machine.Unreceived()
	case <-s.done:
		return nil
	}
}

package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// A stopRequest is what becomes of a scheduler's wish that a job end: of SIGTERM, and
// of SIGUSR1 where there is that. A program that asks for it (should_stop) is told,
// and ends by itself; any other ends at once, as by an interrupt.
type stopRequest struct {
	until context.Context // whose end is that of the job, too; nil for none

	mu    sync.Mutex
	tell  func() bool // tells the program, and reports whether it will listen; nil for one that will not
	asked bool        // the program was told
}

// sameRequest is how soon after a signal another is the same wish: a scheduler may
// signal all the processes of a step, and its launcher pass the signal on.
const sameRequest = time.Second

// hear returns a context that ends when the job is to end at once.
func (s *stopRequest) hear() (context.Context, context.CancelFunc) {
	goOn := unreadGoesOn()
	until := s.until
	if until == nil {
		until = context.Background()
	}
	ctx, stop := signal.NotifyContext(until, hangups()...)
	come := make(chan os.Signal, 4)
	signal.Notify(come, stopRequests()...)
	hearsItself()
	go func() {
		var first time.Time
		for {
			select {
			case <-come:
			case <-ctx.Done():
				return
			}
			switch now := time.Now(); {
			case first.IsZero() && s.ask():
				first = now
			case first.IsZero() || now.Sub(first) >= sameRequest:
				stop()
			}
		}
	}()
	return ctx, func() {
		signal.Stop(come)
		stop()
		goOn()
	}
}

// ask tells the program, once, and reports whether it listens.
func (s *stopRequest) ask() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = s.asked || s.tell != nil && s.tell()
	return s.asked
}

// through sets how the program is told; nil if it is over.
func (s *stopRequest) through(tell func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell = tell
}

// hangups are the signals that end a command at once: an interrupt, and the loss of
// the terminal, unless the process was started to ignore that.
func hangups() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{os.Interrupt}
	}
	return []os.Signal{os.Interrupt, syscall.SIGHUP}
}

// stopRequests are the signals by which schedulers ask a job to end.
func stopRequests() []os.Signal { return append([]os.Signal{syscall.SIGTERM}, userSignals...) }

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"tpsh/lang"
)

// endings are the requests to end, and the loss of the terminal, unless the
// process was started to ignore that.
func endings() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

// interruptible returns a context that an interrupt or one of endings ends.
func interruptible() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), append(endings(), os.Interrupt)...)
}

// atEnding ends the process behind f when one of endings comes, until it is
// released. It is for a command that may be reading from a terminal, which
// nothing else interrupts.
func atEnding(f func()) (release func()) {
	come, quit, done := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(come, endings()...)
	go func() {
		defer close(done)
		select {
		case <-come:
			f()
			os.Exit(lang.StatusInterrupted)
		case <-quit:
		}
	}()
	return func() {
		signal.Stop(come)
		close(quit)
		<-done
	}
}

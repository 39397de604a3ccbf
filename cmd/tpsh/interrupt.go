package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
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

// errInterrupted is the error of a command that an interrupt or one of endings
// ended before there was a program to end.
var errInterrupted = errors.New("interrupted")

// hearsItself ends hearEarly: the command hears interrupts itself.
var hearsItself = sync.OnceFunc(func() {})

// hearEarly ends the process with a line when an interrupt or one of endings
// comes before the command hears them itself, by interruptible or atEnding.
func hearEarly(to io.Writer) {
	come, quit := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(come, append(endings(), os.Interrupt)...)
	end := func() {
		fmt.Fprintf(to, "tpsh: %v\n", errInterrupted)
		os.Exit(lang.StatusInterrupted)
	}
	hearsItself = sync.OnceFunc(func() {
		signal.Stop(come)
		close(quit)
		select {
		case <-come: // before the command heard any, perhaps
			end()
		default:
		}
	})
	go func() {
		select {
		case <-come:
			end()
		case <-quit:
		}
	}()
}

// interruptible returns a context that an interrupt or one of endings ends.
// Until it is released, writing what nobody reads any more is an error.
func interruptible() (context.Context, context.CancelFunc) {
	goOn := unreadGoesOn()
	ctx, stop := signal.NotifyContext(context.Background(), append(endings(), os.Interrupt)...)
	hearsItself()
	return ctx, func() {
		stop()
		goOn()
	}
}

// unreadGoesOn makes writing to standard output or error, when nobody reads it
// any more, an error and not the end of the process, which would leave what its
// ranks have in temporary folders. It is so until it is released.
func unreadGoesOn() (release func()) {
	ignored := make(chan os.Signal, 1)
	signal.Notify(ignored, syscall.SIGPIPE)
	return func() { signal.Stop(ignored) }
}

// atEnding ends the process behind f when one of endings comes, until it is
// released. It is for a command that may be reading from a terminal, which
// nothing else interrupts.
func atEnding(f func()) (release func()) {
	goOn := unreadGoesOn()
	come, quit, done := make(chan os.Signal, 1), make(chan struct{}), make(chan struct{})
	signal.Notify(come, endings()...)
	hearsItself()
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
		goOn()
		signal.Stop(come)
		close(quit)
		<-done
	}
}

package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptible returns a context that an interrupt, a request to end, or the
// loss of the terminal ends, unless the process was started to ignore that.
func interruptible() (context.Context, context.CancelFunc) {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signal.NotifyContext(context.Background(), signals...)
}

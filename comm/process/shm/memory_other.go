//go:build !linux

package shm

import (
	"errors"
	"os"
	"time"
)

var errNoMemory = errors.New("got this system, want Linux")

func createMemory(int) (*os.File, error) { return nil, errNoMemory }

func mapMemory(*os.File) ([]byte, error) { return nil, errNoMemory }

func unmapMemory([]byte) error { return errNoMemory }

// Without shared memory no process waits for a word of it, nor wakes one that does.

func futexWait(*uint32, uint32, time.Duration) {}

func futexWake(*uint32) {}

var ErrNoProcess = errors.New("no such process")

func processID() int { return 0 }

const mostRuns = 1

func readRuns(int, []localRun, []remoteRun) (int, error) { return 0, errors.ErrUnsupported }

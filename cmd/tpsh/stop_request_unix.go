//go:build unix

package main

import (
	"os"
	"syscall"
)

// userSignals are those that schedulers can be told to send some time before a job's
// end, as by sbatch --signal=USR1@60.
var userSignals = []os.Signal{syscall.SIGUSR1}

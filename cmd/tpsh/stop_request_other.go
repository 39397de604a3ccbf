//go:build !unix

package main

import "os"

// userSignals are those of no system but Unix.
var userSignals []os.Signal

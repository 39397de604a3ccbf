//go:build !linux

package main

import "tpsh/lang"

// boundMemory does nothing: the watch is alone here.
func boundMemory(*lang.Watch) {}

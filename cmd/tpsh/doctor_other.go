//go:build !linux

package main

// systemChecks are those of the system, of which tpsh asks nothing here.
func systemChecks() []check { return nil }

//go:build !linux

package launch

import "os"

// Machine names what processes must have in common to share memory: nothing
// suffices.
func Machine() string { return "" }

// pathOf returns a path under which other processes can open a file.
func pathOf(f *os.File) string { return f.Name() }

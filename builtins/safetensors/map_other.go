//go:build !unix

package safetensors

import "os"

// newSource returns f itself: this system is read from, not mapped.
func newSource(f *os.File, size int64) source { return f }

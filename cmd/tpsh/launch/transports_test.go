package launch

import (
	"slices"
	"testing"
)

// Shared memory is Linux's alone, and on Windows ranks are no processes.
func TestTransportsOn(t *testing.T) {
	for system, want := range map[string][]string{
		"linux": {SharedMemory, Sockets, Automatic}, "darwin": {Sockets}, "freebsd": {Sockets}, "windows": nil,
	} {
		if got := transportsOn(system); !slices.Equal(got, want) {
			t.Errorf("on %s: got %q, want %q", system, got, want)
		}
	}
}

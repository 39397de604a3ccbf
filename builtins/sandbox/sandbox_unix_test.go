//go:build unix

package sandbox

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A pipe that nobody writes to would block whoever opens it.
func TestPipe(t *testing.T) {
	tr := newTree(t)
	if err := syscall.Mkfifo(filepath.Join(tr.dir, "in/pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := tr.read("in/pipe"); err != errSpecial {
		t.Errorf("read: got %v, want %v", err, errSpecial)
	}
	if err := tr.write("in/pipe", "x"); err != errSpecial {
		t.Errorf("write: got %v, want %v", err, errSpecial)
	}
}

package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"tpsh/cmd/tpsh/launch"
)

// newScratch returns the path of a folder for temporary files that is not there
// yet. Who is given it removes it.
func newScratch() string { return newScratchIn(os.TempDir()) }

// newScratchIn returns the path of a folder in another that is not there yet, and that
// nobody can make before it is: its name cannot be guessed.
func newScratchIn(parent string) string {
	return filepath.Join(parent, fmt.Sprintf("%s%d-%s", scratchPrefix(), os.Getpid(), rand.Text()))
}

// scratchPrefix is what the names of the folders of newScratch begin with, before
// the number of the process: it is another on every machine and in every
// container, for they may share their folders.
func scratchPrefix() string {
	h := fnv.New64a()
	h.Write([]byte(launch.Machine()))
	return fmt.Sprintf("tpsh-%016x-", h.Sum64())
}

// sweep removes the folders that commands of this machine have left which were
// killed before they could.
func sweep() {
	if launch.Machine() == "" {
		return
	}
	prefix := scratchPrefix()
	dir, err := os.Open(os.TempDir())
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // of which there may be thousands
	for _, name := range names {
		rest, ours := strings.CutPrefix(name, prefix)
		if !ours {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(rest, "%d-", &pid); err == nil && gone(pid) {
			os.RemoveAll(filepath.Join(os.TempDir(), name))
		}
	}
}

// gone reports whether there is no process of that number.
func gone(pid int) bool {
	p, err := os.FindProcess(pid)
	return err == nil && errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

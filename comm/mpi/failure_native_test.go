//go:build native && linux

package mpi_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tpsh/comm/mpi"
)

// The library of one MPI under the launcher of another is refused: it would
// make worlds of one rank each.
func TestWrongLauncher(t *testing.T) {
	names := []string{"libmpi.so.40", "libmpich.so.12"}
	for i, l := range launchers {
		if _, err := exec.LookPath(l.command[0]); err != nil {
			t.Logf("%s is not tested: %v", l.name, err)
			continue
		}
		other := names[1-i]
		if _, err := mpi.Find(named(other)); err != nil {
			t.Logf("%s is not tested with %s: %v", l.name, other, err)
			continue
		}
		out, err := mpirun(t, l.command, 2, []string{"TPSH_MPI=" + other}, "streams")
		for _, want := range []string{"of 1 by " + launchers[1-i].name, "of 2, which the launcher of " + l.name + " has started", "TPSH_MPI"} {
			if err == nil || !strings.Contains(out, want) {
				t.Errorf("%s with %s: got %v and\n%s\nwant a failure with %q", l.name, other, err, out, want)
			}
		}
	}
}

// named returns an environment that names a library.
func named(library string) func(string) (string, bool) {
	return func(name string) (string, bool) { return library, name == "TPSH_MPI" }
}

// What is no MPI library is refused, and is said to be none.
func TestFindFails(t *testing.T) {
	text := filepath.Join(t.TempDir(), "libmpi.so")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"/nowhere/libmpi.so": "No such file",
		"rubbish":            "cannot open shared object file",
		text:                 "too short",
		"libc.so.6":          "it has no MPI_Get_library_version",
		"\x00":               "want the file of an MPI library",
	} {
		l, err := mpi.Find(named(name))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `mpi: for variable "TPSH_MPI": got `) {
			t.Errorf("%q: got %v and %v, want an error about %q", name, l, err, want)
		}
	}
	if w, err := mpi.Join(mpi.Options{}); err == nil {
		t.Errorf("join without a library: got %v, want an error", w)
	}
}

// What is found says where and what it is.
func TestFindInstalled(t *testing.T) {
	for name, family := range map[string]string{"libmpi.so.40": "Open MPI", "libmpich.so.12": "MPICH"} {
		l, err := mpi.Find(named(name))
		if err != nil {
			t.Logf("%s is not tested: %v", name, err)
			continue
		}
		if l.Family != family || !strings.HasPrefix(l.Path, "/") || l.Version == "" {
			t.Errorf("%s: got %+v, want one of %s with path and version", name, l, family)
		}
	}
}

// One rank that aborts ends all, though they wait for it.
func TestAbort(t *testing.T) {
	eachLauncher(t, []int{3}, func(t *testing.T, command []string, size int) {
		begun := time.Now()
		out, err := mpirun(t, command, size, nil, "abort")
		// Ranks that are left waiting are ended after five minutes.
		if err == nil || strings.Contains(out, "done") || time.Since(begun) > 4*time.Minute {
			t.Errorf("got %v after %v and\n%s\nwant a failure of all", err, time.Since(begun), out)
		}
	})
}

func abortScenario(_ *testing.T, w *mpi.World, _ []string) error {
	if w.Rank() == 1 {
		time.Sleep(50 * time.Millisecond)
		return errors.New("rank 1 gives up")
	}
	_, err := w.Stream(1, mpi.Data).Read(make([]byte, 1))
	return err
}

// A world is closed though there is on its way what nobody reads.
func TestLeaves(t *testing.T) { playAll(t, []int{2, 4}, "leave") }

func leaveScenario(_ *testing.T, w *mpi.World, _ []string) error {
	for peer := range w.Size() {
		if peer == w.Rank() {
			continue
		}
		s := w.Stream(peer, mpi.Data).(*mpi.Stream)
		s.Write([]byte("a word"))
		go s.Write(make([]byte, 5<<20))
		s.WriteBlock(make([]byte, 5<<20))
		w.Stream(peer, mpi.Control).(*mpi.Stream).BeginBlock(make([]byte, 100))
	}
	time.Sleep(time.Duration(w.Rank()) * 10 * time.Millisecond)
	return nil
}

//go:build native && linux

package mpi_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"tpsh/comm/mpi"
)

// scenarioVariable makes a process of the test binary a rank that plays a
// scenario, with arguments.
const scenarioVariable = "TPSH_MPI_TEST"

// A scenario is what a rank does. What it returns is what is wrong.
type scenario func(t *testing.T, w *mpi.World, args []string) error

var scenarios = map[string]scenario{
	"abort":   abortScenario,
	"bench":   benchScenario,
	"conform": conformScenario,
	"huge":    hugeScenario,
	"leave":   leaveScenario,
	"streams": streamScenario,
}

// TestAsRank is the test of a process that is a rank; in others it has nothing
// to do.
func TestAsRank(t *testing.T) {
	words := strings.Fields(os.Getenv(scenarioVariable))
	if len(words) == 0 {
		return
	}
	if err := play(t, words[0], words[1:]); err != nil {
		t.Fatal(err)
	}
}

// play joins the world and plays a scenario.
func play(t *testing.T, name string, args []string) error {
	launch, _ := mpi.Launched(os.LookupEnv)
	library, err := mpi.Find(os.LookupEnv)
	if err != nil {
		return err
	}
	w, err := mpi.Join(mpi.Options{Library: library, Launch: launch})
	if err != nil {
		return err
	}
	if err := scenarios[name](t, w, args); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %v\n", w, err)
		w.Abort(1)
	}
	if err := w.Close(); err != nil {
		return err
	}
	fmt.Printf("rank %d done\n", w.Rank())
	return nil
}

// launchers are how an MPI starts ranks, with the variable that names its
// library where another would be found.
var launchers = []struct {
	name    string
	command []string
}{
	{"Open MPI", []string{"mpirun.openmpi", "--allow-run-as-root", "--oversubscribe"}},
	{"MPICH", []string{"mpirun.mpich"}},
}

// mpirun has size ranks play a scenario, and returns what they print.
func mpirun(t *testing.T, command []string, size int, environment []string, scenario ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	args := append(command[1:len(command):len(command)], "-n", fmt.Sprint(size), os.Args[0], "-test.run=^TestAsRank$", "-test.count=1")
	cmd := exec.CommandContext(ctx, command[0], args...)
	cmd.Env = append(append(os.Environ(), scenarioVariable+"="+strings.Join(scenario, " ")), environment...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it ends the ranks
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// eachLauncher runs a test with every launcher that is installed, and numbers
// of ranks.
func eachLauncher(t *testing.T, sizes []int, test func(t *testing.T, command []string, size int)) {
	for _, l := range launchers {
		if _, err := exec.LookPath(l.command[0]); err != nil {
			t.Logf("%s is not tested: %v", l.name, err)
			continue
		}
		for _, size := range sizes {
			t.Run(fmt.Sprintf("%s/%d", l.name, size), func(t *testing.T) { test(t, l.command, size) })
		}
	}
}

// playAll has ranks play a scenario under every launcher, and checks that all
// come to its end.
func playAll(t *testing.T, sizes []int, scenario ...string) {
	eachLauncher(t, sizes, func(t *testing.T, command []string, size int) {
		out, err := mpirun(t, command, size, nil, scenario...)
		if err != nil || strings.Count(out, "done\n") != size {
			t.Errorf("got %v and\n%s\nwant %d ranks that are done", err, out, size)
		}
	})
}

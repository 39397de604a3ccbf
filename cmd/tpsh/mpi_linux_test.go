package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tpsh/comm/mpi"
)

// mpiruns are the launchers that the tests use where they are installed, with
// what lets them start more ranks than there are cores, as any user.
var mpiruns = map[string][]string{
	"Open MPI": {"mpirun.openmpi", "-q", "--allow-run-as-root", "--oversubscribe"},
	"MPICH":    {"mpirun.mpich"},
}

// underMPIs calls test with every launcher that is installed, if this binary can
// join what they start.
func underMPIs(t *testing.T, test func(t *testing.T, mpirun []string)) {
	if !mpi.Built {
		t.Logf("nothing to launch: this binary opens no MPI (it does with -tags native)")
		return
	}
	for name, mpirun := range mpiruns {
		if _, err := exec.LookPath(mpirun[0]); err != nil {
			t.Logf("%s is not tested: %v", name, err)
			continue
		}
		t.Run(name, func(t *testing.T) { test(t, mpirun) })
	}
}

// Each file of testdata/mpi is one behaviour of the command under a launcher of
// MPI, to which mpirun is a name there. status N COMMAND carries out a command
// that ends with that exit status.
func TestMPIScripts(t *testing.T) {
	underMPIs(t, func(t *testing.T, mpirun []string) {
		bin := t.TempDir()
		for name, lines := range map[string]string{
			"mpirun": fmt.Sprintf("exec %s \"$@\"\n", strings.Join(mpirun, " ")),
			"status": "want=$1; shift; \"$@\"; got=$?\n[ $got = $want ] || { echo \"exit status $got, want $want\" >&2; exit 99; }\n",
		} {
			if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+lines), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		testscript.Run(t, testscript.Params{Dir: "testdata/mpi", RequireExplicitExec: true, Condition: condition, Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			return findPorts(env)
		}})
	})
}

// A launched is a job of a launcher of MPI that prints go and then works without
// end.
type launched struct {
	cmd    *exec.Cmd
	stderr bytes.Buffer
	pids   []int // by rank
}

// launchLoop starts such a job, with 3 ranks, and waits until it works.
func launchLoop(t *testing.T, mpirun []string) *launched {
	script := filepath.Join(t.TempDir(), "loop.star")
	if err := os.WriteFile(script, []byte("print(\"go\")\nwhile True:\n    all_reduce(ones(1000))\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	l := &launched{cmd: exec.Command(mpirun[0], append(mpirun[1:], "-n", "3", os.Args[0], "run", "--output", "raw", script)...)}
	l.cmd.Env = append(os.Environ(), commandVariable+"=1")
	l.cmd.Stdout, l.cmd.Stderr, l.cmd.WaitDelay = out, &l.stderr, 10*time.Second
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.cmd.Process.Kill(); l.cmd.Wait() })
	within(t, timeToEnd, "a rank prints go", func() bool {
		data, err := os.ReadFile(out.Name())
		return err == nil && bytes.Contains(data, []byte("go\n"))
	})
	within(t, timeToEnd, "all ranks are there", func() bool {
		l.pids = ranksOf(script)
		return len(l.pids) == 3
	})
	return l
}

// within waits until something is so.
func within(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v it is not so that %s", limit, what)
		}
	}
}

// ranksOf returns the processes that run a script under a launcher of MPI, by
// rank.
func ranksOf(script string) []int {
	pids := map[int]int{}
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || !bytes.Contains(line, []byte("run\x00--output\x00raw\x00"+script+"\x00")) {
			continue
		}
		env, _ := os.ReadFile(filepath.Join(dir, "environ"))
		l, ok := mpi.Launched(func(name string) (string, bool) {
			for _, v := range strings.Split(string(env), "\x00") {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value, true
				}
			}
			return "", false
		})
		if ok {
			pids[l.Rank], _ = strconv.Atoi(filepath.Base(dir))
		}
	}
	var all []int
	for rank := 0; pids[rank] > 0; rank++ {
		all = append(all, pids[rank])
	}
	return all
}

// end waits for the end of the job, and returns its exit status. No rank
// remains.
func (l *launched) end(t *testing.T) int {
	ended := make(chan error, 1)
	go func() { ended <- l.cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(timeToEnd):
		l.cmd.Process.Kill()
		<-ended
		t.Fatalf("the job does not end; it wrote:\n%s", &l.stderr)
	}
	within(t, timeToEnd, "no rank remains", func() bool {
		for _, pid := range l.pids {
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				return false
			}
		}
		return true
	})
	return l.cmd.ProcessState.ExitCode()
}

// An interrupt of rank 0, which is what a launcher makes of one of its own, ends
// the job in good order; the launcher ends it when a rank is killed.
func TestMPISignals(t *testing.T) {
	underMPIs(t, func(t *testing.T, mpirun []string) {
		for _, rank := range []int{0, 2} {
			l := launchLoop(t, mpirun)
			syscall.Kill(l.pids[rank], syscall.SIGKILL)
			if status := l.end(t); status == 0 {
				t.Errorf("rank %d killed: got exit status %d, want another", rank, status)
			}
		}
		l := launchLoop(t, mpirun)
		syscall.Kill(l.pids[0], syscall.SIGINT)
		if status := l.end(t); status != 130 || !strings.Contains(l.stderr.String(), "interrupted\n") {
			t.Errorf("interrupt of rank 0: got exit status %d, want 130; it wrote:\n%s", status, &l.stderr)
		}
		l = launchLoop(t, mpirun)
		l.cmd.Process.Signal(syscall.SIGINT)
		l.end(t) // the status is the launcher's
		if !strings.Contains(l.stderr.String(), "interrupted\n") {
			t.Errorf("interrupt of the launcher: no report; it wrote:\n%s", &l.stderr)
		}
	})
}

// What a launcher has told decides what a command is one process of.
func TestChooseWorld(t *testing.T) {
	openMPI := []string{"OMPI_COMM_WORLD_RANK=1", "OMPI_COMM_WORLD_SIZE=4"}
	mpich := []string{"PMI_RANK=0", "PMI_SIZE=2"}
	slurm := []string{"SLURM_PROCID=1", "SLURM_NTASKS=2", "SLURM_STEP_ID=0", "SLURM_STEP_NODELIST=a"}
	torchrun := []string{"RANK=1", "WORLD_SIZE=2", "MASTER_ADDR=a", "MASTER_PORT=29500"}
	const alone, joins = "alone", "joins"
	tests := []struct {
		transport     string // "" if the flag is not given
		placed        bool
		env           []string
		plain, native string // what becomes of it, or a part of the error
	}{
		{"", false, nil, alone, alone},
		{"shm", false, nil, alone, alone},
		{"auto", false, nil, alone, alone},
		{"mpi", false, nil, "built with CGO_ENABLED=0 go build -tags native", "no launcher of MPI has started this process"},
		{"mpi", false, openMPI, "built with", joins},
		{"mpi", false, slurm, "built with", joins},
		{"", false, openMPI, "started 4 copies of this command, which cannot join each other", joins},
		{"auto", false, mpich, "started 2 copies", joins},
		{"tcp", false, mpich, "started 2 copies", `got "tcp", want mpi, or start the command once (the launcher of MPICH has started 2 copies)`},
		{"tcp", true, mpich, alone, alone},
		{"", true, openMPI, alone, alone},
		{"", false, slurm, alone, alone},
		{"", false, append(slurm, "PMI_RANK=1", "PMI_SIZE=2"), alone, joins},
		{"tcp", false, append(slurm, "PMI_RANK=1", "PMI_SIZE=2"), alone, alone},
		{"tcp", false, append(torchrun, mpich...), alone, alone},
		{"", false, []string{"PMI_RANK=0", "PMI_SIZE=1"}, alone, joins},
		{"inproc", false, []string{"PMI_RANK=0", "PMI_SIZE=1"}, alone, alone},
	}
	for _, test := range tests {
		env := func(name string) (string, bool) {
			for _, v := range test.env {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value, true
				}
			}
			return "", false
		}
		l, err := chooseWorld(test.transport, test.transport != "", test.placed, env)
		got, want := alone, test.plain
		if mpi.Built {
			want = test.native
		}
		switch {
		case err != nil:
			got = err.Error()
		case l != nil:
			got = joins
		}
		if !strings.Contains(got, want) {
			t.Errorf("chooseWorld(%q, placed %v) in %v: got %s, want %s", test.transport, test.placed, test.env, got, want)
		}
	}
}

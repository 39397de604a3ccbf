package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"tpsh/cmd/tpsh/launch/launchtest"
)

// stoppingProgram trains until it is asked to stop, and saves then. It says when it
// has begun.
const stoppingProgram = `
w = zeros(4)
for step in range(10000000):
    w = w + all_reduce(ones(4))
    if step == 3 and rank() == 0:
        print("go")
    if should_stop():
        if rank() == 0:
            save_npz(resume_dir() + "/state.npz", {"w": w})
        barrier()
        break
print("saved after the same step:", len(set([s for s in all_gather_object(step)])) == 1)
`

// A scheduler's signal, to the launcher alone or to all processes, lets a program end
// by itself that asks for it, on every transport.
func TestShouldStop(t *testing.T) {
	script := writeScript(t, stoppingProgram)
	for _, transport := range []string{"inproc", "shm", "tcp"} {
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGUSR1} {
			for _, all := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%v/all=%v", transport, sig, all), func(t *testing.T) {
					t.Parallel()
					dir := t.TempDir()
					p := startProcess(t, "run", "-n", "2", "--output", "raw", "--transport", transport, "--resume-dir", dir, script)
					p.line(t)
					if all {
						for _, pid := range children(p.Process.Pid) {
							syscall.Kill(pid, sig)
						}
					}
					p.Process.Signal(sig)
					if got := runToEnd(t, p); !strings.Contains(got, "saved after the same step: True") {
						t.Errorf("got %q", got)
					}
					p.end(t, 0, nil)
					p.wants(t, "asked to stop")
					if _, err := os.Stat(filepath.Join(dir, "state.npz")); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// Asked on one of two nodes, the first or the other, or on both, the job ends so.
func TestShouldStopNodes(t *testing.T) {
	script := writeScript(t, stoppingProgram)
	for _, asked := range [][]int{{0}, {1}, {0, 1}} {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			t.Parallel()
			at := launchtest.FreeAddress(t)
			nodes := startNodes(t, at, at, "run", "--output", "raw", "--transport", "auto", "--resume-dir", t.TempDir(), script)
			nodes[0].line(t)
			for _, n := range asked {
				nodes[n].Process.Signal(syscall.SIGTERM)
			}
			if got := runToEnd(t, nodes[0]); strings.Count(got, "saved after the same step: True") != 4 {
				t.Errorf("got %q", got)
			}
			for _, p := range nodes {
				p.end(t, 0, nil)
			}
		})
	}
}

// Who asks twice, or asks a program that does not listen, ends it at once.
func TestStopAtOnce(t *testing.T) {
	deaf := writeScript(t, "print('go')\nwhile True:\n    all_reduce(ones(4))\n")
	late := writeScript(t, "should_stop()\nprint('go')\nwhile True:\n    all_reduce(ones(4))\n")
	for name, script := range map[string]string{"deaf": deaf, "late": late} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := startProcess(t, "run", "-n", "2", "--output", "raw", "--transport", "shm", script)
			p.line(t)
			p.Process.Signal(syscall.SIGTERM)
			if name == "late" { // one that came too soon after the first would be the same request
				again := time.NewTicker(sameRequest + 100*time.Millisecond)
				defer again.Stop()
				ended := make(chan struct{})
				defer close(ended)
				go func() {
					for {
						select {
						case <-again.C:
							p.Process.Signal(syscall.SIGUSR1)
						case <-ended:
							return
						}
					}
				}()
			}
			io.Copy(io.Discard, p.out)
			p.end(t, 130, nil)
			p.wants(t, "interrupted")
			if got := strings.Contains(p.errs.String(), "asked to stop"); got != (name == "late") {
				t.Errorf("got:\n%s", &p.errs)
			}
		})
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"tpsh/cmd/tpsh/launch/launchtest"
)

// elasticProgram counts until it is told to stop, on as many ranks as there are, and
// saves each count, so that none is lost or made twice.
const elasticProgram = `
path = resume_dir() + "/state"
m = init_device_mesh("cpu", [world_size()])
state = {"w": distribute_tensor(zeros(12), m, [Shard(0)]), "step": 0}
attempt(load_checkpoint, path, state)
w, step = state["w"], state["step"]
if rank() == 0:
    print(world_size(), "ranks")
while not all_gather_object(attempt(read_text, resume_dir() + "/stop").ok)[0]:
    w, step = w + 1, step + 1
    save_checkpoint(path, {"w": w, "step": step})
print("done", step > 0 and w.full_tensor().tolist() == [float(step)] * 12)
`

// A job loses nodes and gains others, down to as few ranks as it may have and up to as
// many, and goes on from what it has saved.
func TestElastic(t *testing.T) {
	for _, transport := range []string{"tcp", "auto"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			script, dir, at := writeScript(t, elasticProgram), t.TempDir(), launchtest.FreeAddress(t)
			start := func(node int) *process {
				return startProcess(t, "run", "--nnodes", "4", "--node-rank", fmt.Sprint(node), "--rdzv", at, "--nproc-per-node", "1", "--transport", transport,
					"--elastic", "2:3", "--elastic-wait", "300ms", "--max-restarts", "9", "--resume-dir", dir, script)
			}
			first := start(0)
			goesOn := func(ranks int) {
				t.Helper()
				if got, want := first.line(t), fmt.Sprintf("[0] %d ranks", ranks); got != want {
					t.Fatalf("got %q, want %q\n%s", got, want, &first.errs)
				}
			}
			lose := func(p *process) {
				workers := children(p.Process.Pid)
				p.Process.Kill()
				p.Wait()
				p.leavesNothing(t, workers)
			}
			said := func(text string) {
				t.Helper()
				for end := time.Now().Add(timeToEnd); !strings.Contains(first.errs.String(), text); time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("got:\n%s\nwant it to contain %q", &first.errs, text)
					}
				}
			}

			one := start(1)
			goesOn(2)
			three := start(3)
			goesOn(3)
			two := start(2)
			said("node 2 on ") // and waits, for there is no room
			lose(one)
			goesOn(3)
			lose(two)
			goesOn(2)
			lose(three)
			said("there are 1 ranks, want 2 to 3")
			three = start(3)
			goesOn(2)
			if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			if got := first.line(t); got != "done True" {
				t.Errorf("got %q, want done True", got)
			}
			first.end(t, 0, nil)
			three.end(t, 0, nil)
			first.wants(t, "starting the job again, with the nodes that have come", "starting the job again (3 of 9)")
		})
	}
}

// A node that computes with other kernels is turned away, and the job goes on.
func TestElasticKernels(t *testing.T) {
	if strings.HasPrefix(computing(), "portable") {
		t.Skip("this machine has no other kernels")
	}
	script, dir, at := writeScript(t, elasticProgram), t.TempDir(), launchtest.FreeAddress(t)
	start := func(node int, flags ...string) *process {
		return startProcess(t, append(append([]string{"run"}, flags...), "--nnodes", "3", "--node-rank", fmt.Sprint(node), "--rdzv", at, "--nproc-per-node", "1",
			"--elastic", "2:3", "--elastic-wait", "300ms", "--max-restarts", "9", "--resume-dir", dir, script)...)
	}
	first, one := start(0, "--kernels", "portable"), start(1, "--kernels", "portable")
	if got := first.line(t); got != "[0] 2 ranks" {
		t.Fatalf("got %q, want [0] 2 ranks\n%s", got, &first.errs)
	}
	other := start(2)
	other.end(t, 3, nil)
	if err := os.WriteFile(filepath.Join(dir, "stop"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := first.line(t); got != "done True" {
		t.Errorf("got %q, want done True", got)
	}
	first.end(t, 0, nil)
	one.end(t, 0, nil)
	other.wants(t, "refuses this one: node 2 on ")
}

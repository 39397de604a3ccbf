package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"tpsh/cmd/tpsh/launch/launchtest"
)

// trainingProgram fits a line to data that are split over the ranks. It saves
// its state now and then, and goes on from the last that it finds. Its arguments are
// how many steps it takes and at which one a run that begins anew stays until it is ended,
// 0 for none.
const trainingProgram = `
manual_seed(7)
x = randn(512, 8)
y = matmul(x, randn(8, 1)) + 0.1 * randn(512, 1)
n, r = world_size(), rank()
mine, target = x.chunk(n)[r], y.chunk(n)[r]

path = resume_dir() + "/state.npz"
saved = attempt(load_npz, path)
state = saved.value if saved.ok else {"w": zeros(8, 1), "step": tensor([0])}
w, first = state["w"], state["step"][0].item()
for step in range(first, int(args[0])):
    while first == 0 and step == int(args[1]) and step: barrier()
    error = matmul(mine, w) - target
    w = w - 0.0002 * all_reduce(matmul(mine.T, error))
    if step % 50 == 49:
        if r == 0:
            save_npz(path, {"w": w, "step": tensor([step + 1])})
        barrier()
error = matmul(mine, w) - target
print("loss", all_reduce((error * error).sum()).item(), w.tolist())
`

// A program that goes on from what it has saved ends, though ranks are killed
// at random, with the same result as if nobody had disturbed it.
func TestRestartsUntilDone(t *testing.T) {
	script := writeScript(t, trainingProgram)
	want := runToEnd(t, startProcess(t, "run", "-n", "3", "--transport", "inproc", script, "--", "2000", "0"))
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			dir := t.TempDir()
			endsWith(t, want, dir+"/state.npz", startProcess(t, "run", "-n", "3", "--transport", transport, "--max-restarts", "1000", "--resume-dir", dir, script, "--", "2000", "0"))
		})
	}
}

// The same on two nodes, the ranks of both of which are killed.
func TestRestartsNodes(t *testing.T) {
	script := writeScript(t, trainingProgram)
	want := runToEnd(t, startProcess(t, "run", "-n", "4", "--transport", "inproc", script, "--", "2000", "0"))
	for _, transport := range []string{"tcp", "auto"} {
		if transport == "auto" && !*everyTransport {
			continue // TestRestartsGPT has it
		}
		t.Run(transport, func(t *testing.T) {
			dir, at := t.TempDir(), launchtest.FreeAddress(t)
			nodes := startNodes(t, at, at, "run", "--transport", transport, "--max-restarts", "1000", "--resume-dir", dir, script, "--", "2000", "0")
			endsWith(t, want, dir+"/state.npz", nodes[0], nodes[1])
		})
	}
}

// A job whose launcher is lost cannot be started again by the others. Who starts
// it anew goes on from what it has saved.
func TestResumeNodes(t *testing.T) {
	script := writeScript(t, trainingProgram)
	want := runToEnd(t, startProcess(t, "run", "-n", "4", "--transport", "inproc", script, "--", "300", "0"))
	for lost := range 2 {
		t.Run(fmt.Sprint("node ", lost), func(t *testing.T) {
			dir, at := t.TempDir(), launchtest.FreeAddress(t)
			args := []string{"run", "--transport", "tcp", "--max-restarts", "5", "--resume-dir", dir, script, "--", "300", "60"}
			nodes := startNodes(t, at, at, args...)
			soon, stop := context.WithTimeout(t.Context(), timeToEnd)
			isThere(soon, filepath.Join(dir, "state.npz"))
			stop()
			workers := append(children(nodes[0].Process.Pid), children(nodes[1].Process.Pid)...)
			nodes[lost].Process.Kill()
			nodes[lost].Wait()
			nodes[1-lost].end(t, 3, workers)
			if lost == 1 {
				nodes[0].wants(t, "starting the job again (1 of 5)", "node 1 on ", " is lost (")
			}
			nodes = startNodes(t, at, at, args...)
			if got := runToEnd(t, nodes[0]); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			nodes[0].end(t, 0, nil)
			nodes[1].end(t, 0, nil)
		})
	}
}

// endsWith kills ranks of the nodes of a job now and then, once it has saved a file, from which it
// is to go on. It is to end as if nobody had, and to leave nothing.
func endsWith(t *testing.T, want, saved string, nodes ...*process) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	var killer sync.WaitGroup
	kills := 0
	killer.Go(func() {
		if isThere(ctx, saved) {
			kills = killNowAndThen(ctx, nodes)
		}
	})
	got := runToEnd(t, nodes[0])
	stop()
	killer.Wait()
	// A rank that is killed when others have told the result has them tell it again.
	for line := range strings.Lines(got) {
		if !strings.HasSuffix(line, want) || line != want && line[0] != '[' {
			t.Errorf("after %d kills: got %q, want %q", kills, line, want)
		}
	}
	if !strings.HasSuffix("\n"+got, "\n"+want) {
		t.Errorf("after %d kills: got %q, want it to end with %q", kills, got, want)
	}
	again := strings.Count(nodes[0].errs.String(), "starting the job again")
	if again == 0 || again > kills {
		t.Errorf("it was started again %d times after %d kills", again, kills)
	}
	for _, p := range nodes {
		p.end(t, 0, nil)
	}
	t.Logf("%d kills, started again %d times", kills, again)
}

// runToEnd returns what a run prints that ends well.
func runToEnd(t *testing.T, p *process) string {
	t.Helper()
	out, _ := io.ReadAll(p.out)
	if err := p.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &p.errs)
	}
	return string(out)
}

// isThere waits for a file, and reports whether it came before ctx ended.
func isThere(ctx context.Context, file string) bool {
	for ctx.Err() == nil {
		if _, err := os.Stat(file); err == nil {
			return true
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

// killNowAndThen kills a random worker of nodes again and again, until ctx ends or
// for half a second after the first. It returns how many it has killed.
func killNowAndThen(ctx context.Context, nodes []*process) (kills int) {
	random := rand.New(rand.NewPCG(1, 0))
	var enough time.Time
	for kills == 0 || time.Now().Before(enough) {
		select {
		case <-time.After(time.Duration(60+random.IntN(60)) * time.Millisecond):
		case <-ctx.Done():
			return kills
		}
		var workers []int
		for _, p := range nodes {
			workers = append(workers, slices.DeleteFunc(children(p.Process.Pid), beforeExec)...)
		}
		if len(workers) > 0 {
			syscall.Kill(workers[random.IntN(len(workers))], syscall.SIGKILL)
			if kills++; kills == 1 {
				enough = time.Now().Add(time.Second / 2)
			}
		}
	}
	return kills
}

// The pool gives processes that are there, and others for those that have died.
func TestPool(t *testing.T) {
	s := &starter{limits: &limits{quiet: true}, ranks: 2, transport: "shm"}
	var kept pool
	defer kept.close()
	get := func() (*ranks, []int) {
		t.Helper()
		r, err := kept.start(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		if err := barrier(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		return r, slices.Sorted(slices.Values(children(syscall.Getpid())))
	}
	r, first := get()
	kept.put(r)
	r, second := get()
	if len(first) != 2 || !slices.Equal(first, second) {
		t.Errorf("got processes %v after %v, want the same two", second, first)
	}
	kept.put(r)
	syscall.Kill(second[1], syscall.SIGKILL)
	r, third := get()
	if len(third) != 2 || slices.Equal(second, third) {
		t.Errorf("got processes %v after %v, one of which has died, want others", third, second)
	}
	r.stop()
	if left := children(syscall.Getpid()); len(left) > 0 {
		t.Errorf("processes %v are left", left)
	}
}

// digitsProgram trains the network of examples/digits.star, its first layer cut
// by columns and the second by rows over pairs of ranks that share the data. It
// saves a checkpoint of all its state now and then, and goes on from the last.
const digitsProgram = `
def load_digits():
    table = read_csv(args[0])
    return table.narrow(1, 0, 64) / 16.0, table.narrow(1, 64, 1).reshape(-1).to(int64)

def main():
    manual_seed(0)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
    model = parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
    replicate(model, mesh["dp"])
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    x, y = load_digits()

    def state(step):
        return {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "rng": rng_state(), "step": step}

    path = resume_dir() + "/run"
    first = 0
    saved = attempt(load_checkpoint, path, state(0))
    if saved.ok:
        optimizer.load_state_dict(saved.value["optimizer"])
        set_rng_state(saved.value["rng"])
        first = saved.value["step"]
    for step in range(first, 80):
        batch = randperm(len(x)).narrow(0, mesh.get_local_rank("dp") * 100, 100)
        loss = F.cross_entropy(model(x[batch]), y[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            save_checkpoint(path, state(step + 1))
    print("loss", all_reduce(loss.detach(), group=mesh["dp"], op="mean").item())

main()
`

// A network that is trained on processes which are killed at random ends with
// the same loss as if nobody had disturbed it.
func TestRestartsDigits(t *testing.T) {
	script := writeScript(t, digitsProgram)
	data, err := filepath.Abs("../../examples/data/digits.csv")
	if err != nil {
		t.Fatal(err)
	}
	args := func(transport, restarts, dir string) []string {
		return []string{"run", "-n", "4", "--transport", transport, "--max-restarts", restarts, "--resume-dir", dir, "--allow", filepath.Dir(data), script, "--", data}
	}
	want := runToEnd(t, startProcess(t, args("inproc", "0", t.TempDir())...))
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			dir := t.TempDir()
			endsWith(t, want, dir+"/run/index.json", startProcess(t, args(transport, "1000", dir)...))
		})
	}
}

// So does a transformer on a mesh of two dims, on one node and on two.
func TestRestartsGPT(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "gpt.star")
	for to, from := range map[string]string{script: "testdata/faults/gpt.star", filepath.Join(dir, "lib/decoder.star"): "../../examples/lib/decoder.star"} {
		source, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		os.MkdirAll(filepath.Dir(to), 0o755)
		if err := os.WriteFile(to, source, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want := runToEnd(t, startProcess(t, "run", "-n", "4", "--transport", "inproc", script))
	list := []string{"shm", "tcp"}
	if !*everyTransport {
		list = nil // TestRestartsDigits has both
	}
	for _, transport := range list {
		t.Run(transport, func(t *testing.T) {
			dir := t.TempDir()
			endsWith(t, want, dir+"/gpt/index.json", startProcess(t, "run", "-n", "4", "--transport", transport, "--max-restarts", "1000", "--resume-dir", dir, script))
		})
	}
	t.Run("auto on two nodes", func(t *testing.T) {
		dir, at := t.TempDir(), launchtest.FreeAddress(t)
		nodes := startNodes(t, at, at, "run", "--max-restarts", "1000", "--resume-dir", dir, script)
		endsWith(t, want, dir+"/gpt/index.json", nodes[0], nodes[1])
	})
}

package main

import (
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// trainingProgram fits a line to data that are split over the ranks. It saves
// its state now and then, and goes on from the last that it finds.
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
for step in range(first, 6000):
    error = matmul(mine, w) - target
    w = w - 0.0002 * all_reduce(matmul(mine.T, error))
    if step % 50 == 49:
        if r == 0:
            save_npz(path, {"w": w, "step": tensor([step + 1])})
        barrier()
print("loss", all_reduce((error * error).sum()).item(), w.tolist())
`

// A program that goes on from what it has saved ends, though ranks are killed
// at random, with the same result as if nobody had disturbed it.
func TestRestartsUntilDone(t *testing.T) {
	script := writeScript(t, trainingProgram)
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			want := runToEnd(t, startProcess(t, "run", "-n", "3", script))
			p := startProcess(t, "run", "-n", "3", "--transport", transport, "--max-restarts", "1000", script)
			ctx, stop := context.WithCancel(t.Context())
			var killer sync.WaitGroup
			kills := 0
			killer.Go(func() { kills = killNowAndThen(ctx, p) })
			got := runToEnd(t, p)
			stop()
			killer.Wait()
			if got != want {
				t.Errorf("after %d kills: got %q, want %q", kills, got, want)
			}
			t.Logf("%d kills", kills)
			if again := strings.Count(p.errs.String(), "starting the job again"); again == 0 || again > kills {
				t.Errorf("it was started again %d times after %d kills", again, kills)
			}
		})
	}
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

// killNowAndThen kills a random worker of p again and again, until ctx ends or
// that has gone on for long enough. It returns how many it has killed.
func killNowAndThen(ctx context.Context, p *process) (kills int) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for {
		select {
		case <-time.After(time.Duration(60+rand.IntN(60)) * time.Millisecond):
		case <-ctx.Done():
			return kills
		}
		if workers := children(p.Process.Pid); len(workers) > 0 {
			syscall.Kill(workers[rand.IntN(len(workers))], syscall.SIGKILL)
			kills++
		}
	}
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

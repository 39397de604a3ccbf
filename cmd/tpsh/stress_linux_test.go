package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

var faults = flag.Int("faults", 25, "how many runs TestRandomFaults disturbs")

// checkedProgram calls what there is for a while, and checks every result.
const checkedProgram = `
n, r = world_size(), rank()
for i in range(60):
    x = arange(500) + float(r + i)
    assert.eq(all_reduce(x)[0].item(), n * i + n * (n - 1) / 2)
    assert.eq(all_gather(x[:1]).tolist(), [float(k + i) for k in range(n)])
    assert.eq(reduce_scatter(ones(2 * n)).tolist(), [float(n)] * 2)
    assert.eq(broadcast(x, src=i % n)[1].item(), 1.0 + i % n + i)
    send(x, (r + 1) % n)
    assert.eq(recv((r - 1) % n)[0].item(), (r - 1) % n + float(i))
    assert.eq(all_gather_object((i, r))[i % n], (i, i % n))
    big = ones(50000) * (r + 1)
    assert.eq(all_reduce(big)[-1].item(), n * (n + 1) / 2)
    barrier()
print("done")
`

// Whatever is killed or stopped, and whenever: a run ends, with the right
// result or with status 3 and the cause, and leaves nothing behind. By hand:
//
//	go test ./cmd/tpsh -run RandomFaults -faults 500
func TestRandomFaults(t *testing.T) {
	script := writeScript(t, checkedProgram)
	seed := uint64(time.Now().UnixNano())
	outcomes := map[string]int{}
	for i := range *faults {
		name := fmt.Sprintf("seed=%d", seed+uint64(i))
		t.Run(name, func(t *testing.T) {
			outcomes[disturb(t, script, rand.New(rand.NewPCG(seed+uint64(i), 0)))]++
		})
	}
	t.Logf("%d runs: %v", *faults, outcomes)
}

// beforeExec reports whether a process is about to become a worker. It is a
// part of its parent still, and so would a signal be.
func beforeExec(pid int) bool {
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return !strings.Contains(string(cmdline), "rank=")
}

// disturb runs the program and sends one of its processes a signal. It returns
// what came of it.
func disturb(t *testing.T, script string, rng *rand.Rand) string {
	n := 2 + rng.IntN(3)
	transport := []string{"shm", "tcp"}[rng.IntN(2)]
	p := startProcess(t, "run", "-n", fmt.Sprint(n), "--transport", transport, script)
	time.Sleep(time.Duration(rng.Int64N(int64(80 * time.Millisecond))))
	workers := slices.DeleteFunc(children(p.Process.Pid), beforeExec)
	sig := []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGTERM, syscall.SIGABRT}[rng.IntN(4)]
	if len(workers) == 0 || rng.IntN(8) == 0 { // the launcher itself
		p.Process.Kill()
		io.Copy(io.Discard, p.out)
		p.Wait()
		p.leavesNothing(t, workers)
		return "launcher killed"
	}
	syscall.Kill(workers[rng.IntN(len(workers))], sig)
	late := time.AfterFunc(15*time.Second, func() { p.Process.Signal(syscall.SIGQUIT) })
	defer late.Stop()
	out, _ := io.ReadAll(p.out)
	p.Wait()
	p.leavesNothing(t, workers)
	if files, _ := os.ReadDir(p.tmp); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
	code, errs := p.ProcessState.ExitCode(), p.errs.String()
	switch {
	case code == 0 && string(out) == "done\n":
		return "done"
	case code == 3 && (strings.Contains(errs, "the rank died: it was ") || strings.Contains(errs, "the rank died: it exited with status 2")):
		return "died"
	}
	t.Errorf("%v to one of %d ranks on %s: got exit status %d and %q\n%s", sig, n, transport, code, out, errs)
	return "wrong"
}

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// measured is the script whose calls are timed. A line that it prints is a name and seconds:
// of the slowest rank, in the fastest of some rounds.
const measured = `
n = world_size()

def seconds(fn, times):
    """Returns how long the slowest rank is in the calls of fn, which is called some times."""
    barrier()
    calls = comm_trace(lambda: [fn() for _ in range(times)])
    t = tensor(sum([c.seconds for c in calls]) / times, dtype=float64)
    return all_reduce(t, op="max").item()

def show(name, fn, rounds=5, times=10):
    t = min([seconds(fn, times) for _ in range(rounds)])
    if rank() == 0:
        print("growth\t%s\t%r" % (name, t))

def divisors(n, parts):
    """Returns the sizes of a mesh of so many dims for n ranks, as near each other as divisors are."""
    if parts == 1:
        return [n]
    side = max([d for d in range(1, n + 1) if n % d == 0 and (d == 1 or d * d <= n if parts == 2 else d * d * d <= n)])
    return [side] + divisors(n // side, parts - 1)

big = ones(262144 if n <= 512 else 4096)
show("barrier", barrier)
show("all_reduce, 8 B", lambda: all_reduce(ones(2)))
show("all_reduce, 8 B, exact", lambda: all_reduce(ones(2), exact=True))
show("all_reduce, 1 MiB" if n <= 512 else "all_reduce, 16 KiB", lambda: all_reduce(big), rounds=3, times=3)

def half():
    g = new_group(list(range(0, n, 2)))
    if rank() % 2 == 0:
        barrier(group=g)

if n <= 4096:
    show("barrier of a new_group of half", half, rounds=3, times=3)

m = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))
opt = optim.SGD(m.parameters(), lr=0.1)

def step():
    opt.zero_grad()
    m(ones(4, 16)).sum().backward()
    opt.step()

# Of these each rank knows what every other has: that is work for each pair.
if n <= 512:
    show("all_to_all, 4 B to each", lambda: all_to_all(ones(n), 0, 0), rounds=3, times=3)
    for dims in [2, 3]:
        mesh = init_device_mesh("cpu", tuple(divisors(n, dims)))
        x = distribute_tensor(ones(n, 4), mesh, [Shard(0)] * dims)
        whole = [Replicate()] * dims
        show("redistribute on %d dims" % dims, lambda: x.redistribute(placements=whole), rounds=3, times=3)
    replicate(m, init_device_mesh("cpu", (n,)))
    step()
    show("calls of a training step", step, rounds=3, times=3)
`

// A figure is what was measured of one case: seconds, or bytes if bytes is set.
type figure struct {
	name  string
	value float64
	bytes bool
}

func (f figure) String() string {
	if f.bytes {
		return fmt.Sprintf("%s %.0f MB", f.name, f.value/1e6)
	}
	return fmt.Sprintf("%s %.3g s", f.name, f.value)
}

// ranks measures on n ranks of a transport.
func (h *harness) ranks(ctx context.Context, transport string, n int) ([]figure, error) {
	start, err := h.best(ctx, "x = 1\n", func(script string) []string {
		return []string{"run", "-n", strconv.Itoa(n), "--transport", transport, script}
	})
	if err != nil {
		return nil, err
	}
	whole, err := h.command(ctx, measured, func(script string) []string {
		return []string{"run", "-n", strconv.Itoa(n), "--transport", transport, script}
	})
	if err != nil {
		return nil, err
	}
	memory := "memory"
	if transport != "inproc" {
		memory = "memory of the largest process"
	}
	figures := append(start.figures(), figure{memory, whole.memory, true})
	for line := range strings.Lines(whole.output) {
		_, rest, ok := strings.Cut(line, "growth\t")
		name, text, _ := strings.Cut(strings.TrimSpace(rest), "\t")
		if !ok {
			continue
		}
		t, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		figures = append(figures, figure{name, t, false})
	}
	return figures, nil
}

// tests measures a file of n tests on two ranks.
func (h *harness) tests(ctx context.Context, n int) ([]figure, error) {
	var file strings.Builder
	file.WriteString("RANKS = [2]\n")
	for i := range n {
		fmt.Fprintf(&file, "def test_%d():\n    assert.eq(all_reduce(ones(2)), [2, 2])\n", i)
	}
	u, err := h.best(ctx, file.String(), func(script string) []string { return []string{"test", script} })
	if err != nil {
		return nil, err
	}
	return append(u.figures(), figure{"memory", u.memory, true}), nil
}

// A usage is what a command took.
type usage struct {
	output               string
	seconds, cpu, memory float64
}

func (u *usage) figures() []figure {
	return []figure{{"start and end", u.seconds, false}, {"CPU time of all", u.cpu, false}}
}

// best returns the fastest of three runs.
func (h *harness) best(ctx context.Context, script string, args func(string) []string) (*usage, error) {
	best := &usage{seconds: math.Inf(1)}
	for range 3 {
		u, err := h.command(ctx, script, args)
		if err != nil {
			return nil, err
		}
		if u.seconds < best.seconds {
			best = u
		}
		if u.seconds > 10 {
			break
		}
	}
	return best, nil
}

// command runs tpsh on a script.
func (h *harness) command(ctx context.Context, script string, args func(script string) []string) (*usage, error) {
	file := filepath.Join(h.dir, "test_growth.star")
	if err := os.WriteFile(file, []byte(script), 0o644); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, h.tpsh, args(file)...)
	var errs strings.Builder
	cmd.Stderr = &errs
	begun := time.Now()
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("tpsh %s: %w\n%s", strings.Join(cmd.Args[1:], " "), err, &errs)
	}
	u := &usage{output: string(out), seconds: time.Since(begun).Seconds()}
	u.cpu = (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()
	if r, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		u.memory = float64(r.Maxrss) * 1024
	}
	return u, nil
}

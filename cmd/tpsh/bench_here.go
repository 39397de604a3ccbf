package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"tpsh/runtime/hardware"
	"tpsh/runtime/hardware/fit"
	"tpsh/runtime/kernel/peak"
	"tpsh/runtime/op"
)

// hereConstants are what is fitted: to what operations take each by itself, of one rank and of
// one for each core, to what the host takes between them, to calls of two ranks, and to those of more than there are cores.
var hereConstants = struct{ kernels, host, calls, crowd []string }{
	[]string{"start", "memory_share", "cache_bandwidth", "share.top", "share.half_flops", "share.half_dim", "helped", "joined", "each", "strided", "piece", "row", "inner"},
	[]string{"issue", "script", "view", "placed", "recorded", "backward", "cold"},
	[]string{"host.latency", "host.reached", "call", "late"},
	[]string{"switch"},
}

// hereTime is how long each case is measured.
const hereTime = 500 * time.Millisecond

// herePasses is how often ranks that share cores are started for a case, each time to run for a part
// of hereTime: how the system seats them holds for as long as they run.
const herePasses = 2

// writeHere measures this machine and writes the hardware file that plans call here.
func (b *bench) writeHere(ctx context.Context, std *stdio) error {
	path, err := herePath()
	if err != nil {
		return fmt.Errorf("bench: where to write the hardware file: %w", err)
	}
	text, err := b.hereText(ctx)
	if err != nil {
		return benchFailed(ctx, "inproc", err)
	}
	base, err := hardware.Read("here.toml", []byte(text))
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	parts, err := b.measureHere(ctx, std)
	if err != nil {
		return err
	}
	data, err := fitHere(ctx, std, base, []byte(text), parts)
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	return writeMeasured(std, path, data)
}

// A herePart is a part of what is measured of this machine, and the constants that are fitted
// to it.
type herePart struct {
	what      string
	samples   []fit.Sample
	constants []string
}

// measureHere measures this machine under a bar, and returns the parts in the order in which
// constants are fitted to them.
func (b *bench) measureHere(ctx context.Context, std *stdio) ([]herePart, error) {
	cores := goruntime.GOMAXPROCS(0)
	watched, calls, crowded := watchedCases(cores), callCases(), crowdedCases(cores)
	bar := newBar(std.err, "measuring", int64(len(watched)+herePasses*(len(calls)+len(crowded))), "case")
	defer bar.clear()
	var kernels, host []fit.Sample
	for i, c := range watched {
		w, err := b.watch(ctx, c)
		if err != nil {
			return nil, benchFailed(ctx, c.transport, err)
		}
		kernels, host = append(kernels, kernelSamples(w, c.ranks)...), append(host, hostSamples(w)...)
		bar.show(int64(i + 1))
	}
	shared := slices.Concat(calls, crowded)
	called := make([]fit.Sample, len(shared))
	for pass := range herePasses {
		for i, c := range shared {
			s, err := b.sample(ctx, c)
			if err != nil {
				return nil, benchFailed(ctx, c.transport, err)
			}
			if pass == 0 || s.Seconds < called[i].Seconds {
				called[i] = s
			}
			bar.show(int64(len(watched) + pass*len(shared) + i + 1))
		}
	}
	return []herePart{
		{"operations", kernels, hereConstants.kernels},
		{"pieces of the host's work", host, hereConstants.host},
		{"programs of two ranks", called[:len(calls)], hereConstants.calls},
		{"programs of more ranks than cores", called[len(calls):], hereConstants.crowd},
	}, nil
}

// fitHere fits the constants of each part in turn, and returns the file of base, whose bytes
// are data, with those that it has found. It says how well each part is explained.
func fitHere(ctx context.Context, std *stdio, base *hardware.Machine, data []byte, parts []herePart) ([]byte, error) {
	m := base
	for _, part := range parts {
		r, err := fit.Fit(ctx, m, part.samples, fit.Options{Constants: part.constants, Most: len(part.constants), Guessed: true})
		if err != nil {
			return nil, err
		}
		if data, err = hardware.Rewrite(data, hereChanges(m, r)); err != nil {
			return nil, err
		}
		m = r.Machine
		var errors []float64
		for _, e := range r.Errors {
			errors = append(errors, e.Seconds)
		}
		fmt.Fprintf(std.out, "%d %s explained within %.0f %% in the mean\n", len(part.samples), part.what, 100*fit.Mean(errors))
	}
	return data, nil
}

// hereChanges are the constants that were fitted, with what they are.
func hereChanges(base *hardware.Machine, r *fit.Result) []hardware.Change {
	var list []hardware.Change
	for _, c := range base.Constants() {
		if v, ok := r.Values[c.Name]; ok {
			list = append(list, hardware.Change{Name: c.Name, Value: v, Comment: c.Unit + " " + c.Doc + ": measured"})
		}
	}
	return list
}

// rateOf returns how many units a second one rank does of body, of which it does so many
// in a turn, beside idle seconds.
func (b *bench) rateOf(ctx context.Context, before, body string, units, idle float64) (float64, error) {
	one := *b
	one.transport, one.time, one.short = "inproc", min(b.time, hereTime), b.time >= hereTime
	f, err := one.measure(ctx, &benchCase{ranks: 1, before: before, body: body})
	if err != nil {
		return 0, err
	}
	return units / max(f.seconds-idle, f.seconds/10), nil
}

// worthCore is what a product must have more for each further core, as package gemm has
// it: 2 << 20 FLOPs.
const worthCore = 2 << 20

// geluFLOPs are those of an element of gelu, as its entry in the table of operators has
// it.
const geluFLOPs = 5

// hereText is the hardware file before the fit: what one core reads, writes and computes
// at most, as often as there are cores.
func (b *bench) hereText(ctx context.Context) (string, error) {
	cores := goruntime.GOMAXPROCS(0)
	flops, copied := float64(cores)*bestRate(func() int { return peak.Multiply(1 << 16) }), b.machine.copyRate(1, 4<<20)/2
	small, err := b.rateOf(ctx, "x = ones(64)", "x + x", 1, 0)
	if err != nil {
		return "", err
	}
	views, err := b.rateOf(ctx, "x = ones(64)", "x.reshape(8, 8)", 1, 0)
	if err != nil {
		return "", err
	}
	var rates []float64
	for _, c := range []struct {
		before, body string
		units        float64
	}{
		{"x = ones(64 << 10)", "x + x", 3 * 4 * (64 << 10)},
		{"x, y = ones(4 << 20), ones(4 << 20)", "x.add_(y)", 3 * 4 * (4 << 20)},
		{"x = ones(64 << 10)", "F.gelu(x)", geluFLOPs * (64 << 10)},
	} {
		r, err := b.rateOf(ctx, c.before, c.body, c.units, 1/small)
		if err != nil {
			return "", err
		}
		rates = append(rates, r*float64(cores))
	}
	return fmt.Sprintf(`# Measured by tpsh bench --calibrate.
name = "here"
doc = "this machine, measured"

memory = %d # bytes of all ranks
cores = %d
cache = %d # bytes of an operation that stay near: of the second level
cache_bandwidth = %.3g # sums of blocks that stay there, on all cores
memory_bandwidth = %.3g # sums of blocks that do not, on all cores
spread = %d # FLOPs for each further core that a product takes
helped = 0.8 # a guess
part = %d # elements of other operations for each core that shares them
joined = 0.8 # a guess
start = 1e-07 # a guess
issue = %.3g # a sum of 64 elements
view = %.3g # a reshape
script = 8e-08 # a guess
placed = 8e-07 # a guess
recorded = 1e-06 # a guess
backward = 1e-06 # a guess
cold = 2 # a guess
strided = 5e-10 # a guess
piece = 8e-09 # a guess
row = 1e-07 # a guess
each = 7e-07 # a guess
inner = 10 # a guess

[peak]
float32 = %.3g # multiply-adds in registers of one core, by the cores

[rest]
float32 = %.3g # gelu on all cores

[share]
top = 0.8
half_flops = 1e6
half_dim = 8

[[level]]
name = "host"
size = 4096
latency = 5e-06
bandwidth = %.3g # a copy on one core
reached = 0.5
`, max(totalMemory(), 1<<30), cores, cacheSize(), max(rates[0], rates[1]), rates[1], worthCore, op.LeastPart, 1/small, 1/views, flops, rates[2], copied), nil
}

// cacheSize returns the bytes of a core's cache of the second level, or what is usual.
func cacheSize() int64 {
	text, err := os.ReadFile("/sys/devices/system/cpu/cpu0/cache/index2/size")
	if err == nil {
		var n int64
		var unit rune
		if k, _ := fmt.Sscanf(string(text), "%d%c", &n, &unit); k == 2 && unit == 'K' && n > 0 {
			return n << 10
		}
	}
	return 1 << 20
}

// sample measures a case and plans it.
func (b *bench) sample(ctx context.Context, c hereCase) (fit.Sample, error) {
	one := *b
	one.transport, one.time, one.short = c.transport, min(b.time, hereTime)/herePasses, b.time >= hereTime
	f, err := one.measure(ctx, &benchCase{ranks: c.ranks, before: c.before, body: c.body})
	if err != nil {
		return fit.Sample{}, err
	}
	dir, err := os.MkdirTemp("", "tpsh-bench")
	if err != nil {
		return fit.Sample{}, err
	}
	defer os.RemoveAll(dir)
	script := filepath.Join(dir, "case.star")
	text := c.before + "\n" + strings.Repeat(c.body+"\nmark_step()\n", 3)
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return fit.Sample{}, err
	}
	p, err := evaluate(ctx, question{Script: script, Ranks: c.ranks})
	if err != nil {
		return fit.Sample{}, err
	}
	row := &measuredRow{seconds: f.seconds, rank: -1, program: p}
	return fit.Sample{Seconds: f.seconds, Predict: row.predictor()}, nil
}

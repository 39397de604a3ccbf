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

	"tpsh/cmd/tpsh/launch"
	"tpsh/runtime/hardware"
	"tpsh/runtime/hardware/fit"
)

// hereCase is a piece of script that is measured, and planned to see what the
// hardware file must say for the plan to take as long.
type hereCase struct {
	ranks        int
	transport    string
	before, body string
}

// layerText is a layer of a transformer with its gradient and a step.
const layerText = `
parts = struct(up = nn.Linear(%[1]d, 4 * %[1]d), down = nn.Linear(4 * %[1]d, %[1]d), norm = nn.LayerNorm(%[1]d), qkv = nn.Linear(%[1]d, 3 * %[1]d))
adam = optim.AdamW(parts.up.parameters() + parts.down.parameters() + parts.norm.parameters() + parts.qkv.parameters(), lr = 0.001)
x = rand(4, %[2]d, %[1]d)
def step():
    y = parts.qkv(parts.norm(x))
    q, k, v = [z.reshape(4, %[2]d, 4, -1).transpose(1, 2) for z in y.chunk(3, -1)]
    y = x + F.scaled_dot_product_attention(q, k, v, is_causal = True).transpose(1, 2).reshape(4, %[2]d, %[1]d)
    y = y + parts.down(F.gelu(parts.up(y)))
    (y * y).mean().backward()
    adam.step()
    adam.zero_grad()
`

// decodeText makes a token with a decoder of two layers whose weights a mesh divides: of
// nothing but the host's work, as programs have it, that do many things in turn.
const decodeText = `
mesh = init_device_mesh("cpu", (world_size(),))
column = lambda n, k: parallelize_module(nn.Linear(n, k, bias = False), mesh, ColwiseParallel())
row = lambda n, k: parallelize_module(nn.Linear(n, k, bias = False), mesh, RowwiseParallel())
past = zeros(1, 4, %[2]d, %[1]d // 4)
layers = [struct(first = nn.RMSNorm(%[1]d), q = column(%[1]d, %[1]d), k = column(%[1]d, %[1]d), v = column(%[1]d, %[1]d), o = row(%[1]d, %[1]d),
    second = nn.RMSNorm(%[1]d), gate = column(%[1]d, 4 * %[1]d), up = column(%[1]d, 4 * %[1]d), down = row(4 * %[1]d, %[1]d)) for _ in range(2)]
angles = arange(%[1]d // 4).to(float32)
def turned(x):
    a, b = x.chunk(2, -1)
    return x * angles.cos() + cat([b * -1, a], -1) * angles.sin()
def decode():
    x = ones(1, 1, %[1]d)
    for layer in layers:
        y = layer.first(x)
        q, k, v = [f(y).reshape(1, 1, 4, -1).transpose(1, 2) for f in [layer.q, layer.k, layer.v]]
        k, v = cat([past, turned(k)], 2), cat([past, v], 2)
        y = F.scaled_dot_product_attention(turned(q), k, v)
        x = x + layer.o(y.transpose(1, 2).reshape(1, 1, -1))
        y = layer.second(x)
        x = x + layer.down(F.silu(layer.gate(y)) * layer.up(y))
    x[0, -1].argmax().item()
def step():
    no_grad(decode)
`

// hereCases are what a machine is measured by: single operations, steps of a layer from
// where the host is all to where products are, and calls on both transports of one
// machine. What a small operation and a view take is measured by itself.
func hereCases() []hereCase {
	all := []hereCase{
		{1, "inproc", "x = ones(4 << 20)", "x + x"},
		{1, "inproc", "x = ones(256 << 10)", "x.exp()"},
		{1, "inproc", "x = rand(1024, 10)", "F.softmax(x, -1)"},
		{1, "inproc", "x = rand(256, 64)", "F.layer_norm(x, (64,))"},
		{1, "inproc", "x, y = ones(256, 64, 4).transpose(0, 1), ones(64, 1, 4)", "x * y"},
	}
	for _, n := range []int{32, 96, 512} {
		all = append(all, hereCase{1, "inproc", fmt.Sprintf("x = ones(%d, %d)", n, n), "x @ x"})
	}
	for _, heads := range []string{"8, 8, 64, 16", "4, 8, 16, 16"} {
		all = append(all, hereCase{1, "inproc", "q = rand(" + heads + ")", "F.scaled_dot_product_attention(q, q, q, is_causal = True)"})
	}
	for _, size := range [][2]int{{8, 2}, {16, 8}, {32, 16}, {128, 64}, {256, 128}} {
		all = append(all, hereCase{1, "inproc", fmt.Sprintf(layerText, size[0], size[1]), "step()"})
	}
	for _, size := range [][2]int{{16, 8}, {64, 24}} {
		all = append(all, hereCase{1, "inproc", fmt.Sprintf(decodeText, size[0], size[1]), "step()"})
	}
	for _, transport := range []string{"inproc", launch.SharedMemory} {
		if !slices.Contains(transports(), transport) {
			continue
		}
		for _, size := range []int{8, 64 << 10, 4 << 20} {
			all = append(all, hereCase{2, transport, fmt.Sprintf("x = ones(%d)", size/4), "all_reduce(x)"})
		}
		all = append(all, hereCase{2, transport, fmt.Sprintf(layerText, 64, 32), "step()"})
	}
	return all
}

// hereConstants are what is fitted.
var hereConstants = []string{"view", "each", "strided", "row", "inner", "script", "memory_share", "share.top", "share.half_flops", "share.half_dim", "host.latency", "host.reached"}

// hereTime is how long each case is measured.
const hereTime = 300 * time.Millisecond

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
	cases := hereCases()
	bar := newBar(std.err, "measuring", int64(len(cases)), "case")
	defer bar.clear()
	var samples []fit.Sample
	for i, c := range cases {
		s, err := b.sample(ctx, c)
		if err != nil {
			return benchFailed(ctx, c.transport, err)
		}
		samples = append(samples, s)
		bar.show(int64(i + 1))
	}
	r, err := fit.Fit(base, samples, fit.Options{Constants: hereConstants, Most: len(hereConstants), Guessed: true})
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	out, err := hardware.Rewrite([]byte(text), hereChanges(base, r))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = unwritten(path, os.WriteFile(path, out, 0o644))
	}
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	var errors []float64
	for _, e := range r.Errors {
		errors = append(errors, e.Seconds)
	}
	bar.clear()
	fmt.Fprintf(std.out, "%d cases explained within %.0f %% in the mean\nwritten to %s\n", len(cases), 100*fit.Mean(errors), path)
	return nil
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
	one.transport, one.time, one.short = "inproc", min(b.time, hereTime), true
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
	flops, copied := b.machine.peakFlops(), b.machine.copyRate(1, 4<<20)/2
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
		{"x, y = ones(4 << 20), ones(4 << 20)", "x + y", 3 * 4 * (4 << 20)},
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
start = %.3g # a sum of 64 elements
view = %.3g # a reshape

[peak]
float32 = %.3g # multiply-adds in registers on all cores

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
`, max(totalMemory(), 1<<30), cores, cacheSize(), max(rates[0], rates[1]), rates[1], worthCore, 1/small, 1/views, flops, rates[2], copied), nil
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
	one.transport, one.time, one.short = c.transport, min(b.time, hereTime), true
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

package main

import (
	"encoding/json"
	"fmt"
	"io"
	goruntime "runtime"
	"strings"

	"tpsh/runtime/kernel"
)

// figures are what was measured of a case.
type figures struct {
	ranks, turns int
	seconds      float64 // of a turn
	cost
	idle, peak int // bytes resident before and at most; 0 if not known
}

// A metric is a figure with its unit.
type metric struct {
	Value float64
	Unit  string
}

// limitFrom is the least number of bytes whose copy is a limit: below it the
// meeting of the ranks is what takes time.
const limitFrom = 4 << 10

// metrics returns the figures in their units. A ratio is 1 at the limit.
func (f *figures) metrics(m *machine) []metric {
	seconds := f.seconds
	list := []metric{{1e9 * seconds, "ns/op"}}
	add := func(value float64, unit string) { list = append(list, metric{value, unit}) }
	if f.flops > 0 {
		add(f.flops/seconds/1e9, "GFLOP/s")
		add(f.flops/seconds/m.peakFlops(f.bfloat16), "of-peak")
	} else if f.bytes > 0 {
		add(float64(f.bytes)/seconds, "B/s")
	}
	if f.bus > 0 {
		add(f.bus*float64(f.bytes)/seconds, "bus-B/s")
	}
	if f.traffic > 0 && f.block >= limitFrom {
		add(float64(f.traffic)/seconds/m.copyRate(min(f.ranks, goruntime.GOMAXPROCS(0)), f.block), "of-copy")
	}
	if f.peak > 0 {
		add(float64(f.peak), "peak-B")
		add(float64(f.idle), "idle-B")
		add(float64(f.memory), "needed-B")
		add(float64(f.peak-f.idle)/float64(f.memory), "of-needed")
	}
	return list
}

// A benchPrinter prints figures in the format of Go's benchmarks, which
// benchstat reads, or as JSON.
type benchPrinter struct {
	w       io.Writer
	json    bool
	suffix  string // of names, which benchmarks of transports share
	machine *machine
}

func (b *bench) printer(std *stdio) *benchPrinter {
	return &benchPrinter{std.out, b.json, b.transport, &b.machine}
}

// begin says where the figures were measured.
func (p *benchPrinter) begin() error {
	if p.json {
		return nil
	}
	_, err := fmt.Fprintf(p.w, "goos: %s\ngoarch: %s\npkg: tpsh\nset: %v\n", goruntime.GOOS, goruntime.GOARCH, kernel.Active())
	return err
}

// print prints the figures of a case.
func (p *benchPrinter) print(c *benchCase, f *figures) error {
	metrics := f.metrics(p.machine)
	if p.json {
		return p.printJSON(c, f, metrics)
	}
	var line strings.Builder
	fmt.Fprintf(&line, "Benchmark%s/%s/n=%d-%d\t%8d", c.name, p.suffix, c.ranks, goruntime.GOMAXPROCS(0), f.turns)
	for _, m := range metrics {
		fmt.Fprintf(&line, "\t%s %s", number(m.Value), m.Unit)
	}
	_, err := fmt.Fprintln(p.w, line.String())
	return err
}

// number returns x with about four digits, and never with an exponent.
func number(x float64) string {
	switch {
	case x >= 1000:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

func (p *benchPrinter) printJSON(c *benchCase, f *figures, metrics []metric) error {
	values := map[string]float64{}
	for _, m := range metrics {
		values[m.Unit] = m.Value
	}
	return json.NewEncoder(p.w).Encode(struct {
		Suite     string             `json:"suite"`
		Name      string             `json:"name"`
		Transport string             `json:"transport"`
		Ranks     int                `json:"ranks"`
		Cores     int                `json:"cores"`
		Turns     int                `json:"turns"`
		Metrics   map[string]float64 `json:"metrics"`
	}{c.suite, c.name, p.suffix, c.ranks, goruntime.GOMAXPROCS(0), f.turns, values})
}

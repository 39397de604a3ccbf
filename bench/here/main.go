// Here compares the steps of examples, as they run on this machine, with what tpsh plan
// says of them on the hardware here.
//
//	tpsh bench --calibrate
//	go run ./bench/here
//	go run ./bench/here -ranks 1,2 -repeat 20 gpt megatron
//	go run ./bench/here layouts
//
// prints a row for each example, number of ranks and transport: the step measured, the step
// planned, and the one over the other. Of the later half of a run's steps a third are as fast
// as the one measured, in the best of the runs: what tpsh bench --calibrate measures is as
// fast as that, too, and the very fastest is luck. The runs of a program are spread over all
// the time that it takes. The layouts are five of one model, in the order that was measured:
// the planned ones should have it, too. Whatever else runs on the machine adds to what is measured,
// and most where ranks wait for each other.
//
// An example marks its steps; a copy of it has a mark_step of its own, which keeps the
// time as well, and prints all times in the end.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A program is an example with arguments.
type program struct {
	name, script string
	args         []string
}

var steps = []program{
	{"gpt", "gpt.star", []string{"30"}},
	{"llama", "llama.star", []string{"data/llama", "The licenses for most software are designed to take away your freedom.", "24"}},
	{"megatron", "megatron.star", []string{"--steps", "30"}},
	{"megatron 256", "megatron.star", strings.Fields("--steps 12 --hidden 256 --layers 2 --seq 64")},
	{"digits", "digits.star", nil},
}

// layouts are five of a model on four ranks.
var layouts = []program{
	{"layouts: tp 1", "megatron.star", strings.Fields("--steps 12 --hidden 256 --layers 4 --seq 64 --tp 1")},
	{"layouts: tp 2", "megatron.star", strings.Fields("--steps 12 --hidden 256 --layers 4 --seq 64 --tp 2")},
	{"layouts: tp 4", "megatron.star", strings.Fields("--steps 12 --hidden 256 --layers 4 --seq 64 --tp 4")},
	{"layouts: pp 2", "megatron.star", strings.Fields("--steps 12 --hidden 256 --layers 4 --seq 64 --tp 1 --pp 2")},
	{"layouts: zero 3", "megatron.star", strings.Fields("--steps 12 --hidden 256 --layers 4 --seq 64 --tp 1 --zero 3")},
}

// clock is the file from which the copies have the mark_step of the language; before is
// what stands before a copy, and after what stands behind it.
const (
	clock  = "def marked():\n    mark_step()\n"
	before = `load("clock.star", "marked")
step_times = []
def mark_step():
    marked()
    if rank() == 0 and not planning():
        step_times.append(time())
`
	after = `
if rank() == 0 and not planning():
    print("timed steps", " ".join([str(t) for t in step_times]))
`
)

func main() {
	tpsh := flag.String("tpsh", "", "the `COMMAND` that is measured; by itself it is built")
	ranks := flag.String("ranks", "1,2,4", "numbers of ranks")
	transports := flag.String("transports", "inproc,shm", "transports")
	repeat := flag.Int("repeat", 5, "run each example `N` times")
	flag.Parse()
	if err := run(*tpsh, *ranks, strings.Split(*transports, ","), *repeat, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "here:", err)
		os.Exit(1)
	}
}

func run(tpsh, ranks string, transports []string, repeat int, names []string) error {
	dir, err := os.MkdirTemp("", "here")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if tpsh == "" {
		tpsh = filepath.Join(dir, "tpsh")
		if out, err := exec.Command("go", "build", "-o", tpsh, "./cmd/tpsh").CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	if hw, err := exec.Command(tpsh, "plan", "hw", "here").Output(); err != nil {
		return err
	} else if !strings.HasPrefix(string(hw), "# Measured") {
		return errors.New("nothing was measured on this machine: run tpsh bench --calibrate first")
	}
	if err := copyExamples(dir); err != nil {
		return err
	}
	b := &bench{tpsh: tpsh, dir: dir}
	chosen := func(p program) bool {
		return len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(p.name, n) })
	}
	var rows, ordered []*row
	for _, p := range steps {
		for _, n := range strings.Split(ranks, ",") {
			for _, transport := range transports {
				if chosen(p) {
					rows = append(rows, newRow(p, n, transport))
				}
			}
		}
	}
	for _, transport := range transports {
		for _, p := range layouts {
			if chosen(p) {
				ordered = append(ordered, newRow(p, "4", transport))
			}
		}
	}
	if err := b.fill(slices.Concat(rows, ordered), repeat); err != nil {
		return err
	}
	show(slices.Concat(rows, ordered))
	for of := range slices.Chunk(ordered, max(1, len(ordered)/len(transports))) {
		order(of)
	}
	return nil
}

// copyExamples copies the examples into dir, with a clock.
func copyExamples(dir string) error {
	if err := os.CopyFS(filepath.Join(dir, "examples"), os.DirFS("examples")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "examples/clock.star"), []byte(clock), 0o644); err != nil {
		return err
	}
	for _, name := range []string{"gpt.star", "llama.star", "megatron.star", "digits.star"} {
		path := filepath.Join(dir, "examples", name)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(path, append(append([]byte(before), text...), after...), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// A bench measures and plans.
type bench struct{ tpsh, dir string }

// A row is a program on so many ranks, with its step measured and planned, in seconds.
type row struct {
	program
	ranks, transport  string
	measured, planned float64
}

// newRow returns a row that is not measured.
func newRow(p program, ranks, transport string) *row {
	return &row{p, ranks, transport, math.Inf(1), 0}
}

// fill measures and plans all rows. It goes through them as often as each is to run, and not through
// the runs of each, for a machine's speed changes within minutes: every row has its part of the fast ones.
func (b *bench) fill(rows []*row, repeat int) error {
	for range repeat {
		for _, r := range rows {
			v, err := b.measure(r)
			if err != nil {
				return err
			}
			r.measured = min(r.measured, v)
		}
	}
	for _, r := range rows {
		out, err := b.command("plan", r, "--hw", "here", "--json")
		if err != nil {
			return err
		}
		var f struct {
			Seconds float64 `json:"step_seconds"`
		}
		if err := json.Unmarshal(out, &f); err != nil {
			return err
		}
		r.planned = f.Seconds
	}
	return nil
}

// show prints a table of rows, and how many plans are within a quarter of what was measured.
func show(rows []*row) {
	fmt.Println("| step of | ranks | transport | measured | planned | planned / measured |\n| --- | --- | --- | --- | --- | --- |")
	near := 0
	for _, r := range rows {
		fmt.Printf("| %s | %s | %s | %.3g ms | %.3g ms | %.2f |\n", r.name, r.ranks, r.transport, r.measured*1e3, r.planned*1e3, r.planned/r.measured)
		if math.Abs(r.planned/r.measured-1) <= 0.25 {
			near++
		}
	}
	fmt.Printf("\n%d of %d steps planned within 25 %%\n", near, len(rows))
}

// measure returns the time than which a third of the later half of a run's steps are faster.
func (b *bench) measure(r *row) (float64, error) {
	out, err := b.command("run", r, "--transport", r.transport)
	if err != nil {
		return 0, err
	}
	var times []float64
	for _, line := range strings.Split(string(out), "\n") {
		_, text, ok := strings.Cut(line, "timed steps ")
		if !ok {
			continue
		}
		for _, word := range strings.Fields(text) {
			t, err := strconv.ParseFloat(word, 64)
			if err != nil {
				return 0, err
			}
			times = append(times, t)
		}
	}
	var later []float64
	for i := max(1, len(times)/2); i < len(times); i++ {
		later = append(later, times[i]-times[i-1])
	}
	if len(later) == 0 {
		return 0, fmt.Errorf("%s on %s ranks marked %d steps, want two at least", r.name, r.ranks, len(times))
	}
	slices.Sort(later)
	return later[len(later)/3], nil
}

// command runs tpsh on a row's program.
func (b *bench) command(name string, r *row, flags ...string) ([]byte, error) {
	args := append([]string{name, "-n", r.ranks}, flags...)
	c := exec.Command(b.tpsh, append(append(args, filepath.Join(b.dir, "examples", r.script), "--"), r.args...)...)
	out, err := c.Output()
	if e, ok := err.(*exec.ExitError); ok {
		return nil, fmt.Errorf("%v: %w: %s", c.Args, err, e.Stderr)
	}
	return out, err
}

// order prints whether plans have the layouts of a transport in the order that was measured.
func order(rows []*row) {
	pairs, right := 0, 0
	for i, a := range rows {
		for _, c := range rows[:i] {
			pairs++
			if (a.measured < c.measured) == (a.planned < c.planned) {
				right++
			}
		}
	}
	fmt.Printf("%s: %d of %d pairs of layouts in the right order\n", rows[0].transport, right, pairs)
}

// Peers measures tpsh and what people use today on the same work in the same
// run, and prints the tables of docs/performance: a page for each processor.
//
//	go run ./bench/peers -python venv/bin/python -update docs/performance/intel-xeon.md
//	go run ./bench/peers -python venv/bin/python -only shm,tcp
//	go run ./bench/peers -beside docs/performance.md docs/performance/*.md
//
// The last measures nothing: it puts the tables of several pages side by side.
//
// It alternates between tpsh and its peers, several times, and takes the best of
// each: on a busy machine both have had the same chances. Peers that are not
// installed are named with the reason.
//
// A peer is a program in Python that does what tpsh does: NumPy, PyTorch and JAX on
// one machine's cores, gloo and MPI between processes. A case is one measurement of a
// given size; a grid is the cases of one transport and of its peers, on so many ranks.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A harness is one run.
type harness struct {
	tpsh, python string
	rankProgram  string // of bench/ranks
	scripts      string // the folder of the scripts of the peers
	rounds       int
	time         time.Duration     // of a case in a round
	missing      map[string]string // why a peer is not there, by its name
	versions     map[string]string // of the modules that are there
	kernels      string            // the name of those that tpsh runs, if it is known
	only, page   string
	out          io.Writer // gets a table
}

func main() {
	h := &harness{missing: map[string]string{}, versions: map[string]string{}}
	flag.StringVar(&h.python, "python", "python3", "run the scripts of the peers with `FILE`")
	flag.StringVar(&h.tpsh, "tpsh", "", "measure the binary `FILE` instead of building one")
	flag.StringVar(&h.rankProgram, "rankprogram", "", "measure the binary `FILE` of bench/ranks instead of building one")
	flag.StringVar(&h.scripts, "scripts", filepath.Join("bench", "peers"), "find the scripts of the peers in the folder `DIR`")
	flag.IntVar(&h.rounds, "rounds", 3, "measure each case `N` times")
	flag.DurationVar(&h.time, "time", 500*time.Millisecond, "measure tpsh for `D` in each round, and a peer as long")
	flag.StringVar(&h.page, "update", "", "put the tables into the page `FILE` of this processor, too; it is made if it is not there")
	beside := flag.String("beside", "", "measure nothing: put the tables of the pages that are arguments side by side into the page `FILE`")
	flag.StringVar(&h.only, "run", "", "measure the cases whose name holds `TEXT`")
	which := flag.String("only", "table,shm,tcp", "measure these of table, shm, tcp and mpi: one table of everything, or collectives of processes")
	ranks := flag.Int("ranks", 0, "measure collectives of processes on `N` ranks; 0 is 2 and then 4")
	flag.Parse()
	if *beside != "" {
		if err := writeBeside(*beside, flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "peers:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := h.run(ctx, strings.Split(*which, ","), *ranks); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run measures what which names.
func (h *harness) run(ctx context.Context, which []string, ranks int) error {
	dir, err := os.MkdirTemp("", "tpsh-peers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := h.build(ctx, dir, which); err != nil {
		return err
	}
	if err := h.look(ctx); err != nil {
		return err
	}
	if h.tpsh != "" {
		h.kernels = kernelsOf(ctx, h.tpsh)
	}
	counts := []int{ranks}
	if ranks == 0 {
		counts = []int{2, 4}
	}
	for _, w := range which {
		if w == "table" {
			err = h.section(tableName, modules(peers), func() error { return h.table(ctx) })
		}
		for _, g := range grids([]string{w}, counts, h.only) {
			if w != "table" && err == nil {
				err = h.section(g.name(), modules(gridPeers), func() error { return h.grid(ctx, g) })
			}
		}
		if err != nil {
			return err
		}
	}
	for name, why := range h.missing {
		fmt.Fprintf(os.Stderr, "peers: %s was not measured: %s\n", name, why)
	}
	return nil
}

// build builds the programs of tpsh that which needs.
func (h *harness) build(ctx context.Context, dir string, which []string) error {
	var err error
	if h.tpsh == "" && slices.Contains(which, "table") {
		h.tpsh, err = goBuild(ctx, dir, "", "tpsh/cmd/tpsh")
	}
	processes := func(w string) bool { return w == "shm" || w == "tcp" || w == "mpi" }
	if h.rankProgram == "" && err == nil && slices.ContainsFunc(which, processes) {
		h.rankProgram, err = goBuild(ctx, dir, "native", "tpsh/bench/ranks")
	}
	return err
}

// goBuild builds a program with tags in a folder and returns its file.
func goBuild(ctx context.Context, dir, tags, pkg string) (string, error) {
	file := filepath.Join(dir, filepath.Base(pkg))
	if out, err := exec.CommandContext(ctx, "go", "build", "-tags", tags, "-o", file, pkg).CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return file, nil
}

// section has a table printed, and put into the page, with the versions of the modules
// that its columns need.
func (h *harness) section(name string, modules []string, print func() error) error {
	var text strings.Builder
	h.out = io.MultiWriter(os.Stdout, &text)
	if err := print(); err != nil {
		return err
	}
	fmt.Fprintf(h.out, "\nMeasured on %s", processor())
	if s := h.kernels; s != "" {
		fmt.Fprintf(h.out, ", kernels %s", s)
	}
	if s := h.versionsOf(modules); s != "" {
		fmt.Fprintf(h.out, ", with %s", s)
	}
	fmt.Fprint(h.out, ".\n\n")
	if h.page == "" {
		return nil
	}
	return update(h.page, name, text.String())
}

// table measures the works and prints their table.
func (h *harness) table(ctx context.Context) error {
	fmt.Fprintln(h.out, "| case | ranks, cores | tpsh | peers, and how many times as long they take |")
	fmt.Fprintln(h.out, "| --- | --- | --- | --- |")
	for _, w := range works() {
		if !strings.Contains(w.name, h.only) {
			continue
		}
		if err := h.compare(ctx, w); err != nil {
			return err
		}
	}
	fmt.Fprintln(h.out)
	for _, p := range peers {
		if why := h.missing[p.name]; why != "" {
			fmt.Fprintf(h.out, "%s was not measured: %s\n", p.name, why)
		}
	}
	return nil
}

// lastLine returns the last line of a text, the error if it has none.
func lastLine(text string, err error) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}

// compare measures a case in rounds, and prints its row.
func (h *harness) compare(ctx context.Context, w work) error {
	ours, theirs := 0.0, map[string]float64{}
	for range h.rounds {
		seconds, err := h.ours(ctx, w)
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		ours = better(ours, seconds)
		for _, p := range peers {
			if h.missing[p.name] != "" || !p.does(w) {
				continue
			}
			seconds, err := h.theirs(ctx, p, w)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				fmt.Fprintf(os.Stderr, "peers: %s: %s: %v\n", w.name, p.name, err)
				continue
			}
			theirs[p.name] = better(theirs[p.name], seconds)
		}
	}
	var cells []string
	for _, p := range peers {
		if t := theirs[p.name]; t > 0 {
			cells = append(cells, fmt.Sprintf("%s %s (%.2f)", p.name, w.text(t), t/ours))
		}
	}
	fmt.Fprintf(h.out, "| %s | %d, %d | %s | %s |\n", w.name, w.ranks, w.cores, w.text(ours), strings.Join(cells, ", "))
	return nil
}

// better returns the lesser of two times; before is 0 if there is none.
func better(before, seconds float64) float64 {
	if before == 0 {
		return seconds
	}
	return min(before, seconds)
}

// text returns a time of w, as a rate where it computes.
func (w work) text(seconds float64) string {
	if w.flops > 0 {
		return fmt.Sprintf("%.1f GFLOP/s", w.flops/seconds/1e9)
	}
	return timeText(seconds)
}

// timeText returns a time in a unit that suits it.
func timeText(seconds float64) string {
	switch {
	case seconds < 1e-6:
		return fmt.Sprintf("%.0f ns", seconds*1e9)
	case seconds < 10e-6:
		return fmt.Sprintf("%.2f µs", seconds*1e6)
	}
	return fmt.Sprintf("%.0f µs", seconds*1e6)
}

// errNoFigure says that a measurement printed none.
var errNoFigure = errors.New("printed no figure")

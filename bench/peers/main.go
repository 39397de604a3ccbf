// Peers measures tpsh and what people use today on the same work in the same
// run, and prints the table of docs/performance.md.
//
//	go run ./bench/peers -python venv/bin/python -update docs/performance.md
//
// It alternates between tpsh and its peers, several times, and takes the best of
// each: on a busy machine both have had the same chances. Peers that are not
// installed are named with the reason.
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
	"strings"
	"time"
)

// A harness is one run.
type harness struct {
	tpsh, python string
	scripts      string // the folder of the scripts of the peers
	rounds       int
	time         time.Duration // of a case in a round
	missing      map[string]string
	out          io.Writer // gets the table
}

func main() {
	h := &harness{missing: map[string]string{}}
	flag.StringVar(&h.python, "python", "python3", "run the scripts of the peers with `FILE`")
	flag.StringVar(&h.tpsh, "tpsh", "", "measure the binary `FILE` instead of building one")
	flag.StringVar(&h.scripts, "scripts", filepath.Join("bench", "peers"), "find the scripts of the peers in the folder `DIR`")
	flag.IntVar(&h.rounds, "rounds", 3, "measure each case `N` times")
	flag.DurationVar(&h.time, "time", 500*time.Millisecond, "measure tpsh for `D` in each round, and a peer as long")
	page := flag.String("update", "", "put the table into the page `FILE`, too")
	only := flag.String("run", "", "measure the cases whose name holds `TEXT`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var table strings.Builder
	h.out = io.MultiWriter(os.Stdout, &table)
	err := h.run(ctx, *only)
	if err == nil && *page != "" {
		err = update(*page, table.String())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// run measures the cases and prints the table.
func (h *harness) run(ctx context.Context, only string) error {
	if h.tpsh == "" {
		dir, err := os.MkdirTemp("", "tpsh-peers-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		h.tpsh = filepath.Join(dir, "tpsh")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", h.tpsh, "tpsh/cmd/tpsh").CombinedOutput(); err != nil {
			return fmt.Errorf("go build: %w\n%s", err, out)
		}
	}
	if err := h.look(ctx); err != nil {
		return err
	}
	fmt.Fprintln(h.out, "| case | ranks, cores | tpsh | peers, and how many times as long they take |")
	fmt.Fprintln(h.out, "| --- | --- | --- | --- |")
	for _, w := range works() {
		if !strings.Contains(w.name, only) {
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

// look finds out which peers are installed.
func (h *harness) look(ctx context.Context) error {
	if _, err := exec.LookPath(h.python); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
	}
	for _, p := range peers {
		out, err := exec.CommandContext(ctx, h.python, "-c", "import "+p.module).CombinedOutput()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			h.missing[p.name] = lastLine(string(out), err)
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
	switch {
	case w.flops > 0:
		return fmt.Sprintf("%.1f GFLOP/s", w.flops/seconds/1e9)
	case seconds < 1e-6:
		return fmt.Sprintf("%.0f ns", seconds*1e9)
	case seconds < 10e-6:
		return fmt.Sprintf("%.2f µs", seconds*1e6)
	}
	return fmt.Sprintf("%.0f µs", seconds*1e6)
}

// errNoFigure says that a measurement printed none.
var errNoFigure = errors.New("printed no figure")

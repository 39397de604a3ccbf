// Growth measures how time and memory grow with the number of ranks, and puts the tables into
// docs/performance.md.
//
//	go run ./bench/growth -update docs/performance.md
//	go run ./bench/growth -only shm -ranks 2,8,32
//
// Each number of ranks is a run of tpsh, or two: one that only starts and ends, and one of a
// script that measures the calls, each in several rounds of which the fastest counts. With more
// ranks than cores the time of a call is the work of all ranks together, divided by the cores. An
// exponent is the slope of the line that fits the logarithms of the ranks and of the times best,
// of all columns from sixteen ranks on: 1 is as much work for each rank however many there
// are, 2 is work for each pair of them.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

// A harness is one run of the command.
type harness struct {
	tpsh string
	dir  string // of scripts
	page string
}

// counts are the numbers of ranks for each transport: what a machine of two cores does in a
// minute or so.
var counts = map[string][]int{
	"inproc": {2, 16, 64, 256, 1024, 4096},
	"shm":    {2, 16, 32, 64, 128},
	"tcp":    {2, 16, 32, 64},
}

func main() {
	h := &harness{}
	flag.StringVar(&h.tpsh, "tpsh", "", "measure the binary `FILE` instead of building one")
	flag.StringVar(&h.page, "update", "", "put the tables into the page `FILE`, too")
	only := flag.String("only", "inproc,shm,tcp,tests", "measure these: transports, and tests")
	ranks := flag.String("ranks", "", "measure on these numbers of ranks, `N,N,...`")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := h.run(ctx, strings.Split(*only, ","), *ranks); err != nil {
		fmt.Fprintln(os.Stderr, "growth:", err)
		os.Exit(1)
	}
}

// run measures what which names, on so many ranks if ranks says how many.
func (h *harness) run(ctx context.Context, which []string, ranks string) (err error) {
	if h.dir, err = os.MkdirTemp("", "tpsh-growth-"); err != nil {
		return err
	}
	defer os.RemoveAll(h.dir)
	if h.tpsh == "" {
		h.tpsh = filepath.Join(h.dir, "tpsh")
		if out, err := exec.CommandContext(ctx, "go", "build", "-o", h.tpsh, "./cmd/tpsh").CombinedOutput(); err != nil {
			return fmt.Errorf("build: %w\n%s", err, out)
		}
	}
	for _, name := range which {
		measure := func(n int) ([]figure, error) { return h.ranks(ctx, name, n) }
		sizes := counts[name]
		if name == "tests" {
			measure, sizes = func(n int) ([]figure, error) { return h.tests(ctx, n) }, []int{16, 64, 256, 1024}
		}
		if ranks != "" {
			if sizes, err = numbers(ranks); err != nil {
				return err
			}
		}
		t := &table{name: name}
		for _, n := range sizes {
			figures, err := measure(n)
			if err != nil {
				return fmt.Errorf("%s, %d: %w", name, n, err)
			}
			t.add(n, figures)
			fmt.Printf("%s %d: %v\n", name, n, figures)
		}
		fmt.Println(t)
		if h.page != "" {
			if err := t.update(h.page); err != nil {
				return err
			}
		}
	}
	return nil
}

// numbers returns the numbers in a list of them.
func numbers(list string) (ns []int, err error) {
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("for flag -ranks: got %q, want positive numbers with commas between them", list)
		}
		ns = append(ns, n)
	}
	return ns, nil
}

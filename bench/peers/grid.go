package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A grid is what the ranks of a transport of processes do, and those of its
// peers: every call at every size. One command measures all of it.
type grid struct {
	transport string
	ranks     int
	cases     []string // as "all_reduce/1024"
}

// The calls and the bytes that every rank puts in. Peers have no exact sum: beside ours stands
// their usual one.
var (
	gridCalls = []string{"all_reduce", "all_reduce_exact", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "ping_pong"}
	gridSizes = []int{8, 1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20}
)

// gridRound is the time of a round of a case, in seconds.
const gridRound = 0.05

// grids returns those of the transports, on so many ranks, of the cases whose
// name holds a text.
func grids(transports []string, ranks []int, only string) []grid {
	var cases []string
	for _, call := range gridCalls {
		for _, size := range gridSizes {
			if name := fmt.Sprintf("%s/%d", call, size); strings.Contains(name, only) {
				cases = append(cases, name)
			}
		}
	}
	var all []grid
	for _, t := range transports {
		for _, n := range ranks {
			all = append(all, grid{t, n, cases})
		}
	}
	return all
}

// name is what the grid is called in a page.
func (g grid) name() string { return fmt.Sprintf("%s, %d ranks", g.transport, g.ranks) }

// A gridPeer is a column of a grid.
type gridPeer struct {
	name    string
	module  string // of Python, without which it is not there; "" if it needs none
	command func(h *harness, g grid) []string
}

var gridPeers = []gridPeer{
	{"tpsh", "", func(h *harness, g grid) []string {
		args := []string{h.rankProgram, "-n", strconv.Itoa(g.ranks), "-transport", g.transport, "-round", fmt.Sprint(gridRound, "s")}
		if g.transport == "mpi" {
			args = append(h.mpirun(g.ranks), args...)
		}
		return args
	}},
	{"Open MPI", "mpi4py.MPI", func(h *harness, g grid) []string {
		args := h.mpirun(g.ranks)
		if g.transport == "tcp" {
			args = append(args, "--mca", "pml", "ob1", "--mca", "btl", "tcp,self")
		}
		return append(args, h.python, filepath.Join(h.scripts, "mpi_grid.py"))
	}},
	{"gloo", "torch", func(h *harness, g grid) []string {
		return []string{h.python, filepath.Join(h.scripts, "gloo_grid.py")}
	}},
}

// mpirun returns the command line of Open MPI's launcher, without the program.
func (h *harness) mpirun(ranks int) []string {
	return []string{h.launcher("mpirun"), "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", strconv.Itoa(ranks)}
}

// grid measures g in rounds that alternate between tpsh and its peers, and
// prints a table of the best of each.
func (h *harness) grid(ctx context.Context, g grid) error {
	best := make([]map[string]float64, len(gridPeers))
	for range h.rounds {
		for i, p := range gridPeers {
			if h.missing[p.name] != "" {
				continue
			}
			times, err := h.gridTimes(ctx, p, g)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case err != nil && i == 0:
				return fmt.Errorf("%s: %w", g.name(), err)
			case err != nil:
				fmt.Fprintf(os.Stderr, "peers: %s: %s: %v\n", g.name(), p.name, err)
			}
			if best[i] == nil {
				best[i] = map[string]float64{}
			}
			for name, t := range times {
				best[i][name] = better(best[i][name], t)
			}
		}
	}
	h.printGrid(g, best)
	return nil
}

// gridTimes measures g on a peer: the seconds of each case. With an error it
// returns those that were measured before.
func (h *harness) gridTimes(ctx context.Context, p gridPeer, g grid) (map[string]float64, error) {
	out, err := h.output(ctx, append(p.command(h, g), g.cases...),
		"TPSH_CORES=2", "TPSH_RANKS="+strconv.Itoa(g.ranks), fmt.Sprint("TPSH_ROUND=", gridRound), mpiVariable)
	times := map[string]float64{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if len(words) != 3 || words[0] != "seconds" || !slices.Contains(g.cases, words[1]) {
			continue
		}
		t, err := strconv.ParseFloat(words[2], 64)
		if err != nil {
			return times, err
		}
		times[words[1]] = t
	}
	return times, err
}

// printGrid prints a table of the times of each peer.
func (h *harness) printGrid(g grid, best []map[string]float64) {
	fmt.Fprintf(h.out, "| %s | bytes |", g.name())
	for _, p := range gridPeers {
		fmt.Fprintf(h.out, " %s |", p.name)
	}
	fmt.Fprintf(h.out, "\n| --- | --- |%s\n", strings.Repeat(" --- |", len(gridPeers)))
	for _, name := range g.cases {
		call, size, _ := strings.Cut(name, "/")
		fmt.Fprintf(h.out, "| %s | %s |", call, size)
		ours := best[0][name]
		for i := range gridPeers {
			t := best[i][name]
			switch {
			case t == 0 || ours == 0:
				fmt.Fprint(h.out, " |")
			case i == 0:
				fmt.Fprintf(h.out, " %s |", timeText(t))
			default:
				fmt.Fprintf(h.out, " %s (%.2f) |", timeText(t), t/ours)
			}
		}
		fmt.Fprintln(h.out)
	}
}

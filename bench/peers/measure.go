package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// patience is how long one measurement may take.
const patience = 2 * time.Minute

// ours measures w on tpsh: the seconds of a turn.
func (h *harness) ours(ctx context.Context, w work) (float64, error) {
	if w.script != "" {
		return h.wholeRun(ctx, w)
	}
	cmd := onCores(w.cores, h.tpsh, "bench", w.bench, "-n", strconv.Itoa(w.ranks), "--json", "--time", h.time.String())
	out, err := h.output(ctx, cmd, "GOMAXPROCS="+strconv.Itoa(w.cores))
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(out) {
		var f struct {
			Name    string
			Ranks   int
			Metrics map[string]float64
		}
		if err := json.Unmarshal(line, &f); err != nil {
			return 0, fmt.Errorf("tpsh bench: %w", err)
		}
		if f.Name == w.bench && f.Ranks == w.ranks {
			return f.Metrics["ns/op"] / 1e9, nil
		}
	}
	return 0, fmt.Errorf("tpsh bench %s: %w", w.bench, errNoFigure)
}

// wholeRun measures a run of a script from start to exit, a few times.
func (h *harness) wholeRun(ctx context.Context, w work) (float64, error) {
	file, err := os.CreateTemp("", "tpsh-peers-*.star")
	if err != nil {
		return 0, err
	}
	defer os.Remove(file.Name())
	_, err = file.WriteString(w.script)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return 0, err
	}
	best := 0.0
	for range 5 {
		since := time.Now()
		cmd := onCores(w.cores, h.tpsh, "run", "-n", strconv.Itoa(w.ranks), file.Name())
		if _, err := h.output(ctx, cmd); err != nil {
			return 0, err
		}
		best = better(best, time.Since(since).Seconds())
	}
	return best, nil
}

// theirs measures w on a peer.
func (h *harness) theirs(ctx context.Context, p peer, w work) (float64, error) {
	args := append([]string{h.python, filepath.Join(h.scripts, p.script)}, w.peer...)
	if p.launcher != "" {
		args = append([]string{h.launcher(p.launcher), "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", strconv.Itoa(w.ranks)}, args...)
	}
	out, err := h.output(ctx, onCores(w.cores, args...),
		"TPSH_CORES="+strconv.Itoa(w.cores), "TPSH_RANKS="+strconv.Itoa(w.ranks), fmt.Sprintf("TPSH_ROUND=%g", h.time.Seconds()/5), mpiVariable)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(out)) {
		if rest, found := strings.CutPrefix(line, "seconds "); found {
			return strconv.ParseFloat(strings.TrimSpace(rest), 64)
		}
	}
	return 0, errNoFigure
}

// mpiVariable tells mpi4py which MPI it is to use where there are several.
const mpiVariable = "MPI4PY_MPIABI=openmpi"

// launcher returns the program of a name that starts a peer's ranks: the one
// beside the interpreter, if there is one, or Debian's.
func (h *harness) launcher(name string) string {
	if path, err := exec.LookPath(h.python); err == nil {
		beside := filepath.Join(filepath.Dir(path), name)
		if _, err := os.Stat(beside); err == nil {
			return beside
		}
	}
	if path, err := exec.LookPath(name + ".openmpi"); err == nil {
		return path
	}
	return name
}

// onCores returns a command line that may use so many cores, where the system
// can see to it.
func onCores(cores int, args ...string) []string {
	if cores >= runtime.NumCPU() {
		return args
	}
	if _, err := exec.LookPath("taskset"); err != nil {
		return args
	}
	return append([]string{"taskset", "-c", fmt.Sprintf("0-%d", cores-1)}, args...)
}

// output runs a command and returns what it prints, even if it fails.
func (h *harness) output(ctx context.Context, args []string, env ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = append(os.Environ(), env...)
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%w: %s", err, lastLine(complaint.String(), err))
	}
	return out, nil
}

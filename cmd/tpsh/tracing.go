package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tpsh/builtins"
	"tpsh/cmd/tpsh/perfetto"
	"tpsh/runtime/timeline"
)

// A tracing is what --trace and --trace-steps ask for, and what the ranks have
// kept so far.
type tracing struct {
	path, steps string
	from, to    int

	mu   sync.Mutex
	jobs []*tracedJob
}

// A tracedJob is what the ranks of one run have kept.
type tracedJob struct {
	name  string
	ranks map[int]*timeline.Rank
}

func (t *tracing) declare(fs *flag.FlagSet) {
	fs.StringVar(&t.path, "trace", "", "write what every rank did, and when, to `FILE.json`, for Perfetto and chrome://tracing")
	fs.StringVar(&t.steps, "trace-steps", "", "trace the steps from A to before B alone, as `A:B`; mark_step() ends a step")
}

// check returns a usage error if the flags make no sense.
func (t *tracing) check() error {
	if t.steps == "" {
		return nil
	}
	if t.path == "" {
		return usagef("for flag --trace-steps: want --trace FILE.json with it")
	}
	from, to, two := strings.Cut(t.steps, ":")
	var err1, err2 error
	t.from, err1 = strconv.Atoi(from)
	t.to, err2 = strconv.Atoi(to)
	if !two || err1 != nil || err2 != nil || t.from < 0 || t.to <= t.from {
		return usagef("for flag --trace-steps: got %q, want A:B, steps from A to before B, as 2:4", t.steps)
	}
	return nil
}

// on reports whether there is something to trace.
func (t *tracing) on() bool { return t != nil && t.path != "" }

// options returns what the ranks are to keep.
func (t *tracing) options() builtins.Timeline {
	if !t.on() {
		return builtins.Timeline{}
	}
	return builtins.Timeline{On: true, From: t.from, To: t.to}
}

// job returns what takes what the ranks of the run called name have kept; nil
// without --trace.
func (t *tracing) job(name string) func(rank int, data []byte) {
	if !t.on() {
		return nil
	}
	j := &tracedJob{name: name, ranks: map[int]*timeline.Rank{}}
	t.mu.Lock()
	t.jobs = append(t.jobs, j)
	t.mu.Unlock()
	return func(rank int, data []byte) {
		r, err := timeline.Decode(data)
		if err != nil {
			return // of a rank that says what it is not
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if known := j.ranks[rank]; known != nil {
			known.Append(r)
		} else {
			j.ranks[rank] = r
		}
	}
}

// write writes the file, if one is asked for. err is that of the command, which
// counts before one of writing.
func (t *tracing) write(err error) error {
	if !t.on() {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	f, bad := os.Create(t.path)
	if bad == nil {
		bad = perfetto.Write(f, t.processes())
		if e := f.Close(); bad == nil {
			bad = e
		}
	}
	if bad != nil && err == nil {
		return fmt.Errorf("cannot write the trace: %w", bad)
	}
	return err
}

// processes returns the ranks of all runs, in order.
func (t *tracing) processes() []perfetto.Process {
	var list []perfetto.Process
	for i, j := range t.jobs {
		var ranks []int
		for r := range j.ranks {
			ranks = append(ranks, r)
		}
		slices.Sort(ranks)
		for _, r := range ranks {
			name := fmt.Sprintf("rank %d", r)
			if j.name != "" {
				name = j.name + ", " + name
			}
			list = append(list, perfetto.Process{Name: name, Job: fmt.Sprint(i), Rank: j.ranks[r]})
		}
	}
	return list
}

package main

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tpsh/builtins"
	"tpsh/cmd/tpsh/perfetto"
	"tpsh/cmd/tpsh/report"
	"tpsh/lang/repl"
	"tpsh/runtime/hardware"
	"tpsh/runtime/timeline"
)

// A tracing is what --trace, --report and --trace-steps ask for, and what the ranks
// have kept so far.
type tracing struct {
	path, page, steps string
	from, to          int

	session     bool              // what the ranks did is kept for :report, as far as it is recent
	kind, title string            // of the report
	sources     map[string]string // texts that are in no file

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
	fs.StringVar(&t.page, "report", "", "write a page about the run to `FILE.html`: a timeline, bytes and time by line, memory and more")
	fs.StringVar(&t.steps, "trace-steps", "", "trace the steps from A to before B alone, as `A:B`; mark_step() ends a step")
}

// check returns a usage error if the flags make no sense, or name files that cannot
// be written after the run for want of a folder.
func (t *tracing) check() error {
	for _, f := range [][2]string{{"--trace", t.path}, {"--report", t.page}} {
		if err := checkTarget(f[0], f[1]); err != nil {
			return err
		}
	}
	if t.steps == "" {
		return nil
	}
	if !t.on() {
		return usagef("for flag --trace-steps: want --trace FILE.json or --report FILE.html with it")
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

// checkTarget returns a usage error if path, of a flag that names a file to write, is in
// no folder: better before all the work than after it. "" is for no file.
func checkTarget(flag, path string) error {
	dir := filepath.Dir(path)
	if info, err := os.Stat(dir); path != "" && (err != nil || !info.IsDir()) {
		return usagef("for flag %s: got %s, want a file in a folder that is there (%s is not)", flag, path, dir)
	}
	return nil
}

// on reports whether there is something to trace.
func (t *tracing) on() bool { return t != nil && (t.session || t.path != "" || t.page != "") }

// mostOfSession is how many events are kept of a session that nobody has asked to trace,
// by all ranks.
const mostOfSession = 16_000

// most returns how many events a rank of so many keeps; 0 for all.
func (t *tracing) most(ranks int) int {
	if t.path != "" || t.page != "" {
		return 0
	}
	return max(1000, mostOfSession/ranks)
}

// options returns what the ranks, so many, are to keep.
func (t *tracing) options(ranks int) builtins.Timeline {
	if !t.on() {
		return builtins.Timeline{}
	}
	text, err := hereText()
	if err == nil {
		_, err = hardware.Read("here.toml", text)
	}
	if err != nil { // tpsh plan tells what is wrong with it
		text = []byte(hereEstimate)
	}
	return builtins.Timeline{On: true, Hardware: string(text), From: t.from, To: t.to, Whole: t.session || t.page != "", Most: t.most(ranks)}
}

// job returns what takes what the ranks of the run called name have kept; nil if
// nothing is traced.
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
		if most := t.most(r.Size); most > 0 {
			j.ranks[rank].Keep(most)
		}
	}
}

// write writes the files that are asked for. It returns err, that of the command,
// and with it what cannot be written.
func (t *tracing) write(err error) error {
	if !t.on() {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.path != "" {
		bad := writeFile("the trace", t.path, func(w io.Writer) error { return perfetto.Write(w, t.processes()) })
		err = errors.Join(err, bad)
	}
	if t.page != "" {
		err = errors.Join(err, writeReport(t.page, t.report()))
	}
	return err
}

// writePage writes the page of what was kept so far to the file at path.
func (t *tracing) writePage(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return writeReport(path, t.report())
}

// writeReport writes the page of r to the file at path.
func writeReport(path string, r *report.Report) error {
	return writeFile("the report", path, func(w io.Writer) error { return report.Write(w, r) })
}

// writeFile makes what write writes, which the error calls name, the contents of
// the file at path.
func writeFile(name, path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return unwritten(name+" to "+path, err)
	}
	b := bufio.NewWriter(f)
	err = write(b)
	if err == nil {
		err = b.Flush()
	}
	return unwritten(name+" to "+path, cmp.Or(err, f.Close()))
}

// report returns what the page shows.
func (t *tracing) report() *report.Report {
	r := &report.Report{Kind: t.kind, Title: t.title, Command: commandLine(), Sources: map[string]string{}}
	maps.Copy(r.Sources, t.sources)
	for i, j := range t.jobs {
		job := report.Job{Name: j.name}
		if t.session {
			job.Name = fmt.Sprintf("session %d", i+1)
		}
		for _, rank := range slices.Sorted(maps.Keys(j.ranks)) {
			job.Ranks = append(job.Ranks, j.ranks[rank])
			for i := range j.ranks[rank].Events {
				addSource(r.Sources, j.ranks[rank].Events[i].Line)
			}
		}
		r.Jobs = append(r.Jobs, job)
	}
	return r
}

// typed notes what was typed into a shell, which lines of a session name.
func (t *tracing) typed(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sources = map[string]string{repl.Typed: text}
}

// commandLine returns the command as it was given.
func commandLine() string { return "tpsh " + strings.Join(os.Args[1:], " ") }

// mostSource is the size of the largest file that a report quotes, in bytes.
const mostSource = 1 << 20

// addSource reads the file of a line of a script, if it is there to be read.
func addSource(sources map[string]string, where string) {
	file, _, _ := strings.Cut(where, ":")
	if _, known := sources[file]; known || file == "" {
		return
	}
	sources[file] = ""
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() > mostSource {
		return
	}
	if text, err := os.ReadFile(file); err == nil {
		sources[file] = string(text)
	}
}

// processes returns the ranks of all runs, in order.
func (t *tracing) processes() []perfetto.Process {
	var list []perfetto.Process
	for i, j := range t.jobs {
		for _, r := range slices.Sorted(maps.Keys(j.ranks)) {
			name := fmt.Sprintf("rank %d", r)
			if j.name != "" {
				name = j.name + ", " + name
			}
			list = append(list, perfetto.Process{Name: name, Job: fmt.Sprint(i), Rank: j.ranks[r]})
		}
	}
	return list
}

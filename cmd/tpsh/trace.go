package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tpsh/cmd/tpsh/kineto"
	"tpsh/cmd/tpsh/report"
	"tpsh/runtime/hardware"
	"tpsh/runtime/plan"
)

var traceCommand = &command{
	name:  "trace",
	usage: "[--json] [--report FILE.html] [--plan SCRIPT.star -n N] FILE...",
	short: "says what traces of PyTorch's profiler, or of tpsh, hold: bytes, calls, time, overlap, waits and stragglers",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		o := &traceOptions{limits: limits{quiet: true}}
		fs.BoolVar(&o.json, "json", false, "write all of it as JSON")
		fs.StringVar(&o.plan, "plan", "", "put beside it what the plan of `SCRIPT.star` predicts, call by call")
		fs.IntVar(&o.n, "n", 0, "plan for `N` ranks; as many as the traces have without it")
		fs.StringVar(&o.machine, "hw", hereName, "plan on the hardware of `NAME`, a built-in one or a file")
		fs.StringVar(&o.page, "report", "", "write a page about the traces to `FILE.html`")
		return o.run
	},
}

// traceOptions are the flags of tpsh trace.
type traceOptions struct {
	limits
	json          bool
	plan, machine string
	page          string
	n             int
}

func (o *traceOptions) run(std *stdio, args []string) error {
	if err := checkTarget("--report", o.page); err != nil {
		return err
	}
	if len(args) == 0 {
		return usagef("trace: got no file, want traces of PyTorch's profiler, one a rank, or one of tpsh")
	}
	files, err := traceFiles(args)
	if err != nil {
		return filef("trace: %w", err)
	}
	var traces []*kineto.Trace
	for i, f := range files {
		list, err := kineto.Read(f, i)
		if err != nil {
			return filef("trace: %w", err)
		}
		traces = append(traces, list...)
	}
	s := kineto.Summarize(traces)
	if o.plan != "" {
		if err := o.compare(std, s, traces); err != nil {
			return err
		}
	}
	if err := o.report(files, traces); err != nil {
		return err
	}
	if o.json {
		return json.NewEncoder(std.out).Encode(s)
	}
	if err := s.WriteText(std.out); err != nil || o.plan == "" {
		return err
	}
	return kineto.WriteCompared(std.out, s.Plan)
}

// report writes the page about the traces, if one is asked for.
func (o *traceOptions) report(files []string, traces []*kineto.Trace) error {
	if o.page == "" {
		return nil
	}
	job := report.Job{}
	for _, t := range traces {
		job.Ranks = append(job.Ranks, t.Timeline())
	}
	r := &report.Report{Kind: "trace", Title: filepath.Base(filepath.Dir(files[0])), Command: commandLine(), Jobs: []report.Job{job}}
	return writeReport(o.page, r)
}

// compare puts the plan's calls of the lowest rank that was traced beside its
// own.
func (o *traceOptions) compare(std *stdio, s *kineto.Summary, traces []*kineto.Trace) error {
	first := kineto.First(traces)
	if o.n == 0 {
		o.n = len(s.Ranks)
		for _, t := range traces {
			o.n = max(o.n, t.World)
		}
	}
	if err := checkRanks(o.n); err != nil {
		return err
	}
	if first.Rank >= o.n {
		return usagef("for flag -n: got %d, want over %d, a rank with a trace", o.n, first.Rank)
	}
	m, err := loadMachine(o.machine)
	if err != nil {
		return fmt.Errorf("for flag --hw: %w", err)
	}
	ctx, done := interruptible()
	defer done()
	program, err := evaluate(ctx, question{Script: o.plan, Ranks: o.n, Notes: std.err, Limits: &o.limits})
	if err != nil {
		return tellRefusal(std.err, err)
	}
	s.Plan = s.Compare(first, plannedCalls(program, m, first.Rank))
	return nil
}

// plannedCalls returns what a plan has a rank call, with the time of each.
func plannedCalls(p *plan.Program, m *hardware.Machine, rank int) []kineto.Planned {
	kind := p.Kinds[p.KindOf[rank]]
	var out []kineto.Planned
	for _, e := range kind.Events {
		switch e.Do {
		case plan.Collective, plan.Issue, plan.Send, plan.Recv:
		default:
			continue
		}
		c := p.Calls[e.Index]
		ranks := kind.Groups[e.Group].Of(rank)
		how := hardware.Collective{Op: c.Op, Ranks: ranks, Bytes: float64(c.Bytes)}
		if e.Do == plan.Send || e.Do == plan.Recv {
			how.Op, how.Ranks = "send", []int{rank, ranks[kind.Channels[e.Channel].At(rank)]}
		}
		out = append(out, kineto.Planned{Op: c.Op, Bytes: c.At(slices.Index(ranks, rank)), Seconds: m.Collective(how), Where: p.Lines[e.Line]})
	}
	return out
}

// traceFiles returns the files that args name, and those of traces in folders.
func traceFiles(args []string) ([]string, error) {
	var files []string
	for _, a := range args {
		info, err := os.Stat(a)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, a)
			continue
		}
		rows, err := os.ReadDir(a)
		if err != nil {
			return nil, err
		}
		before := len(files)
		for _, r := range rows {
			if n := r.Name(); r.Type().IsRegular() && (strings.HasSuffix(n, ".json") || strings.HasSuffix(n, ".json.gz")) {
				files = append(files, filepath.Join(a, n))
			}
		}
		if len(files) == before {
			return nil, fmt.Errorf("%s: no .json and no .json.gz", a)
		}
	}
	return files, nil
}

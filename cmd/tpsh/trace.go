package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tpsh/cmd/tpsh/kineto"
)

var traceCommand = &command{
	name:  "trace",
	usage: "[--json] FILE...",
	short: "says what the traces of PyTorch's profiler hold: bytes, calls, time, overlap, waits and stragglers",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		o := new(traceOptions)
		fs.BoolVar(&o.json, "json", false, "write all of it as JSON")
		return o.run
	},
}

// traceOptions are the flags of tpsh trace.
type traceOptions struct{ json bool }

func (o *traceOptions) run(std *stdio, args []string) error {
	files, err := traceFiles(args)
	if err != nil {
		return usageError{fmt.Errorf("trace: %w", err)}
	}
	var traces []*kineto.Trace
	for i, f := range files {
		t, err := kineto.Read(f, i)
		if err != nil {
			return usageError{fmt.Errorf("trace: %w", err)}
		}
		traces = append(traces, t)
	}
	s := kineto.Summarize(traces)
	if o.json {
		return json.NewEncoder(std.out).Encode(s)
	}
	return s.WriteText(std.out)
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
	if len(files) == 0 {
		return nil, fmt.Errorf("got no file, want traces of PyTorch's profiler, one a rank")
	}
	return files, nil
}

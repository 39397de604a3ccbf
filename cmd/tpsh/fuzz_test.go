package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tpsh/lang"
)

// greedy matches scripts that may ask Starlark itself for more memory than
// there is, which nothing bounds.
var greedy = regexp.MustCompile(`[0-9]{5}|<<|\*.*\*|e[0-9]|recurs`)

// Whatever a script says, it ends, and what goes wrong is an error and not a
// panic.
func FuzzScript(f *testing.F) {
	seeds, err := filepath.Glob("../../builtins/testdata/*.star")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range seeds {
		source, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, part := range strings.Split(string(source), "\n\n") {
			f.Add(part)
		}
	}
	f.Add("if rank() == 0:\n    recv(1)\nelse:\n    all_reduce(zeros(2))\n")
	f.Fuzz(func(t *testing.T, source string) {
		if greedy.MatchString(source) || len(source) > 4000 {
			return
		}
		ranks, err := (&starter{limits: &limits{maxMem: 64 << 20, quiet: true}, ranks: 2, transport: "inproc"}).start(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer ranks.stop()
		s := lang.NewSession(ranks.conns, lang.Options{})
		defer s.Close()
		outcome, err := s.Run(context.Background(), lang.Program{Path: "fuzz.star", Dir: t.TempDir(), Source: source, MaxSteps: 20_000, Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		var report bytes.Buffer
		outcome.Report(&report)
		if text := report.String(); strings.Contains(text, "goroutine ") || strings.Contains(text, "panic") || strings.Contains(text, "does not stop") {
			t.Errorf("script:\n%s\nreport:\n%s", source, text)
		}
	})
}

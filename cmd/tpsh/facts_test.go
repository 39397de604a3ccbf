package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What is to be written once is: where else it stands, a second of its kind is
// being built.
var once = []struct {
	what    string
	pattern *regexp.Regexp
	dir     string
	most    int
	instead string
}{
	{"a contract", regexp.MustCompile(`comm\.Desc\{`), "runtime", 1, "contract makes it, and call states it"},
	{"a contract", regexp.MustCompile(`comm\.Desc\{`), "runtime/shard", 1, "contract makes it"},
	{"an operator's name", regexp.MustCompile(`Name [!=]= "|switch \w+\.Name\b`), "runtime/shard", 0, "what is to be known of an operator is in its op.Def"},
	{"the line of a forward call", regexp.MustCompile(`\.replayed = `), "runtime", 2, "replay sets it and restores it"},
	{"the recovery of a tape's failure", regexp.MustCompile(`\.\(\*(op\.)?TapeError\)`), "runtime/op", 1, "op.Recover"},
	{"the recovery of a tape's failure", regexp.MustCompile(`\.\(\*(op\.)?TapeError\)`), "runtime/grad", 0, "op.Recover"},
	{"the recovery of a tape's failure", regexp.MustCompile(`\.\(\*(op\.)?TapeError\)`), "runtime", 0, "op.Recover"},
	{"the recovery of a tape's failure", regexp.MustCompile(`\.\(\*(op\.)?TapeError\)`), "builtins", 0, "op.Recover"},
}

func TestOnce(t *testing.T) {
	for _, o := range once {
		files, err := filepath.Glob(filepath.Join("..", "..", o.dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files: %v", o.dir, err)
		}
		var at []string
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			source, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for range o.pattern.FindAll(source, -1) {
				at = append(at, filepath.Base(f))
			}
		}
		if len(at) > o.most {
			t.Errorf("%s stands %d times in %s (%s), want at most %d: %s", o.what, len(at), o.dir, strings.Join(at, ", "), o.most, o.instead)
		}
	}
}

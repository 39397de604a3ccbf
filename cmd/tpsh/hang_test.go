package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tpsh/cmd/tpsh/hang"
	"tpsh/lang"
)

// The script that tpsh hang writes of a job is stopped for the same reason on
// ranks of tpsh.
func TestHangScripts(t *testing.T) {
	reasons := map[string]string{
		hang.NeverCalled: "deadlock: ", hang.Cycle: "deadlock: ", hang.CallsDiffer: "ranks do not call the same", hang.NotFinished: "was killed at",
	}
	dirs, err := filepath.Glob("hang/testdata/*/*")
	if err != nil || len(dirs) < 10 {
		t.Fatalf("%d jobs, %v", len(dirs), err)
	}
	seen := map[string]bool{}
	for _, dir := range dirs {
		job, err := hang.Read([]string{dir})
		if err != nil {
			continue // make, which holds no job
		}
		v := hang.Explain(job)
		if v.Verdict != hang.Culprits {
			continue
		}
		kind := v.Culprits[0].Kind
		seen[kind] = true
		file := filepath.Join(t.TempDir(), "hang.star")
		var out bytes.Buffer
		if code := run(&stdio{strings.NewReader(""), &out, &out}, []string{"hang", "--star", file, dir}); code != lang.StatusFailed {
			t.Errorf("%s: exit status %d\n%s", dir, code, out.String())
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out.Reset()
		n := strings.Count(string(text), "\nRank ")
		code := run(&stdio{strings.NewReader(""), &out, &out}, []string{"run", "-n", fmt.Sprint(n), file})
		if code == lang.StatusOK || !strings.Contains(out.String(), reasons[kind]) {
			t.Errorf("%s (%s): exit status %d\n%s\n%s", dir, kind, code, text, out.String())
		}
	}
	for kind := range reasons {
		if !seen[kind] {
			t.Errorf("no job has a rank of kind %q", kind)
		}
	}
}

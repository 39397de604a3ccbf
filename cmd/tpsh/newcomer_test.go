package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Small programs as newcomers write them, from the README and tpsh doc, print what the
// file beside each says: on one to three ranks, and on two that are processes.
func TestNewcomersPrograms(t *testing.T) {
	scripts, err := filepath.Glob("testdata/newcomer/*.star")
	if err != nil || len(scripts) < 15 {
		t.Fatalf("found %d programs, %v", len(scripts), err)
	}
	for _, script := range scripts {
		golden := strings.TrimSuffix(script, ".star") + ".txt"
		for _, on := range []struct {
			n         int
			transport string
		}{{2, "inproc"}, {1, "inproc"}, {3, "inproc"}, {2, "shm"}} {
			t.Run(fmt.Sprintf("%s/%d/%s", filepath.Base(script), on.n, on.transport), func(t *testing.T) {
				got := runExample(t, "-n", fmt.Sprint(on.n), "--transport", on.transport, script)
				if *update {
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("got:\n%s\nwant:\n%s", got, want)
				}
			})
		}
	}
}

package hang

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestMade holds the verdicts on jobs that testdata/make/jobs.py has made,
// those in testdata/jobs and those in the folder that HANG_JOBS names.
func TestMade(t *testing.T) {
	for _, parent := range []string{"testdata/jobs", os.Getenv("HANG_JOBS")} {
		truths, _ := filepath.Glob(filepath.Join(parent, "*", "truth.json"))
		for _, f := range truths {
			t.Run(filepath.Base(filepath.Dir(f)), func(t *testing.T) { checkMade(t, f) })
		}
	}
}

func checkMade(t *testing.T, path string) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Verdict, Kind string
		Culprits      []int
		Victim, Line  int
	}
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	j, err := Read([]string{filepath.Dir(path)})
	if err != nil {
		t.Fatal(err)
	}
	v := Explain(j)
	got := []int{}
	for _, c := range v.Culprits {
		got = append(got, c.Rank)
		if c.Kind != want.Kind || want.Line > 0 && c.Rank == want.Victim && !strings.Contains(c.Where, fmt.Sprintf("jobs.py:%d ", want.Line)) {
			t.Errorf("rank %d: %s at %s, want %s at line %d", c.Rank, c.Kind, c.Where, want.Kind, want.Line)
		}
	}
	if v.Verdict != want.Verdict || !slices.Equal(got, want.Culprits) {
		var text strings.Builder
		v.WriteText(&text)
		t.Errorf("%s of %v, want %s of %v\n%s", v.Verdict, got, want.Verdict, want.Culprits, text.String())
	}
}

// TestMany sees to it that the folder that HANG_JOBS names has jobs.
func TestMany(t *testing.T) {
	dir := os.Getenv("HANG_JOBS")
	if dir == "" {
		t.Skip("HANG_JOBS names no folder of jobs that testdata/make/jobs.py made: .ci/hang makes one")
	}
	if truths, _ := filepath.Glob(filepath.Join(dir, "*", "truth.json")); len(truths) == 0 {
		t.Errorf("%s has no job", dir)
	}
}

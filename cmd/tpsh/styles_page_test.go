package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs/styles.md is what testdata/styles.star prints on four ranks.
func TestStylesPage(t *testing.T) {
	const page = "../../docs/styles.md"
	got := runExample(t, "-n", "4", filepath.Join("testdata", "styles.star"))
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(string(data), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("%s, line %d is not:\n%s\nrun: go test ./cmd/tpsh -run StylesPage -update", page, i+1, line)
		}
	}
	if got != string(data) {
		t.Fatalf("%s has more than a run prints; run: go test ./cmd/tpsh -run StylesPage -update", page)
	}
}

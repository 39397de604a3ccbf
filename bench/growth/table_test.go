package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An exponent is that of a power of the ranks, whatever stands in front of it, and there is none of
// too few points.
func TestExponent(t *testing.T) {
	for _, want := range []float64{0, 1, 1.5, 2} {
		cells := map[int]figure{2: {value: 1e9}} // below what is fitted
		for _, n := range []int{16, 64, 1024} {
			cells[n] = figure{value: 3e-6 * math.Pow(float64(n), want)}
		}
		if got := exponent(cells); math.Abs(got-want) > 1e-9 {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	if got := exponent(map[int]figure{16: {value: 1}, 32: {value: 2}}); !math.IsNaN(got) {
		t.Errorf("two points: got %v, want NaN", got)
	}
}

// A page has what was measured, in its place; a page without that place is an error.
func TestTableInPage(t *testing.T) {
	tab := &table{name: "shm"}
	for _, n := range []int{2, 16, 32, 64} {
		tab.add(n, []figure{{"barrier", 2e-6 * float64(n), false}, {"memory", 1e6 * float64(n), true}})
	}
	tab.cells["only"] = map[int]figure{64: {"only", 12.34, false}}
	tab.cases = append(tab.cases, "only")
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n<!-- table of bench/growth: shm -->\nold\n<!-- end of table -->\nafter\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := tab.update(page); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	want := strings.Join([]string{
		"before", "<!-- table of bench/growth: shm -->",
		"| shm, ranks | 2 | 16 | 32 | 64 | exponent |", "| --- | ---: | ---: | ---: | ---: | ---: |",
		"| barrier | 4.00 µs | 32.0 µs | 64.0 µs | 128 µs | 1.0 |", "| memory | 2.00 MB | 16.0 MB | 32.0 MB | 64.0 MB | 1.0 |",
		"| only |  |  |  | 12.3 s | |", "<!-- end of table -->", "after", "",
	}, "\n")
	if err != nil || string(got) != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, got, want)
	}
	tab.name = "tcp"
	if err := tab.update(page); err == nil {
		t.Error("a page without the table: want an error")
	}
}

func TestNumbers(t *testing.T) {
	if got, err := numbers("2,16"); err != nil || len(got) != 2 || got[1] != 16 {
		t.Errorf("got %v and %v, want 2 and 16", got, err)
	}
	for _, bad := range []string{"", "2,", "x", "0", "-1"} {
		if got, err := numbers(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}

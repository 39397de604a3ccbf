package main

import (
	"os"
	"strings"
	"testing"
)

// Every work has something to measure here, and every peer a script that knows
// the kinds of work it is given.
func TestWorks(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range works() {
		key := w.name + " on " + strings.Repeat("i", w.ranks) + " " + strings.Repeat("i", w.cores)
		if seen[key] {
			t.Errorf("%s stands twice for %d ranks on %d cores", w.name, w.ranks, w.cores)
		}
		seen[key] = true
		if (w.bench == "") == (w.script == "") {
			t.Errorf("%s: got case %q and script %q, want one of them", w.name, w.bench, w.script)
		}
	}
	for _, p := range peers {
		text, err := os.ReadFile(p.script)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range works() {
			if p.does(w) && len(p.kinds) > 1 && !strings.Contains(string(text), "def "+w.peer[0]+"(") {
				t.Errorf("%s does not define %s of %s", p.script, w.peer[0], w.name)
			}
		}
	}
}

func TestText(t *testing.T) {
	for _, c := range []struct {
		w       work
		seconds float64
		want    string
	}{
		{work{}, 512e-9, "512 ns"},
		{work{}, 1.234e-6, "1.23 µs"},
		{work{}, 5.2e-3, "5200 µs"},
		{work{flops: 2e9}, 1e-2, "200.0 GFLOP/s"},
	} {
		if got := c.w.text(c.seconds); got != c.want {
			t.Errorf("text(%v) = %q, want %q", c.seconds, got, c.want)
		}
	}
}

// The table of a page is replaced and the rest stays; a page without its marks
// is refused.
func TestReplaceTable(t *testing.T) {
	begin := tableBegin("shm, 2 ranks")
	got, err := replaceTable("before\n"+begin+"old\n"+tableEnd+"behind\n", "shm, 2 ranks", "new\n")
	if want := "before\n" + begin + "new\n" + tableEnd + "behind\n"; got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, page := range []string{"", begin, tableEnd + begin, tableBegin("shm, 4 ranks") + tableEnd} {
		if got, err := replaceTable(page, "shm, 2 ranks", "new\n"); err == nil {
			t.Errorf("replaceTable(%q) = %q, want an error", page, got)
		}
	}
}

// The page has a place for every table.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{tableName}
	for _, g := range grids([]string{"shm", "tcp"}, []int{2, 4}, "") {
		names = append(names, g.name())
	}
	for _, name := range names {
		if _, err := replaceTable(string(page), name, ""); err != nil {
			t.Errorf("docs/performance.md: %v", err)
		}
	}
}

// A grid prints what was measured, and by how many times each peer takes longer.
func TestPrintGrid(t *testing.T) {
	var out strings.Builder
	h := &harness{out: &out}
	g := grid{"shm", 2, []string{"all_reduce/8", "broadcast/8"}}
	h.printGrid(g, []map[string]float64{{"all_reduce/8": 1e-6, "broadcast/8": 2e-6}, {"all_reduce/8": 1.5e-6}, nil})
	want := "| shm, 2 ranks | bytes | tpsh | Open MPI | gloo |\n| --- | --- | --- | --- | --- |\n" +
		"| all_reduce | 8 | 1.00 µs | 1.50 µs (1.50) | |\n| broadcast | 8 | 2.00 µs | | |\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// Below a table stand the versions of what was there, each module once.
func TestVersions(t *testing.T) {
	h := &harness{versions: map[string]string{"numpy": "2.4.1", "torch": "2.15.0", "mpi4py.MPI": "5.0.8"}}
	if got, want := h.versionsOf(modules(peers)), "NumPy 2.4.1, PyTorch 2.15.0, Open MPI 5.0.8"; got != want {
		t.Errorf("of the table: got %q, want %q", got, want)
	}
	if got, want := h.versionsOf(modules(gridPeers)), "Open MPI 5.0.8, PyTorch 2.15.0"; got != want {
		t.Errorf("of a grid: got %q, want %q", got, want)
	}
	for _, m := range append(modules(peers), modules(gridPeers)...) {
		if titles[m] == "" {
			t.Errorf("module %q has no title", m)
		}
	}
}

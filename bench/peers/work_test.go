package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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

// Every page of a processor has the table of everything, and docs/performance.md has these
// tables side by side as they stand there.
func TestPages(t *testing.T) {
	files, err := filepath.Glob("../../docs/performance/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("docs/performance/*.md: got %v, %v, want pages", files, err)
	}
	table, err := besideTable(files)
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := replaceTable(string(page), besideName, table)
	if err != nil {
		t.Fatal(err)
	}
	if want != string(page) {
		t.Error("docs/performance.md differs from the pages in docs/performance: go run ./bench/peers -beside docs/performance.md docs/performance/*.md")
	}
}

// A page that is not there begins with room for every table.
func TestNewPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new.md")
	for _, name := range append([]string{tableName}, gridNames()...) {
		if err := update(file, name, "| of "+name+" |\n"); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# " + processor() + "\n", "| of everything |\n" + tableEnd, "| of mpi, 4 ranks |\n" + tableEnd} {
		if !strings.Contains(string(text), want) {
			t.Errorf("got\n%s\nwant it to have %q", text, want)
		}
	}
}

// What one page has and another has not leaves its cell empty; of peers the fastest is named.
func TestBeside(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	begin := tableBegin(tableName) + "| case | ranks, cores | tpsh | peers |\n| --- | --- | --- | --- |\n"
	a := write("a.md", "# One\n\n"+begin+"| x + y of 8x8 | 1, 1 | 474 ns | PyTorch 837 ns (1.76), JAX 5.09 µs (10.72) |\n| of old | 1, 2 | 3 µs |  |\n"+tableEnd)
	b := write("b.md", "# Two\n\n"+begin+"| all_reduce of 8B | 2, 2 | 1.15 µs | JAX 74 µs (64.33), Open MPI 760 ns (0.66) |\n\nMeasured on 2 cores.\n"+tableEnd)
	got, err := besideTable([]string{a, b})
	want := "| case | ranks, cores | One | Two |\n| --- | --- | --- | --- |\n" +
		"| x + y of 8x8 | 1, 1 | 474 ns, PyTorch 1.76 | |\n| all_reduce of 8B | 2, 2 | | 1.15 µs, Open MPI 0.66 |\n| of old | 1, 2 | 3 µs | |\n"
	if got != want || err != nil {
		t.Errorf("got\n%s%v, want\n%s", got, err, want)
	}
	for text, want := range map[string]string{
		"no title":          `got first line "no title", want # and the processor`,
		"# One\n\nno table": "has no table of everything",
	} {
		if _, err := besideTable([]string{write("bad.md", text)}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("of %q: got %v, want %s", text, err, want)
		}
	}
}

// What a machine says of itself is read by its fields.
func TestProcessor(t *testing.T) {
	fields := cpuFields("processor\t: 0\nmodel name\t: A: B\ncpu family\t: 6\n\nprocessor\t: 1\nmodel name\t: C\n")
	if got := fields["model name"] + " " + fields["cpu family"]; got != "A: B 6" {
		t.Errorf("got %q, want the fields of the first processor", got)
	}
	if got := kernelsIn("ok    cores             2\nok    kernels           avx512, the best\n"); got != "avx512" {
		t.Errorf("kernels: got %q, want avx512", got)
	}
	if got := processor(); !strings.HasPrefix(got, fmt.Sprint(runtime.NumCPU(), " cores of ")) {
		t.Errorf("got %q, want how many cores of what", got)
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

package main

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"strings"
)

// A table holds figures by case and number of ranks.
type table struct {
	name   string
	counts []int
	cases  []string
	cells  map[string]map[int]figure
}

// leastOfFit is the number of ranks from which exponents are fitted: below it a call costs what
// it costs whatever there is to do.
const leastOfFit = 16

// add notes what was measured on n ranks.
func (t *table) add(n int, figures []figure) {
	t.counts = append(t.counts, n)
	if t.cells == nil {
		t.cells = map[string]map[int]figure{}
	}
	for _, f := range figures {
		if t.cells[f.name] == nil {
			t.cells[f.name] = map[int]figure{}
			t.cases = append(t.cases, f.name)
		}
		t.cells[f.name][n] = f
	}
}

// String returns the table as a page has it.
func (t *table) String() string {
	var b strings.Builder
	head := t.name + ", ranks"
	if t.name == "tests" {
		head = "a file of tests"
	}
	fmt.Fprintf(&b, "| %s |", head)
	for _, n := range t.counts {
		fmt.Fprintf(&b, " %d |", n)
	}
	fmt.Fprintf(&b, " exponent |\n| --- |%s\n", strings.Repeat(" ---: |", len(t.counts)+1))
	for _, name := range t.cases {
		fmt.Fprintf(&b, "| %s |", name)
		for _, n := range t.counts {
			f, ok := t.cells[name][n]
			fmt.Fprintf(&b, " %s |", cmp.Or(map[bool]string{true: text(f)}[ok], ""))
		}
		if e := exponent(t.cells[name]); math.IsNaN(e) {
			b.WriteString(" |\n")
		} else {
			fmt.Fprintf(&b, " %.1f |\n", e)
		}
	}
	return b.String()
}

// text writes a figure in three digits with a unit.
func text(f figure) string {
	units := []string{"µs", "ms", "s"}
	v := f.value * 1e6
	if f.bytes {
		units, v = []string{"kB", "MB", "GB"}, f.value/1e3
	}
	i := 0
	for v >= 1000 && i < len(units)-1 {
		v, i = v/1000, i+1
	}
	digits := 0
	for d := v; d < 100 && d > 0 && digits < 2; d *= 10 {
		digits++
	}
	return fmt.Sprintf("%.*f %s", digits, v, units[i])
}

// exponent returns the slope of the line that fits the logarithms best, from leastOfFit ranks
// on; NaN if there are fewer than three points.
func exponent(cells map[int]figure) float64 {
	var xs, ys []float64
	for n, f := range cells {
		if n >= leastOfFit && f.value > 0 {
			xs, ys = append(xs, math.Log(float64(n))), append(ys, math.Log(f.value))
		}
	}
	if len(xs) < 3 {
		return math.NaN()
	}
	mean := func(vs []float64) (m float64) {
		for _, v := range vs {
			m += v / float64(len(vs))
		}
		return m
	}
	mx, my := mean(xs), mean(ys)
	var up, down float64
	for i := range xs {
		up += (xs[i] - mx) * (ys[i] - my)
		down += (xs[i] - mx) * (xs[i] - mx)
	}
	return up / down
}

// update puts the table between its marks of the page in a file.
func (t *table) update(file string) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := "<!-- table of bench/growth: "+t.name+" -->\n", "<!-- end of table -->\n"
	head, rest, begins := strings.Cut(string(page), begin)
	_, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s: no line %q with a line %q behind it", file, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(file, []byte(head+begin+t.String()+end+tail), 0o644)
}

package tracediff

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"

	"tpsh/internal/units"
)

// A Diff is what differs between two runs. Its lists have the largest first.
type Diff struct {
	Equal    bool       `json:"equal"`
	Seconds  [2]float64 `json:"seconds"` // of the whole trace, or of the plan's step
	Ranks    [2]int     `json:"ranks"`
	Slower   []Change   `json:"slower"`
	Faster   []Change   `json:"faster"`
	More     []Change   `json:"moved_more"`
	Less     []Change   `json:"moved_less"`
	Moved    []Move     `json:"moved_elsewhere"`
	Figures  []Figure   `json:"figures"` // of plans
	Measured bool       `json:"measured"`
}

// A Change is a part that both have, or one alone: its zero value stands for none.
type Change struct {
	Key
	A Part `json:"a"`
	B Part `json:"b"`
}

// A Move is calls that are elsewhere.
type Move struct {
	From Key  `json:"from"`
	To   Key  `json:"to"`
	Part Part `json:"calls"`
}

// A Figure is a number of a plan that differs.
type Figure struct {
	Name string  `json:"name"`
	A    float64 `json:"a"`
	B    float64 `json:"b"`
}

// From what share of itself, and of the whole, a measured time counts as changed.
const (
	muchSlower = 0.1
	ofWhole    = 0.01
)

// rounding is what share of itself a predicted number differs by where sums were taken from
// another start.
const rounding = 1e-9

// same reports whether x and y are one predicted number.
func same(x, y float64) bool { return math.Abs(x-y) <= rounding*max(math.Abs(x), math.Abs(y)) }

// Compare says what differs from a to b. The runs are equal if nothing moves otherwise
// and, of plans, no figure differs; measured seconds differ always.
func Compare(a, b *Costs) *Diff {
	d := &Diff{Seconds: [2]float64{a.Seconds, b.Seconds}, Ranks: [2]int{a.Ranks, b.Ranks}, Measured: !a.Plan,
		Slower: []Change{}, Faster: []Change{}, More: []Change{}, Less: []Change{}, Moved: []Move{}, Figures: []Figure{}}
	only := d.moves(a, b)
	for _, k := range keys(a, b) {
		if only[k] {
			continue
		}
		c := Change{Key: k}
		if p := a.Parts[k]; p != nil {
			c.A = *p
		}
		if p := b.Parts[k]; p != nil {
			c.B = *p
		}
		d.sort(c, max(a.Seconds*float64(a.Ranks), b.Seconds*float64(b.Ranks)))
	}
	for _, name := range slices.Sorted(maps.Keys(a.Named)) {
		if x, y := a.Named[name], b.Named[name]; !same(x, y) {
			d.Figures = append(d.Figures, Figure{name, x, y})
		}
	}
	bySeconds := func(x, y Change) int {
		return cmp.Compare(math.Abs(y.B.Seconds-y.A.Seconds), math.Abs(x.B.Seconds-x.A.Seconds))
	}
	byBytes := func(x, y Change) int {
		return cmp.Compare(abs(y.B.WireBytes-y.A.WireBytes), abs(x.B.WireBytes-x.A.WireBytes))
	}
	slices.SortStableFunc(d.Slower, bySeconds)
	slices.SortStableFunc(d.Faster, bySeconds)
	slices.SortStableFunc(d.More, byBytes)
	slices.SortStableFunc(d.Less, byBytes)
	d.Equal = len(d.More)+len(d.Less)+len(d.Moved)+len(d.Figures) == 0 && d.Ranks[0] == d.Ranks[1] &&
		(d.Measured || same(d.Seconds[0], d.Seconds[1]) && len(d.Slower)+len(d.Faster) == 0)
	return d
}

func abs(n int64) int64 { return max(n, -n) }

// keys returns those of both, in order.
func keys(a, b *Costs) []Key {
	all := map[Key]bool{}
	for k := range a.Parts {
		all[k] = true
	}
	for k := range b.Parts {
		all[k] = true
	}
	return slices.SortedFunc(maps.Keys(all), compareKeys)
}

func compareKeys(x, y Key) int {
	return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Op, y.Op), cmp.Compare(x.Dims, y.Dims))
}

// sort puts c where it belongs. whole is the seconds of all ranks.
func (d *Diff) sort(c Change, whole float64) {
	switch more := c.B.WireBytes - c.A.WireBytes; {
	case c.A.Computes || c.B.Computes:
	case more > 0 || more == 0 && c.B.Calls > c.A.Calls || more == 0 && c.B.Calls == c.A.Calls && c.B.Bytes > c.A.Bytes:
		d.More = append(d.More, c)
	case more < 0 || c.B.Calls != c.A.Calls || c.B.Bytes != c.A.Bytes:
		d.Less = append(d.Less, c)
	}
	diff := c.B.Seconds - c.A.Seconds
	if d.Measured && (math.Abs(diff) < muchSlower*min(c.A.Seconds, c.B.Seconds) || math.Abs(diff) < ofWhole*whole) {
		return
	}
	switch {
	case same(c.A.Seconds, c.B.Seconds):
	case diff > 0:
		d.Slower = append(d.Slower, c)
	case diff < 0:
		d.Faster = append(d.Faster, c)
	}
}

// moves finds calls that one has at one place and the other, as many with as many
// bytes, at another: of the same operation first, then of another at the same line.
func (d *Diff) moves(a, b *Costs) map[Key]bool {
	gone, come := without(a, b), without(b, a)
	done := map[Key]bool{}
	for _, sameOp := range []bool{true, false} {
		for _, from := range gone {
			for _, to := range come {
				p, q := a.Parts[from], b.Parts[to]
				if done[from] || done[to] || p.Calls != q.Calls || p.Bytes != q.Bytes || sameOp != (from.Op == to.Op) || !sameOp && from.Line != to.Line {
					continue
				}
				done[from], done[to] = true, true
				d.Moved = append(d.Moved, Move{from, to, *q})
			}
		}
	}
	return done
}

// without returns the keys of calls that a has and b lacks.
func without(a, b *Costs) []Key {
	var list []Key
	for k, p := range a.Parts {
		if b.Parts[k] == nil && !p.Computes {
			list = append(list, k)
		}
	}
	slices.SortFunc(list, compareKeys)
	return list
}

// mostRows is how many rows of a list WriteText writes.
const mostRows = 12

// WriteText writes d for people.
func (d *Diff) WriteText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	what := "step of the plan"
	if d.Measured {
		what = "whole trace"
	}
	fmt.Fprintf(tw, "%s\t%s → %s\t%s\n", what, units.Seconds(d.Seconds[0]), units.Seconds(d.Seconds[1]), ratio(d.Seconds[0], d.Seconds[1]))
	if d.Ranks[0] != d.Ranks[1] {
		fmt.Fprintf(tw, "ranks\t%d → %d\n", d.Ranks[0], d.Ranks[1])
	}
	for _, f := range d.Figures {
		fmt.Fprintf(tw, "%s\t%.6g → %.6g\t%s\n", f.Name, f.A, f.B, ratio(f.A, f.B))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if d.Equal {
		fmt.Fprintln(w, "the same calls move the same bytes at the same lines")
	}
	times := func(c Change) string {
		return fmt.Sprintf("%s → %s\t%s", units.Seconds(c.A.Seconds), units.Seconds(c.B.Seconds), ratio(c.A.Seconds, c.B.Seconds))
	}
	bytes := func(c Change) string {
		return fmt.Sprintf("%d → %d calls\t%s → %s sent", c.A.Calls, c.B.Calls, units.Bytes(c.A.WireBytes), units.Bytes(c.B.WireBytes))
	}
	writeChanges(w, "moves more", d.More, bytes)
	writeChanges(w, "moves less", d.Less, bytes)
	if len(d.Moved) > 0 {
		fmt.Fprintln(w, "\nmoved elsewhere")
		for _, m := range d.Moved[:min(len(d.Moved), mostRows)] {
			fmt.Fprintf(w, "  %s → %s  (%d calls, %s)\n", m.From, m.To, m.Part.Calls, units.Bytes(m.Part.Bytes))
		}
		writeRest(w, len(d.Moved))
	}
	writeChanges(w, "slower", d.Slower, times)
	return writeChanges(w, "faster", d.Faster, times)
}

func writeChanges(w io.Writer, title string, list []Change, show func(Change) string) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintf(w, "\n%s\n", title)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range list[:min(len(list), mostRows)] {
		fmt.Fprintf(tw, "  %s\t%s\n", c.Key, show(c))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	return writeRest(w, len(list))
}

func writeRest(w io.Writer, n int) (err error) {
	if n > mostRows {
		_, err = fmt.Fprintf(w, "  and %d more; --json has all\n", n-mostRows)
	}
	return err
}

// String returns the operation, along which mesh dims, and where.
func (k Key) String() string {
	text := k.Op
	if k.Dims != "" {
		text += " over " + k.Dims
	}
	if k.Line != "" {
		text += " at " + k.Line
	}
	return text
}

// ratio says how b compares with a.
func ratio(a, b float64) string {
	switch {
	case a == 0 && b == 0:
		return ""
	case a == 0:
		return "new"
	}
	return fmt.Sprintf("%+.1f %%", 100*(b-a)/a)
}

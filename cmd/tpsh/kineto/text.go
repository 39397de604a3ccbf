package kineto

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"tpsh/internal/units"
)

// maxRows is how many rows of calls a page has.
const maxRows = 40

// WriteText writes the summary as tables.
func (s *Summary) WriteText(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(cells ...string) { fmt.Fprintln(tw, strings.Join(cells, "\t")+"\t") }
	row("rank", "time", "compute", "communication", "hidden", "waited", "calls", "bytes")
	for _, r := range s.Ranks {
		row(r.name(), units.Seconds(r.Seconds), units.Seconds(r.Compute), units.Seconds(r.Communication), percent(r.Hidden, r.Communication), units.Seconds(r.Wait), strconv.Itoa(r.Calls), units.Bytes(r.Bytes))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	tw = tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row = func(cells ...string) { fmt.Fprintln(tw, strings.Join(cells, "\t")) }
	row("operation", "calls", "bytes", "time", "waited", "group", "line")
	for i, r := range s.Calls {
		if i == maxRows {
			row(fmt.Sprintf("… and %d more: --json has them all", len(s.Calls)-i))
			break
		}
		row(r.Op, strconv.Itoa(r.Calls), units.Bytes(r.Bytes), units.Seconds(r.Time), percent(r.Wait, r.Time), dash(r.Group), dash(r.Where))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, l := range s.Stragglers {
		at := ""
		if l.Where != "" {
			at = ", most at " + l.Where
		}
		fmt.Fprintf(w, "rank %d came last in %s: the others waited %s for it%s\n", l.Rank, units.Count(l.Calls, "call"), units.Seconds(l.Wait), at)
	}
	if len(s.Missing) > 0 {
		fmt.Fprintf(w, "not in the traces:\n  %s\n", strings.Join(s.Missing, "\n  "))
	}
	return nil
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func percent(part, whole float64) string {
	if whole <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f %%", 100*part/whole)
}

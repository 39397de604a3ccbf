package kineto

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"tpsh/internal/units"
)

// A Planned is a call that a plan has a rank make.
type Planned struct {
	Op      string
	Bytes   int64
	Seconds float64 // from the arrival of the last member
	Where   string
}

// A Compared is a call of a plan beside those of a trace.
type Compared struct {
	Rank      int     `json:"rank"`
	Op        string  `json:"op"`
	Bytes     int64   `json:"bytes"` // of one call
	Planned   string  `json:"planned_where"`
	Measured  string  `json:"measured_where"`
	Predicted float64 `json:"predicted_seconds"` // of one call; 0 if the plan has none
	Seconds   float64 `json:"measured_seconds"`  // the mean, without what it waited for others; 0 if the trace has none
	Calls     int     `json:"calls"`             // of the trace
}

// Compare puts each call of a plan beside the calls of s that are its own: those
// of its operation and size, in order; a plan of one step is gone through again
// for every step of the trace. Calls of the trace that the plan lacks follow.
func (s *Summary) Compare(t *Trace, plan []Planned) []Compared {
	rows := make([]Compared, len(plan))
	of := map[string][]int{} // the plan's calls of an operation and size
	for i, p := range plan {
		rows[i] = Compared{Rank: t.Rank, Op: p.Op, Bytes: p.Bytes, Planned: p.Where, Predicted: p.Seconds}
		key := kindOf(p.Op, p.Bytes)
		of[key] = append(of[key], i)
	}
	next := map[string]int{}
	extra := map[string]int{}
	for _, c := range t.Calls {
		key := kindOf(c.Op, c.Bytes)
		at := 0
		if own := of[key]; len(own) > 0 {
			at = own[next[key]%len(own)]
			next[key]++
		} else if i, ok := extra[key+c.Where]; ok {
			at = i
		} else {
			at = len(rows)
			extra[key+c.Where] = at
			rows = append(rows, Compared{Rank: t.Rank, Op: c.Op, Bytes: c.Bytes})
		}
		r := &rows[at]
		if r.Calls == 0 {
			r.Measured = c.Where
		}
		r.Calls++
		r.Seconds += c.Span.Seconds() - s.waits[c]
	}
	for i := range rows {
		if rows[i].Calls > 0 {
			rows[i].Seconds /= float64(rows[i].Calls)
		}
	}
	return rows
}

func kindOf(op string, bytes int64) string { return op + " " + strconv.FormatInt(bytes, 10) }

// WriteCompared writes calls of a plan beside those of a trace as a table.
func WriteCompared(w io.Writer, rows []Compared) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "\nneither the plan nor the traces have a call to compare")
		return err
	}
	fmt.Fprintf(w, "\nrank %d, prediction beside measurement (a call, from the arrival of its last member):\n", rows[0].Rank)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "operation\tbytes\tpredicted\tmeasured\tratio\tcalls\tplan's line\ttrace's line")
	for i, r := range rows {
		if i == maxRows {
			fmt.Fprintf(tw, "… and %d more: --json has them all\n", len(rows)-i)
			break
		}
		predicted, measured, ratio := "not planned", "not made", "-"
		if r.Planned != "" || r.Predicted > 0 {
			predicted = units.Seconds(r.Predicted)
		}
		if r.Calls > 0 {
			measured = units.Seconds(r.Seconds)
		}
		if r.Calls > 0 && r.Predicted > 0 {
			ratio = fmt.Sprintf("%.1f", r.Seconds/r.Predicted)
		}
		fmt.Fprintln(tw, strings.Join([]string{r.Op, units.Bytes(r.Bytes), predicted, measured, ratio, strconv.Itoa(r.Calls), dash(r.Planned), dash(r.Measured)}, "\t"))
	}
	return tw.Flush()
}

// First returns the trace of the lowest rank.
func First(traces []*Trace) *Trace {
	return slices.MinFunc(traces, func(a, b *Trace) int { return cmp.Compare(a.Rank, b.Rank) })
}

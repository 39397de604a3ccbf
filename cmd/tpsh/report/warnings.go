package report

import (
	"fmt"
	"slices"

	"tpsh/internal/units"
)

// A warning is something worth a look, in plain words, with the line if it has one.
type warning struct {
	Text string `json:"text"`
	Line string `json:"line,omitempty"`
}

// Shares from which something is worth a look.
const (
	muchWaiting   = 0.2  // of a rank's time
	muchImbalance = 1.25 // the busiest rank by the mean
	mostWarnings  = 12
)

func (b *builder) warnings() []warning {
	list := []warning{}
	list = append(list, b.left()...)
	list = append(list, b.unasked()...)
	list = append(list, b.waiting()...)
	list = append(list, b.imbalance()...)
	return list[:min(len(list), mostWarnings)]
}

// left tells of ranks that have not kept all that they did.
func (b *builder) left() []warning {
	n := 0
	for _, r := range b.ranks {
		n = max(n, r.Left)
	}
	if n == 0 {
		return nil
	}
	return []warning{{Text: fmt.Sprintf("what was done first is left out: of a session a rank keeps the last events, and up to %d came before them", n)}}
}

// unasked tells of implicit redistributions by line, the most bytes first.
func (b *builder) unasked() []warning {
	var list []warning
	lines := slices.Clone(b.data.Lines)
	slices.SortStableFunc(lines, func(x, y lineData) int { return int(y.Wire - x.Wire) })
	for _, l := range lines {
		if l.Implicit != "" && l.Wire > 0 {
			list = append(list, warning{fmt.Sprintf("%s moves an input to where it can use it, unasked: %s are sent there by all ranks", l.Implicit, units.Bytes(l.Wire)), fmt.Sprintf("%s:%d", l.File, l.Line)})
		}
	}
	return list
}

// waiting tells of ranks that wait long, and of the line where they wait most.
func (b *builder) waiting() []warning {
	var list []warning
	for i, d := range b.data.Ranks {
		share := float64(d.Sum.Wait) / float64(b.data.Span)
		if share < muchWaiting {
			continue
		}
		at, longest := map[string]int64{}, ""
		for k := range b.ranks[i].Events {
			e := &b.ranks[i].Events[k]
			if at[e.Line] += b.waits[e]; at[e.Line] > at[longest] {
				longest = e.Line
			}
		}
		list = append(list, warning{fmt.Sprintf("rank %d waits for others %.0f %% of the time", d.Rank, 100*share), longest})
	}
	if len(list) > 4 {
		list = append(list[:3:3], warning{Text: fmt.Sprintf("and so do %d other ranks, for more than %.0f %%", len(list)-3, 100*muchWaiting)})
	}
	return list
}

// imbalance tells of a rank that computes or holds much more than the mean.
func (b *builder) imbalance() []warning {
	if len(b.data.Ranks) < 2 {
		return nil
	}
	var list []warning
	for _, what := range []struct {
		name string
		of   func(*sum) int64
		show func(int64) string
	}{
		{"computes", func(s *sum) int64 { return s.FLOPs }, func(n int64) string { return fmt.Sprintf("%.3g FLOPs", float64(n)) }},
		{"sends", func(s *sum) int64 { return s.Wire }, units.Bytes},
		{"holds", func(s *sum) int64 { return s.Peak }, units.Bytes},
	} {
		total, most, rank := int64(0), int64(0), 0
		for _, d := range b.data.Ranks {
			n := what.of(&d.Sum)
			if total += n; n > most {
				most, rank = n, d.Rank
			}
		}
		mean := float64(total) / float64(len(b.data.Ranks))
		if mean > 0 && float64(most) > muchImbalance*mean {
			list = append(list, warning{Text: fmt.Sprintf("rank %d %s %s, %.1f times the mean of the ranks", rank, what.name, what.show(most), float64(most)/mean)})
		}
	}
	return list
}

package kineto

import (
	"cmp"
	"slices"
)

// A Span is a time, in microseconds.
type Span struct{ Start, End float64 }

// Seconds returns how long s is.
func (s Span) Seconds() float64 { return (s.End - s.Start) / 1e6 }

// Spans are times. Those of a union are in order and do not touch.
type Spans []Span

// union returns the times that are in any of s.
func (s Spans) union() Spans {
	s = slices.Clone(s)
	slices.SortFunc(s, func(a, b Span) int { return cmp.Compare(a.Start, b.Start) })
	var out Spans
	for _, x := range s {
		if n := len(out); n > 0 && x.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, x.End)
		} else {
			out = append(out, x)
		}
	}
	return out
}

// Seconds returns how long the spans of a union are together.
func (s Spans) Seconds() float64 {
	var sum float64
	for _, x := range s {
		sum += x.Seconds()
	}
	return sum
}

// and returns the times that are in both of two unions.
func (s Spans) and(o Spans) Spans {
	var out Spans
	for i, k := 0, 0; i < len(s) && k < len(o); {
		lo, hi := max(s[i].Start, o[k].Start), min(s[i].End, o[k].End)
		if lo < hi {
			out = append(out, Span{lo, hi})
		}
		if s[i].End < o[k].End {
			i++
		} else {
			k++
		}
	}
	return out
}

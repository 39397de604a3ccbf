package lang

import "strings"

// A Cause says how a program failed in a form that programs read: the first
// line of its report, and the report.
type Cause struct {
	// Kind is that of the Failure (argument, mismatch, deadlock, peer, assertion,
	// fail, other ...), or syntax, died, timeout or interrupted.
	Kind string `json:"kind"`
	// Ranks lists the ranks that failed so, ascending.
	Ranks []int `json:"ranks"`
	// Line is the position in a source file, as file:line:col, or "".
	Line string `json:"line"`
	// Message is the error's text, behind the name of the function that it is of.
	Message string `json:"message"`
	// Report is the text that Outcome.Report writes.
	Report string `json:"report"`
}

// Cause returns the first thing that a report says; ok is false if the program ended
// well on every rank.
func (o *Outcome) Cause() (c Cause, ok bool) {
	if !o.failed() {
		return Cause{}, false
	}
	var report strings.Builder
	o.Report(&report)
	c.Report = report.String()
	causes, _ := o.groups()
	if len(causes) > 0 {
		f := causes[0].failures[0]
		c.Kind, c.Ranks, c.Line, c.Message = f.kind(), causes[0].ranks, f.line(), f.summaryOf()
		return c, true
	}
	first, _, _ := strings.Cut(c.Report, "\n")
	c.Kind, c.Message = kindOther, first
	switch {
	case o.Interrupted():
		c.Kind = "interrupted"
	case o.TimedOut():
		c.Kind = "timeout"
	}
	for rank, r := range o.Ranks {
		if r.Failure == nil {
			continue
		}
		if c.Ranks = append(c.Ranks, rank); c.Line == "" {
			c.Line = r.Failure.Where()
		}
	}
	return c, true
}

// kind is Kind, or the kind that follows from the other fields.
func (f *Failure) kind() string {
	switch {
	case f.Static:
		return "syntax"
	case f.Killed || f.Lost:
		return "died"
	}
	return f.Kind
}

// line returns the position of the failure, or of the first mistake of a source that
// does not compile: the text before its message.
func (f *Failure) line() string {
	if where, _, ok := strings.Cut(string(f.Message), ": "); ok && f.Static {
		return where
	}
	return f.Where()
}

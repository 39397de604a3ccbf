package lang

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tpsh/internal/ranklist"
)

// Report writes the failures and their lines: each different failure once, with
// the ranks it happened on, and then in one line each where the others were.
// It writes nothing if all ranks ended well.
func (o *Outcome) Report(w io.Writer) {
	if !o.failed() {
		return
	}
	r := &report{size: len(o.Ranks)}
	causes, others := o.groups()
	for i, g := range causes {
		r.failure(g, i >= maxReports)
	}
	r.headline(o)
	r.others(o, others)
	io.WriteString(w, r.String())
}

// maxReports is the number of different failures that are reported with a
// traceback; further ones get one line each.
const maxReports = 4

// A group is a set of ranks that failed alike.
type group struct {
	ranks    []int
	failures []*Failure // by index in ranks
}

// groups returns the failures to be reported, by their lowest ranks, and the
// ranks that get one line.
func (o *Outcome) groups() (causes []*group, others []int) {
	isCause := o.causes()
	index := make(map[string]*group)
	known := make(map[*Failure]*group) // ranks of a plan fail as one
	for rank, res := range o.Ranks {
		f := res.Failure
		if f == nil || !isCause(f) {
			if res.Ran {
				others = append(others, rank)
			}
			continue
		}
		g := known[f]
		if g == nil {
			g = index[f.key()]
		}
		if g == nil {
			g = new(group)
			index[f.key()] = g
			causes = append(causes, g)
		}
		known[f] = g
		g.ranks = append(g.ranks, rank)
		g.failures = append(g.failures, f)
	}
	return causes, others
}

// causes tells the failures to be reported from those that follow from them,
// or from the user's wish. If every failure blames another rank, the first
// stands for the cause.
func (o *Outcome) causes() func(*Failure) bool {
	isCause := func(f *Failure) bool { return f.class() == cause }
	if o.any(isCause) || o.Interrupted() || o.TimedOut() {
		return isCause
	}
	for _, res := range o.Ranks {
		if f := res.Failure; f != nil && f.Stop == "" {
			key := f.key()
			return func(f *Failure) bool { return f.key() == key }
		}
	}
	return isCause
}

// First returns the failure that Report begins with; nil if it tells none with its lines.
func (o *Outcome) First() *Failure {
	if causes, _ := o.groups(); len(causes) > 0 {
		return causes[0].failures[0]
	}
	return nil
}

// Brief returns the failure in one line: where it arose, in which function, and why. The
// function is left out of what a script says by fail, and of what ranks in several
// functions share.
func (f *Failure) Brief() string {
	text := f.summaryOf()
	if f.Kind == kindFail || f.shared() {
		text = string(f.Message)
	}
	if where := f.Where(); where != "" {
		text = where + ": " + text
	}
	return inOneLine(text)
}

// inOneLine joins the lines of a text.
func inOneLine(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case strings.HasSuffix(b.String(), ":"):
			b.WriteString(" ")
		case b.Len() > 0:
			b.WriteString("; ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// key returns a text that is equal for failures that share one report. A
// mismatch or a deadlock is one failure of all the ranks concerned, wherever
// each of them was.
func (f *Failure) key() string {
	if f.shared() {
		return fmt.Sprintf("%s %v %s", f.Kind, f.Ranks, f.Message)
	}
	return fmt.Sprintf("%s %v %s %s", f.Kind, f.Trace, f.Function, f.Message)
}

func (f *Failure) shared() bool { return f.Kind == kindMismatch || f.Kind == kindDeadlock }

// A report is the text of one in the making.
type report struct {
	strings.Builder
	size int // ranks of the job
}

// failure reports a cause.
func (r *report) failure(g *group, short bool) {
	f := g.failures[0]
	if f.Static {
		fmt.Fprintf(r, "%s\n", f.Message)
		return
	}
	header := fmt.Sprintf("%s of %d:", ranklist.Text(g.ranks), r.size)
	if short {
		fmt.Fprintf(r, "%s %s%s\n", header, f.summary(g), f.at())
		return
	}
	fmt.Fprintln(r, header)
	if g.sameTrace() {
		r.trace(f)
	}
	fmt.Fprintln(r, f.summary(g))
	if !g.sameTrace() {
		r.places(g)
	}
}

// sameTrace reports whether all ranks of the group failed in one place.
func (g *group) sameTrace() bool {
	return !slices.ContainsFunc(g.failures, func(f *Failure) bool {
		return !slices.Equal(f.Trace, g.failures[0].Trace)
	})
}

// function returns the function in which all ranks of the group failed, or "".
func (g *group) function() string {
	name := g.failures[0].Function
	for _, f := range g.failures {
		if f.Function != name {
			return ""
		}
	}
	return name
}

// trace writes a traceback as Starlark does.
func (r *report) trace(f *Failure) {
	if len(f.Trace) == 0 {
		return
	}
	fmt.Fprintln(r, "Traceback (most recent call last):")
	for _, fr := range f.Trace {
		if fr.Skipped > 0 {
			fmt.Fprintf(r, "  ... %d lines not shown\n", fr.Skipped)
			continue
		}
		fmt.Fprintf(r, "  %s: in %s\n", fr.Pos, fr.Name)
		if fr.Repeated > 0 {
			fmt.Fprintf(r, "  ... and %d times more\n", fr.Repeated)
		}
	}
}

// summary returns the line that names the failure.
func (f *Failure) summary(g *group) string {
	return "Error" + in(g.function()) + ": " + string(f.Message)
}

func in(function string) string {
	if function == "" {
		return ""
	}
	return " in " + function
}

// at returns where the failure arose, in parentheses, for a report of one line.
func (f *Failure) at() string {
	if where := f.Where(); where != "" {
		return " (" + where + ")"
	}
	return ""
}

// places writes where each rank of a shared failure was.
func (r *report) places(g *group) {
	var t tally
	for i, f := range g.failures {
		t.add(g.ranks[i], f.here())
	}
	for _, v := range t.variants {
		fmt.Fprintf(r, "  %s: %s\n", ranklist.Text(v.ranks), v.text)
	}
}

// here returns where a rank was: the function it was in and the source line.
func (f *Failure) here() string {
	i := f.place()
	switch {
	case i >= 0:
	case f.Ended:
		return "behind the last line"
	default:
		return "before the first line"
	}
	function := f.Function
	switch {
	case f.shared() && f.Within != "":
		function = f.Within // the failure's function is that of another rank, perhaps
	case function == "":
		function = f.Trace[i].Name
	}
	return fmt.Sprintf("in %s at %s", function, f.Trace[i].Pos)
}

// headline says that the program was ended from outside, if it was.
func (r *report) headline(o *Outcome) {
	for _, res := range o.Ranks {
		if f := res.Failure; f != nil && (f.Stop == stopInterrupt || f.Stop == stopTimeout) {
			fmt.Fprintf(r, "%s\n", f.Message)
			return
		}
	}
	if o.Interrupted() || o.TimedOut() { // and no rank heeds it
		fmt.Fprintf(r, "%s\n", o.stopText)
	}
}

// others writes where the ranks were that are not reported on themselves.
func (r *report) others(o *Outcome, ranks []int) {
	var t tally
	for _, rank := range ranks {
		t.add(rank, whereabouts(o.Ranks[rank].Failure))
	}
	for _, v := range t.variants {
		fmt.Fprintf(r, "%s: %s\n", ranklist.Text(v.ranks), v.text)
	}
}

// whereabouts says in one line how or where a rank was stopped that has no failure of its
// own.
func whereabouts(f *Failure) string {
	switch {
	case f == nil:
		return "finished"
	case f.Stop == stopHung:
		return string(f.Message)
	}
	return "stopped " + f.here()
}

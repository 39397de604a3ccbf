package hang

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"tpsh/internal/ranklist"
)

// WriteText writes the verdict on one page: the cause, who waits for whom, where
// every rank is, and what the evidence leaves open.
func (v *Verdict) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	switch v.Verdict {
	case Nothing:
		fmt.Fprintf(out, "nothing wrong seen: all recorded calls of %s have finished, and the members of each group made the same\n", ranklist.Text(v.job.ids()))
	case CannotTell:
		fmt.Fprintf(out, "cannot tell who made it hang\n")
		v.writeDoubts(out)
	default:
		v.writeCauses(out)
	}
	v.writeWaiting(out)
	v.writePlaces(out)
	v.writeMissing(out)
	return out.Flush()
}

// phrases gathers texts, each with the ranks that it is said of, in the order
// in which they were first said.
type phrases struct {
	texts []string
	ranks map[string][]int
}

func (p *phrases) add(rank int, text string) {
	if p.ranks == nil {
		p.ranks = map[string][]int{}
	}
	if _, ok := p.ranks[text]; !ok {
		p.texts = append(p.texts, text)
	}
	p.ranks[text] = append(p.ranks[text], rank)
}

// maxLines is how many lines of one kind a report has: it is to be a page.
const maxLines = 32

// write writes a line for each text.
func (p *phrases) write(w io.Writer, line func(ranks []int, text string) string) {
	for i, t := range p.texts {
		if i == maxLines {
			fmt.Fprintf(w, "  … and %d more like these: --json has them all\n", len(p.texts)-i)
			return
		}
		fmt.Fprintf(w, "  %s\n", line(sortedSet(p.ranks[t]), t))
	}
}

// at returns a line of the program as the end of a phrase; "" of an unknown one.
func at(where string) string {
	if where == "" {
		return ""
	}
	return " at " + where
}

func in(g string) string { return " in group " + g }

// writeCauses says of each kind of culprit what they did.
func (v *Verdict) writeCauses(w io.Writer) {
	for _, kind := range []string{CallsDiffer, NeverCalled, NotFinished, Cycle} {
		var ranks []int
		for _, c := range v.Culprits {
			if c.Kind == kind {
				ranks = append(ranks, c.Rank)
			}
		}
		if len(ranks) == 0 {
			continue
		}
		fmt.Fprintf(w, "%s of %d: %s\n", ranklist.Text(ranks), v.job.World, headings[kind])
		switch kind {
		case CallsDiffer:
			v.writeDifferences(w)
		case NeverCalled:
			v.writeNeverCalled(w)
		case NotFinished:
			v.writeNotFinished(w)
		case Cycle:
			v.writeCycle(w)
		}
	}
}

// headings say what a kind of culprit is.
var headings = map[string]string{
	CallsDiffer: "the cause: calls differ",
	NeverCalled: "the cause: never called (look at the process: the program went another way, waits, or stands still)",
	NotFinished: "the cause: called and did not finish, and others did (look at the device and its links)",
	Cycle:       "the cause: a cycle of waits over groups or messages",
}

func (v *Verdict) writeDifferences(w io.Writer) {
	for _, d := range v.diffs {
		fmt.Fprintf(w, "  ranks do not call the same in group %s at number %s (%s):\n", d.group, strings.TrimPrefix(d.at.String(), "#"), d.what)
		var p phrases
		for _, c := range d.calls {
			text := c.String() + at(c.Where())
			if wrong := c.wrong(); wrong != "" {
				text += " (" + wrong + ")"
			}
			p.add(c.Rank, text)
		}
		p.write(w, func(ranks []int, text string) string { return "  " + ranklist.Text(ranks) + ": " + text })
	}
}

func (v *Verdict) writeNeverCalled(w io.Writer) {
	var p phrases
	for _, c := range v.Culprits {
		if c.Kind != NeverCalled {
			continue
		}
		r := v.job.Ranks[c.Rank]
		p.add(c.Rank, fmt.Sprintf("never made %s%s, which others made%s; %s", c.Call, in(c.Group), at(c.call.Where()), r.lastWords()))
	}
	p.write(w, func(ranks []int, text string) string { return ranklist.Text(ranks) + " " + text })
}

// lastWords says what the last call of a rank was.
func (r *Rank) lastWords() string {
	c := r.lastOf()
	switch {
	case c != nil:
		return "the last call: " + c.String() + in(c.Group.String()) + at(c.Where())
	case r.behind():
		return "the last call is not recorded, but that it had not finished"
	case len(r.Status) > 0:
		return "the last calls are not recorded, but that they finished"
	}
	return "no call is recorded"
}

func (v *Verdict) writeNotFinished(w io.Writer) {
	for _, c := range v.Culprits {
		if c.Kind != NotFinished {
			continue
		}
		var past []int
		for _, id := range c.call.Group.Members {
			if p := v.job.Ranks[id]; p != nil && id != c.Rank && v.graph.finished(p, c.call) {
				past = append(past, id)
			}
		}
		fmt.Fprintf(w, "  rank %d is in %s%s%s, which %s finished\n", c.Rank, c.Call, in(c.Group), at(c.Where), ranklist.Text(past)+verb(past, " has", " have"))
	}
}

// finished reports whether p has finished its own end of c.
func (g *graph) finished(p *Rank, c *Call) bool { return g.progress(p, c) == past }

func (v *Verdict) writeCycle(w io.Writer) {
	var p phrases
	for _, c := range v.Culprits {
		if c.Kind != Cycle {
			continue
		}
		var to []int
		for _, wt := range v.graph.waits[c.Rank] {
			if wt.call == c.call {
				to = append(to, wt.to)
			}
		}
		p.add(c.Rank, fmt.Sprintf("in %s%s%s for %s", c.Call, in(c.Group), at(c.Where), ranklist.Text(sortedSet(to))))
	}
	p.write(w, func(ranks []int, text string) string {
		return ranklist.Text(ranks) + verb(ranks, " waits ", " wait ") + text
	})
}

// writeDoubts says why no culprit is named.
func (v *Verdict) writeDoubts(w io.Writer) {
	var silent []int
	for _, set := range v.graph.ends() {
		if len(set) == 1 && v.job.Ranks[set[0]] == nil {
			silent = append(silent, set[0])
		}
	}
	var open phrases
	for _, id := range v.job.ids() {
		if c := v.graph.open[id]; c != nil {
			open.add(id, c.String()+in(c.Group.String())+at(c.Where()))
		}
	}
	switch {
	case len(silent) > 0:
		fmt.Fprintf(w, "  the waits end at %s, of which nothing is known: dead, never calling, calling something else, or only without a dump\n", ranklist.Text(silent))
	case len(open.texts) > 0:
		open.write(w, func(ranks []int, text string) string {
			return ranklist.Text(ranks) + verb(ranks, " is in ", " are in ") + text + ", which nobody is seen to have missed or finished"
		})
	case v.job.silent():
		fmt.Fprintf(w, "  no call of any rank is recorded\n")
	case v.job.outside():
		fmt.Fprintf(w, "  all recorded calls have finished: %s outside any recorded call, where a send or receive of gloo leaves no trace\n", ranklist.Text(v.job.ids())+verb(v.job.ids(), " is", " are"))
	case len(v.job.Ranks) < v.job.World || len(v.job.Damaged) > 0:
		fmt.Fprintf(w, "  nothing is wrong with what is recorded, and not all ranks' records are there; a call of gloo that failed looks like one that finished\n")
	}
}

func (v *Verdict) writeWaiting(w io.Writer) {
	if len(v.Waiting) == 0 {
		return
	}
	fmt.Fprintf(w, "waiting:\n")
	var p phrases
	for _, r := range v.Waiting {
		text := "in " + r.Call + in(r.Group) + at(r.Where)
		if len(r.For) > 0 {
			text += " for " + ranklist.Text(r.For)
		}
		p.add(r.Rank, text)
	}
	p.write(w, func(ranks []int, text string) string {
		return ranklist.Text(ranks) + verb(ranks, " waits ", " wait ") + text
	})
}

// writePlaces says where every rank is.
func (v *Verdict) writePlaces(w io.Writer) {
	if len(v.job.Ranks) == 0 {
		return
	}
	fmt.Fprintf(w, "where every rank is:\n")
	var p phrases
	for _, id := range v.job.ids() {
		p.add(id, v.place(v.job.Ranks[id]))
	}
	p.write(w, func(ranks []int, text string) string { return ranklist.Text(ranks) + ": " + text })
}

func (v *Verdict) place(r *Rank) string {
	c := r.now
	if c == nil {
		return "outside any recorded call; " + r.lastWords()
	}
	pending := 0
	for _, o := range r.Calls {
		if o.Done == Pending {
			pending++
		}
	}
	text := "in " + c.String() + in(c.Group.String()) + at(c.Where())
	if pending > 1 {
		text += fmt.Sprintf(", with %d more behind it", pending-1)
	}
	return text
}

func (v *Verdict) writeMissing(w io.Writer) {
	if len(v.Missing) == 0 {
		return
	}
	fmt.Fprintf(w, "not in the evidence:\n")
	for _, m := range v.Missing {
		fmt.Fprintf(w, "  %s\n", m)
	}
	if v.Verdict == Culprits && slices.ContainsFunc(v.Missing, func(m string) bool { return strings.HasPrefix(m, "rank") }) {
		fmt.Fprintf(w, "  so another rank may be a cause, too; those named are\n")
	}
}

// verb returns the form of a verb that goes with ranks.
func verb(ranks []int, one, many string) string {
	if len(ranks) == 1 {
		return one
	}
	return many
}

package debug

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"tpsh/internal/ranklist"
	"tpsh/lang"
)

// tell shows the Stop: why it is, where the ranks are, and the lines around.
func (p *Prompt) tell() {
	s := p.stop
	if s.Rank < 0 {
		return
	}
	fmt.Fprintf(p.Out, "%s\n", s.Headline())
	io.WriteString(p.Out, s.Places())
	p.list("")
}

// Headline says in a line why the ranks have stopped.
func (s Stop) Headline() string {
	at := at(s.Ranks[s.Rank].Where)
	switch s.Reason {
	case lang.AtError:
		return fmt.Sprintf("rank %d: error %s: %s", s.Rank, at, s.Text)
	case lang.AtCaught:
		return fmt.Sprintf("rank %d: error %s, which the program catches: %s", s.Rank, at, s.Text)
	case lang.AtCompare:
		return fmt.Sprintf("breakpoint %d %s: %s", s.Break, at, strings.TrimRight(s.Text, "\n"))
	case lang.AtBreak:
		if s.Text != "" {
			return fmt.Sprintf("breakpoint %d %s: %s", s.Break, at, s.Text)
		}
		return fmt.Sprintf("breakpoint %d %s", s.Break, at)
	case lang.AtCall:
		return "breakpoint() " + at
	case lang.AtCollective:
		return fmt.Sprintf("about to call %s %s", s.Text, at)
	}
	return fmt.Sprintf("%s %s", s.Reason, at)
}

// at returns a place in words.
func at(w lang.Spot) string {
	if w.Line == 0 {
		return "before the first line"
	}
	return fmt.Sprintf("at %s:%d in %s", w.Path, w.Line, w.Name)
}

// Places says where the ranks are, those together that are at the same place.
func (s Stop) Places() string {
	var ranks []int
	var texts []string
	for r, p := range s.Ranks {
		ranks = append(ranks, r)
		texts = append(texts, standing(p))
	}
	return lang.MergeRanks(len(s.Ranks), ranks, texts)
}

func place(r int, p Place) string { return fmt.Sprintf("rank %d: %s", r, standing(p)) }

// standing says where a rank waits or has stopped, that it runs, or that it has ended.
func standing(p Place) string {
	switch {
	case p.Over:
		return "has ended"
	case p.Standing == lang.Waiting:
		return fmt.Sprintf("waits in %s %s", p.Call, at(p.Where))
	case p.Standing == lang.Running:
		return "runs"
	}
	return "stopped " + at(p.Where)
}

// around is how many lines are shown above and below the one at hand.
const around = 3

func (p *Prompt) list(string) (bool, error) {
	frames, err := p.frames()
	if err != nil {
		return false, err
	}
	if p.frame >= len(frames) {
		return false, nil
	}
	f := frames[p.frame]
	lines := p.source(string(f.Path))
	for n := max(1, f.Line-around); n <= min(len(lines), f.Line+around); n++ {
		mark := " "
		if n == f.Line {
			mark = ">"
		}
		fmt.Fprintln(p.Out, strings.TrimRight(fmt.Sprintf("%s %4d  %s", mark, n, lines[n-1]), " "))
	}
	return false, nil
}

func (p *Prompt) where(string) (bool, error) {
	io.WriteString(p.Out, p.stop.Places())
	frames, err := p.frames()
	if err != nil {
		return false, err
	}
	fmt.Fprintf(p.Out, "calls of rank %d, the last first:\n", p.rank)
	for i, f := range frames {
		mark := " "
		if i == p.frame {
			mark = ">"
		}
		fmt.Fprintf(p.Out, "%s %d  %s:%d in %s\n", mark, i, f.Path, f.Line, f.Name)
	}
	return false, nil
}

// print evaluates an expression on all ranks, in the frame at hand on its rank, and in
// the frame of the same number on the others.
func (p *Prompt) print(expr string) (bool, error) {
	text, err := p.C.Compare(expr, p.frame)
	io.WriteString(p.Out, text)
	return false, err
}

// set carries out an assignment on some ranks, or all, in the frame at hand on its rank,
// and in the frame of the same number on the others.
func (p *Prompt) set(arg string) (bool, error) {
	line, ranks := arg, []int(nil)
	if i := strings.LastIndex(arg, " on "); i >= 0 {
		if list, err := parseRanks(strings.TrimSpace(arg[i+len(" on "):])); err == nil {
			line, ranks = strings.TrimSpace(arg[:i]), list
		}
	}
	text, err := p.C.Assign(ranks, p.frame, line)
	io.WriteString(p.Out, text)
	return false, err
}

// Assign carries out an assignment on ranks that stand still or wait, nil for all, and
// returns the variables that it has changed, each value once with the ranks that have it.
func (c *Controller) Assign(on []int, frame int, line string) (string, error) {
	values, ranks, err := c.each(on, lang.Question{What: lang.AskAssign, Frame: frame, Expr: lang.Text(line)}, func(a *lang.Answer) lang.Value {
		var all lang.Value
		for i, v := range a.Values {
			if i > 0 {
				all.Text, all.Digest = all.Text+"\n", all.Digest+"\n"
			}
			all.Text += v.Name + " = " + v.Text
			all.Digest += v.Digest
		}
		return all
	})
	if err != nil || !slices.ContainsFunc(values, func(v lang.Value) bool { return v.Text != "" }) {
		return "", err
	}
	return merge(c.Size(), ranks, values), nil
}

// Compare returns the values of an expression on all ranks, each once with those that
// have it.
func (c *Controller) Compare(expr string, frame int) (string, error) {
	values, ranks, err := c.Evaluate(nil, frame, expr)
	if err != nil {
		return "", err
	}
	return merge(c.Size(), ranks, values), nil
}

// Evaluate returns the values of an expression on ranks that stand still or wait; nil
// is for all. Its error is that of all.
func (c *Controller) Evaluate(on []int, frame int, expr string) (values []lang.Value, ranks []int, err error) {
	return c.each(on, lang.Question{What: lang.AskValue, Frame: frame, Expr: lang.Text(expr)}, func(a *lang.Answer) lang.Value { return a.Values[0] })
}

// each asks ranks a question and returns the result of value on the answers of those that
// stand still or wait. Its error is that of all.
func (c *Controller) each(on []int, q lang.Question, value func(*lang.Answer) lang.Value) (values []lang.Value, ranks []int, err error) {
	if on == nil {
		for r := range c.Size() {
			on = append(on, r)
		}
	}
	alike := true
	for _, r := range on {
		a, failed := c.Ask(r, q)
		switch {
		case failed == errOver:
			continue
		case failed != nil:
			values = append(values, lang.Value{Text: lang.Text(failed.Error()), Digest: lang.Text("! " + failed.Error())})
			alike = alike && (err == nil || err.Error() == failed.Error())
			err = failed
		case a.Standing == lang.Running:
			values = append(values, lang.Value{Text: "runs", Digest: "runs"})
			alike = false
		default:
			values = append(values, value(a))
			alike = false
		}
		ranks = append(ranks, r)
	}
	if !alike {
		err = nil
	}
	if len(ranks) == 0 {
		err = errOver
	}
	return values, ranks, err
}

// merge shows values, each once behind the ranks that have it.
func merge(size int, ranks []int, values []lang.Value) string {
	texts := make([]string, len(values))
	same := map[string]string{} // the text of each digest
	for i, v := range values {
		if _, ok := same[string(v.Digest)]; !ok {
			same[string(v.Digest)] = string(v.Text)
		}
		texts[i] = same[string(v.Digest)]
	}
	distinct := map[string]string{}
	for d, text := range same { // those of other digests that look alike
		for o, other := range same {
			if o != d && other == text {
				distinct[d] = text + " (looks alike, but differs)"
			}
		}
	}
	for i, v := range values {
		if text, ok := distinct[string(v.Digest)]; ok {
			texts[i] = text
		}
	}
	return lang.MergeValues(size, ranks, texts)
}

func (p *Prompt) locals(string) (bool, error)  { return p.variables(lang.AskLocals) }
func (p *Prompt) globals(string) (bool, error) { return p.variables(lang.AskGlobals) }

// variables shows the variables of the frame at hand on its rank, and says which differ
// on other ranks that have a frame of that number at the same line.
func (p *Prompt) variables(what lang.What) (bool, error) {
	mine, err := p.C.Ask(p.rank, lang.Question{What: what, Frame: p.frame})
	if err != nil {
		return false, err
	}
	others := map[string][]int{}
	for r, place := range p.stop.Ranks {
		if r == p.rank || place.Over || place.Where != p.stop.Ranks[p.rank].Where {
			continue
		}
		a, err := p.C.Ask(r, lang.Question{What: what, Frame: p.frame})
		if err != nil {
			continue
		}
		for _, v := range a.Values {
			for _, m := range mine.Values {
				if m.Name == v.Name && m.Digest != v.Digest {
					others[string(m.Name)] = append(others[string(m.Name)], r)
				}
			}
		}
	}
	for _, v := range mine.Values {
		differs := ""
		if ranks := others[string(v.Name)]; ranks != nil {
			differs = fmt.Sprintf("  (differs on %s)", ranklist.Text(ranks))
		}
		text, _, more := strings.Cut(string(v.Text), "\n")
		if more {
			text += " ..."
		}
		fmt.Fprintf(p.Out, "%s = %s%s\n", v.Name, text, differs)
	}
	return false, nil
}

package debug

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/internal/ranklist"
	"tpsh/lang"
)

// ParseBreak reads a breakpoint as a user types it: FILE:LINE, or LINE in the given
// file, and behind that in any order: if COND, differs EXPR, on RANKS (0,2-3).
func ParseBreak(text, file string) (Break, error) {
	var b Break
	place, rest, _ := strings.Cut(text, " ")
	b.File = file
	if i := strings.LastIndexByte(place, ':'); i >= 0 {
		b.File, place = place[:i], place[i+1:]
	}
	line, err := strconv.Atoi(place)
	if err != nil || line < 1 || b.File == "" {
		return b, fmt.Errorf("got %q, want FILE:LINE", text)
	}
	b.Line = line
	for rest = strings.TrimSpace(rest); rest != ""; {
		word, more, _ := strings.Cut(rest, " ")
		var arg string
		arg, rest = cutClause(strings.TrimSpace(more))
		if arg == "" {
			return b, fmt.Errorf("got %q, want if COND, differs EXPR or on RANKS", word)
		}
		switch word {
		case "if":
			b.Cond, err = arg, checkExpression(arg)
		case "differs":
			b.Differs, err = arg, checkExpression(arg)
		case "on":
			b.Ranks, err = parseRanks(arg)
		default:
			err = fmt.Errorf("got %q, want if COND, differs EXPR or on RANKS", word)
		}
		if err != nil {
			return b, err
		}
	}
	return b, nil
}

// checkExpression returns an error if text is no expression.
func checkExpression(text string) error {
	const name = "<condition>"
	file, err := lang.Parse(name, text, 1)
	if err != nil {
		return fmt.Errorf("got %s, want an expression (%s)", text, strings.TrimPrefix(err.Error(), name+":1:"))
	}
	if len(file.Stmts) == 1 {
		if _, ok := file.Stmts[0].(*syntax.ExprStmt); ok {
			return nil
		}
	}
	return fmt.Errorf("got %s, want an expression", text)
}

// Check returns an error if no statement is at the line of a breakpoint in the text of
// its file, or below.
func (b Break) Check(text string) error {
	if lang.StopLine(b.File, text, b.Line) > 0 {
		return nil
	}
	return fmt.Errorf("got line %d of %s, want one of 1 to %d: there is no statement at it or below", b.Line, b.File, max(1, strings.Count(strings.TrimRight(text, "\n")+"\n", "\n")))
}

// cutClause cuts a text before the next clause: on RANKS at its end, or differs.
func cutClause(text string) (clause, rest string) {
	cut := len(text)
	for _, word := range []string{" on ", " differs ", " if "} {
		i := strings.LastIndex(text, word)
		if i < 0 || word == " if " && strings.Contains(text[i:], " else ") {
			continue
		}
		if _, err := parseRanks(strings.TrimSpace(text[i+len(word):])); word == " on " && err != nil {
			continue
		}
		cut = min(cut, i)
	}
	return strings.TrimSpace(text[:cut]), strings.TrimSpace(text[cut:])
}

// parseRanks reads ranks as 0,2-3.
func parseRanks(text string) ([]int, error) {
	var ranks []int
	for part := range strings.SplitSeq(text, ",") {
		lo, hi, two := strings.Cut(strings.TrimSpace(part), "-")
		if !two {
			hi = lo
		}
		first, err1 := strconv.Atoi(lo)
		last, err2 := strconv.Atoi(hi)
		if err1 != nil || err2 != nil || first < 0 || last < first || last > 1<<20 {
			return nil, fmt.Errorf("got %q, want ranks as 0,2-3", text)
		}
		for r := first; r <= last; r++ {
			ranks = append(ranks, r)
		}
	}
	return ranks, nil
}

// String returns the breakpoint with its number, as a user types it.
func (b Break) String() string {
	s := fmt.Sprintf("breakpoint %d: %s:%d", b.ID, b.File, b.Line)
	if b.Cond != "" {
		s += " if " + b.Cond
	}
	if b.Differs != "" {
		s += " differs " + b.Differs
	}
	if b.Ranks != nil {
		s += " on " + ranklist.Ranges(b.Ranks)
	}
	return s
}

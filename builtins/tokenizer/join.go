package tokenizer

// A behavior says what becomes of the matches of a splitter.
type behavior int

const (
	isolated   behavior = iota // pieces of their own
	removed                    // nothing
	contiguous                 // those that touch are one piece, and so is what lies between
	withPrevious
	withNext
)

var behaviors = map[string]behavior{
	"Isolated": isolated, "Removed": removed, "Contiguous": contiguous,
	"MergedWithPrevious": withPrevious, "MergedWithNext": withNext,
}

// behavior returns the one of a name.
func (p part) behavior(name string) (behavior, error) {
	b, ok := behaviors[name]
	if !ok {
		return 0, p.errorf("behavior: got %q, want Isolated, Removed, MergedWithPrevious, MergedWithNext or Contiguous", name)
	}
	return b, nil
}

// part returns p.text[lo:hi] as a piece.
func (p piece) part(lo, hi int) piece { return piece{p.text[lo:hi], p.first && lo == 0} }

// A joiner cuts a piece into parts, from spans that match and those between,
// which come from the left.
type joiner struct {
	b    behavior
	p    piece
	list []piece
	from int // where the next span begins
	// The part that may grow: it is p.text[lo:hi], if there is one, and match is
	// what the span before was.
	lo, hi int
	open   bool
	was    bool
}

// match takes the next match, and what lies before it. With invert it is what
// lies before that matches.
func (j *joiner) match(lo, hi int, invert bool) {
	if j.from < lo {
		j.span(j.from, lo, invert)
	}
	j.span(lo, hi, !invert)
	j.from = hi
}

// end takes what is left, and returns the parts.
func (j *joiner) end(invert bool) []piece {
	if j.from < len(j.p.text) {
		j.span(j.from, len(j.p.text), invert)
	}
	j.flush()
	return j.list
}

func (j *joiner) flush() {
	if j.open && j.lo < j.hi {
		j.list = append(j.list, j.p.part(j.lo, j.hi))
	}
	j.open = false
}

// span takes the next span.
func (j *joiner) span(lo, hi int, match bool) {
	grows := false
	switch j.b {
	case removed:
		if match {
			return
		}
	case contiguous:
		grows = match == j.was
	case withPrevious:
		grows = match && !j.was
	case withNext:
		grows = !match && j.was
	}
	j.was = match
	if grows && j.open {
		j.hi = hi
		return
	}
	j.flush()
	j.lo, j.hi, j.open = lo, hi, true
}

package lang

import "strings"

// A cursor says where in a source its end is.
type cursor struct {
	open    []bracket // outermost first
	quote   byte      // of the string that it is in, or 0
	quoteAt int       // where the last mark of the quote stands that begins it
	comment bool
}

// A bracket is one that is open, behind a dotted path.
type bracket struct {
	open byte
	path string
}

// innermost returns the innermost open bracket.
func (c *cursor) innermost() (b bracket, ok bool) {
	if len(c.open) == 0 {
		return b, false
	}
	return c.open[len(c.open)-1], true
}

// cursorIn returns where the end of a text is.
func cursorIn(text string) (c cursor) {
	for i := 0; i < len(text); {
		i = c.step(text, i)
	}
	return c
}

// step takes in the comment, string, bracket or byte at place i of a text, and returns where the next begins.
func (c *cursor) step(text string, i int) int {
	switch b := text[i]; b {
	case '#':
		end := strings.IndexByte(text[i:], '\n')
		c.comment = end < 0
		if c.comment {
			return len(text)
		}
		return i + end
	case '"', '\'':
		return c.skipString(text, i)
	case '(', '[', '{':
		c.open = append(c.open, bracket{b, trailing(text[:i], isPath)})
	case ')', ']', '}':
		c.open = c.open[:max(0, len(c.open)-1)]
	}
	return i + 1
}

// skipString returns where the string ends that begins at place i. If it does not,
// the cursor is in it.
func (c *cursor) skipString(text string, i int) int {
	mark := text[i : i+1]
	if triple := strings.Repeat(mark, 3); strings.HasPrefix(text[i:], triple) {
		mark = triple
	}
	begin := i
	for i += len(mark); i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], mark):
			return i + len(mark)
		case text[i] == '\n' && len(mark) == 1:
			return i
		}
	}
	c.quote, c.quoteAt = mark[0], begin+len(mark)-1
	return len(text)
}

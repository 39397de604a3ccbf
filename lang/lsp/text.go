package lsp

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// A text is one with its lines, so that positions are found.
type text struct {
	body  string
	lines []int // where each begins
}

func newText(body string) *text {
	t := &text{body: body, lines: []int{0}}
	for i := range len(body) {
		if body[i] == '\n' {
			t.lines = append(t.lines, i+1)
		}
	}
	return t
}

// line returns a line from 0 without its end; "" if there is none.
func (t *text) line(n int) string {
	if n < 0 || n >= len(t.lines) {
		return ""
	}
	rest := t.body[t.lines[n]:]
	if i := strings.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	return strings.TrimSuffix(rest, "\r")
}

// offset returns the offset of a position. One behind the end of a line or of the text
// is there.
func (t *text) offset(p position) int {
	if p.Line < 0 {
		return 0
	}
	if p.Line >= len(t.lines) {
		return len(t.body)
	}
	line, units := t.line(p.Line), 0
	for i, r := range line {
		if units >= p.Character {
			return t.lines[p.Line] + i
		}
		units += width(r)
	}
	return t.lines[p.Line] + len(line)
}

// width is how many units of UTF-16 a rune takes.
func width(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}

// position returns the position of an offset.
func (t *text) position(offset int) position {
	offset = max(0, min(offset, len(t.body)))
	line := t.lineOf(offset)
	units := 0
	for _, r := range t.body[t.lines[line]:offset] {
		units += width(r)
	}
	return position{line, units}
}

func (t *text) lineOf(offset int) int {
	low, high := 0, len(t.lines)
	for high-low > 1 {
		if mid := (low + high) / 2; t.lines[mid] <= offset {
			low = mid
		} else {
			high = mid
		}
	}
	return low
}

// ofTree returns the position of a line and a column as trees have them.
func (t *text) ofTree(line, col int) position {
	rest, units := t.line(line-1), 0
	for i := 1; i < col && rest != ""; i++ {
		r, n := utf8.DecodeRuneInString(rest)
		units += width(r)
		rest = rest[n:]
	}
	return position{max(line-1, 0), units}
}

// toTree is ofTree the other way.
func (t *text) toTree(p position) (line, col int) {
	col = 1
	units := 0
	for _, r := range t.line(p.Line) {
		if units >= p.Character {
			break
		}
		units += width(r)
		col++
	}
	return p.Line + 1, col
}

// word returns the range of the name at a line and a column of a tree, or of one
// character.
func (t *text) word(line, col int) span {
	start := t.ofTree(line, col)
	from := t.offset(start)
	end := from
	for end < len(t.body) {
		r, n := utf8.DecodeRuneInString(t.body[end:])
		if r != '_' && !(r >= '0' && r <= '9') && !(r >= 'A' && r <= 'Z') && !(r >= 'a' && r <= 'z') && r < utf8.RuneSelf {
			break
		}
		end += n
	}
	if end == from && end < len(t.body) && t.body[end] != '\n' {
		_, n := utf8.DecodeRuneInString(t.body[end:])
		end += n
	}
	return span{start, t.position(end)}
}

// apply returns the text with a change.
func (t *text) apply(c change) *text {
	if c.Range == nil {
		return newText(c.Text)
	}
	start, end := t.offset(c.Range.Start), t.offset(c.Range.End)
	if end < start {
		start, end = end, start
	}
	return newText(t.body[:start] + c.Text + t.body[end:])
}

// pathOf returns the file that a URI names.
func pathOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" {
		return uri
	}
	path := u.Path
	if len(path) > 2 && path[0] == '/' && path[2] == ':' {
		path = path[1:] // file:///C:/x
	}
	return filepath.FromSlash(path)
}

// uriOf returns the URI of a file.
func uriOf(path string) string {
	if strings.Contains(path, "://") || strings.HasPrefix(path, "untitled:") {
		return path
	}
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

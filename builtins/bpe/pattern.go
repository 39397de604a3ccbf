package bpe

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// gpt2Pattern cuts text into words where a file has no pattern of its own.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// notBeforeWord is the one lookahead that patterns of tokenizers have: white
// space, but for the last character of it where something else follows.
const notBeforeWord = `\s+(?!\S)`

// space is the class of white space in Unicode, which Go's \s is not.
const space = `\t-\r\x{85}\p{Z}`

// A pattern is a regular expression as tokenizers have them: alternatives, of
// which some may be notBeforeWord. A nil entry of parts stands for that.
type pattern struct {
	parts []*regexp.Regexp
}

// compile returns the pattern that s describes.
func compile(s string) (*pattern, error) {
	p := &pattern{}
	var run []string
	flush := func() error {
		if len(run) == 0 {
			return nil
		}
		re, err := regexp.Compile(`\A(?:` + unicodeSpaces(strings.Join(run, "|")) + `)`)
		if err != nil {
			return fmt.Errorf("got the pattern %q, want alternatives without lookaround, but for %s: %w", s, notBeforeWord, err)
		}
		p.parts, run = append(p.parts, re), nil
		return nil
	}
	for _, alternative := range alternatives(s) {
		if alternative != notBeforeWord {
			run = append(run, alternative)
			continue
		}
		if err := flush(); err != nil {
			return nil, err
		}
		p.parts = append(p.parts, nil)
	}
	return p, flush()
}

// alternatives cuts s at each | that is outside of groups and classes.
func alternatives(s string) []string {
	var list []string
	depth, class, from := 0, false, 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
		case class:
			class = c != ']'
		case c == '[':
			class = true
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '|' && depth == 0:
			list, from = append(list, s[from:i]), i+1
		}
	}
	return append(list, s[from:])
}

// unicodeSpaces returns s with \s and \S written out, so that they know the
// white space of Unicode.
func unicodeSpaces(s string) string {
	var out strings.Builder
	class := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 == len(s) {
			if c == '[' || c == ']' {
				class = c == '['
			}
			out.WriteByte(c)
			continue
		}
		i++
		switch {
		case s[i] == 's' && class:
			out.WriteString(space)
		case s[i] == 's':
			out.WriteString("[" + space + "]")
		case s[i] == 'S' && !class:
			out.WriteString("[^" + space + "]")
		default:
			out.WriteByte('\\')
			out.WriteByte(s[i])
		}
	}
	return out.String()
}

// at returns the length of the match at the start of s, or 0 if there is none
// or an empty one.
func (p *pattern) at(s string) int {
	for _, re := range p.parts {
		n := 0
		if re == nil {
			n = spaceBeforeWord(s)
		} else if found := re.FindStringIndex(s); found != nil {
			n = found[1]
		}
		if n > 0 {
			return n
		}
	}
	return 0
}

// spaceBeforeWord returns the length of what notBeforeWord matches at the start
// of s.
func spaceBeforeWord(s string) int {
	n, last := 0, 0
	for n < len(s) {
		r, size := utf8.DecodeRuneInString(s[n:])
		if !unicode.IsSpace(r) && !unicode.Is(unicode.Z, r) {
			return n - last
		}
		n, last = n+size, size
	}
	return n
}

// A span is a part of a text that matches, or that lies between matches.
type span struct {
	text  string
	match bool
}

// spans cuts s into what p matches and what lies between.
func (p *pattern) spans(s string) []span {
	var list []span
	from := 0
	for i := 0; i < len(s); {
		n := p.at(s[i:])
		if n == 0 {
			_, size := utf8.DecodeRuneInString(s[i:])
			i += size
			continue
		}
		if from < i {
			list = append(list, span{s[from:i], false})
		}
		list = append(list, span{s[i : i+n], true})
		i += n
		from = i
	}
	if from < len(s) {
		list = append(list, span{s[from:], false})
	}
	return list
}

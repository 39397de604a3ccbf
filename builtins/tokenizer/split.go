package tokenizer

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"tpsh/builtins/tokenizer/pattern"
)

// A splitter appends the parts of a piece to list; empty ones may be among them.
type splitter func(list []piece, p piece) ([]piece, error)

// splitTypes are the types of pre-tokenizers, and what makes them.
var splitTypes = map[string]func(part) ([]splitter, error){
	"BertPreTokenizer":   splitters(cutRunes(unicode.IsSpace, removed), cutRunes(punctuation, isolated)),
	"ByteLevel":          byteLevelSplit,
	"CharDelimiterSplit": delimiterSplit,
	"Delimiter":          delimiterSplit,
	"Digits":             digitsSplit,
	"FixedLength":        fixedSplit,
	"Metaspace":          metaspaceSplit,
	"Punctuation":        punctuationSplit,
	"Split":              patternSplit,
	"UnicodeScripts":     splitters(splitScripts),
	"Whitespace":         splitters(splitWords),
	"WhitespaceSplit":    splitters(cutRunes(unicode.IsSpace, removed)),
}

func (t *Tokenizer) addSplit(p part) error {
	make, ok := splitTypes[p.kind]
	if !ok {
		return p.unknown(append(keysOf(splitTypes), "Sequence")...)
	}
	list, err := make(p)
	t.splits = append(t.splits, list...)
	t.endsInBytes = p.kind == "ByteLevel"
	return err
}

// splitters is for parts without fields.
func splitters(list ...splitter) func(part) ([]splitter, error) {
	return func(part) ([]splitter, error) { return list, nil }
}

// cutRunes returns the splitter whose matches are single characters.
func cutRunes(is func(rune) bool, b behavior) splitter {
	return func(list []piece, p piece) ([]piece, error) {
		j := joiner{b: b, p: p, list: list}
		for i, r := range p.text {
			if is(r) {
				j.match(i, i+size(p.text, i, r), false)
			}
		}
		return j.end(false), nil
	}
}

// size returns the bytes of r, which stands at text[i:], one if they are bad.
func size(text string, i int, r rune) int {
	if r != utf8.RuneError {
		return utf8.RuneLen(r)
	}
	_, n := utf8.DecodeRuneInString(text[i:])
	return n
}

// cutPattern returns the splitter whose matches are those of re, or with invert
// what lies between them.
func cutPattern(re *pattern.Pattern, b behavior, invert bool) splitter {
	return func(list []piece, p piece) ([]piece, error) {
		j := joiner{b: b, p: p, list: list}
		err := re.Each(p.text, func(lo, hi int) { j.match(lo, hi, invert) })
		return j.end(invert), err
	}
}

// punctuation reports whether r is ASCII punctuation, which has some symbols in
// it, or other punctuation.
func punctuation(r rune) bool {
	if r < utf8.RuneSelf {
		return '!' <= r && r <= '/' || ':' <= r && r <= '@' || '[' <= r && r <= '`' || '{' <= r && r <= '~'
	}
	return unicode.Is(unicode.P, r)
}

// splitWords leaves words, and runs of what is no word nor space.
func splitWords(list []piece, p piece) ([]piece, error) {
	kind := func(r rune) int {
		switch {
		case wordChars().Has(r):
			return 1
		case unicode.IsSpace(r):
			return 0
		}
		return 2
	}
	from, last := 0, 0
	for i, r := range p.text {
		if k := kind(r); k != last {
			if last != 0 {
				list = append(list, p.part(from, i))
			}
			from, last = i, k
		}
	}
	if last != 0 {
		list = append(list, p.part(from, len(p.text)))
	}
	return list, nil
}

func delimiterSplit(p part) ([]splitter, error) {
	var s struct{ Delimiter string }
	if err := p.read(&s); err != nil {
		return nil, err
	}
	d, err := p.char("delimiter", s.Delimiter)
	return []splitter{cutRunes(func(r rune) bool { return r == d }, removed)}, err
}

func digitsSplit(p part) ([]splitter, error) {
	var s struct {
		Individual bool `json:"individual_digits"`
	}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	b := contiguous
	if s.Individual {
		b = isolated
	}
	return []splitter{cutRunes(unicode.IsNumber, b)}, nil
}

func fixedSplit(p part) ([]splitter, error) {
	s := struct{ Length int }{5}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	if s.Length < 1 {
		return nil, p.errorf("length: got %d, want 1 or more", s.Length)
	}
	return []splitter{func(list []piece, p piece) ([]piece, error) {
		from, n := 0, 0
		for i := range p.text {
			if n == s.Length {
				list = append(list, p.part(from, i))
				from, n = i, 0
			}
			n++
		}
		return append(list, p.part(from, len(p.text))), nil
	}}, nil
}

func punctuationSplit(p part) ([]splitter, error) {
	s := struct{ Behavior string }{"Isolated"}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	b, err := p.behavior(s.Behavior)
	return []splitter{cutRunes(punctuation, b)}, err
}

func patternSplit(p part) ([]splitter, error) {
	var s struct {
		Pattern  patternSpec
		Behavior string
		Invert   bool
	}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	re, err := s.Pattern.compile(p)
	if err != nil {
		return nil, err
	}
	b, err := p.behavior(s.Behavior)
	return []splitter{cutPattern(re, b, s.Invert)}, err
}

// Schemes by which a Metaspace begins a piece with its character.
const (
	prependAlways = "always"
	prependFirst  = "first"
	prependNever  = "never"
)

// A metaspace is what a pre-tokenizer and a decoder of this name have.
type metaspace struct {
	Replacement string
	Prefix      *bool  `json:"add_prefix_space"`
	Scheme      string `json:"prepend_scheme"`
	Split       *bool
	char        rune
}

func newMetaspace(p part) (*metaspace, error) {
	m := &metaspace{Replacement: "▁", Scheme: prependAlways}
	if err := p.read(m); err != nil {
		return nil, err
	}
	switch m.Scheme {
	case prependAlways, prependFirst, prependNever:
	default:
		return nil, p.errorf("prepend_scheme: got %q, want always, first or never", m.Scheme)
	}
	if m.Prefix != nil && !*m.Prefix {
		m.Scheme = prependNever
	}
	var err error
	m.char, err = p.char("replacement", m.Replacement)
	return m, err
}

func metaspaceSplit(p part) ([]splitter, error) {
	m, err := newMetaspace(p)
	if err != nil {
		return nil, err
	}
	return []splitter{m.split}, nil
}

// split puts the character in the place of spaces and, by the scheme, at the
// beginning, and cuts before each.
func (m *metaspace) split(list []piece, p piece) ([]piece, error) {
	s := strings.ReplaceAll(p.text, " ", m.Replacement)
	if (m.Scheme == prependAlways || m.Scheme == prependFirst && p.first) && !strings.HasPrefix(s, m.Replacement) {
		s = m.Replacement + s
	}
	p.text = s
	if m.Split != nil && !*m.Split {
		return append(list, p), nil
	}
	from := 0
	for from < len(s) {
		next := strings.Index(s[min(len(s), from+1):], m.Replacement)
		if next < 0 {
			break
		}
		list = append(list, p.part(from, from+1+next))
		from += 1 + next
	}
	return append(list, p.part(from, len(s))), nil
}

// wordPattern cuts text into words where a file has no pattern of its own.
var wordPattern = sync.OnceValue(func() *pattern.Pattern {
	p, err := pattern.Compile(`'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`)
	if err != nil {
		panic(err)
	}
	return p
})

func byteLevelSplit(p part) ([]splitter, error) {
	s := struct {
		Prefix bool `json:"add_prefix_space"`
		Regex  bool `json:"use_regex"`
	}{true, true}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	var list []splitter
	if s.Prefix {
		list = append(list, prefixSpace)
	}
	if s.Regex {
		list = append(list, cutPattern(wordPattern(), isolated, false))
	}
	return append(list, splitBytes), nil
}

// prefixSpace begins a piece with a space.
func prefixSpace(list []piece, p piece) ([]piece, error) {
	if p.text != "" && !strings.HasPrefix(p.text, " ") {
		p.text = " " + p.text
	}
	return append(list, p), nil
}

// splitBytes puts characters in the place of bytes. It is left out where it is
// the last one and the model knows bytes.
func splitBytes(list []piece, p piece) ([]piece, error) {
	p.text = runesOf(p.text)
	return append(list, p), nil
}

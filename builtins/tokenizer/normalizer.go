package tokenizer

import (
	"encoding/base64"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"tpsh/builtins/tokenizer/pattern"
)

// A normalizer changes a text. It reports whether the beginning of the text is
// gone, not replaced: what is left does not begin where the whole text does.
type normalizer func(s string) (out string, gone bool, err error)

// normalized returns p as it is after all normalizers.
func (t *Tokenizer) normalized(p piece) (piece, error) {
	for _, n := range t.normalizers {
		out, gone, err := n(p.text)
		if err != nil {
			return p, err
		}
		p = piece{out, p.first && !gone}
	}
	return p, nil
}

// normalizerTypes are the types of normalizers, and what makes them.
var normalizerTypes = map[string]func(part) ([]normalizer, error){
	"NFC":            form(norm.NFC),
	"NFD":            form(norm.NFD),
	"NFKC":           form(norm.NFKC),
	"NFKD":           form(norm.NFKD),
	"Lowercase":      always(lower),
	"Nmt":            always(nmt),
	"StripAccents":   always(filter(func(r rune) bool { return !unicode.Is(unicode.M, r) })),
	"ByteLevel":      always(whole(runesOf)),
	"BertNormalizer": bertNormalizer,
	"Strip":          stripNormalizer,
	"Replace":        replaceNormalizer,
	"Prepend":        prependNormalizer,
	"Precompiled":    precompiledNormalizer,
}

func (t *Tokenizer) addNormalizer(p part) error {
	make, ok := normalizerTypes[p.kind]
	if !ok {
		return p.unknown(append(keysOf(normalizerTypes), "Sequence")...)
	}
	list, err := make(p)
	t.normalizers = append(t.normalizers, list...)
	return err
}

// always is for parts without fields.
func always(n normalizer) func(part) ([]normalizer, error) {
	return func(part) ([]normalizer, error) { return []normalizer{n}, nil }
}

// whole makes a normalizer of a function that keeps the beginning.
func whole(f func(string) string) normalizer {
	return func(s string) (string, bool, error) { return f(s), false, nil }
}

func form(f norm.Form) func(part) ([]normalizer, error) {
	return always(whole(func(s string) string { return normalForm(f, s) }))
}

// filter returns the normalizer that leaves out characters.
func filter(keep func(rune) bool) normalizer {
	return func(s string) (string, bool, error) {
		for i, r := range s {
			if keep(r) {
				continue
			}
			out := strings.Map(func(r rune) rune {
				if keep(r) {
					return r
				}
				return -1
			}, s[i:])
			return s[:i] + out, i == 0, nil
		}
		return s, false, nil
	}
}

// ascii reports whether s has ASCII alone.
func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// lower is lower case letter by letter, with no regard to what is beside: of all
// letters but one that is another letter (SpecialCasing.txt of Unicode).
func lower(s string) (string, bool, error) {
	s = strings.ToLower(strings.ReplaceAll(s, "\u0130", "i\u0307"))
	return s, false, nil
}

// nmt is what the training of translators does to text: characters that are
// seldom meant are dropped, and those that are some kind of space become one.
func nmt(s string) (string, bool, error) {
	s, gone, err := nmtFilter(s)
	s = strings.Map(func(r rune) rune {
		switch r {
		case '\t', '\n', '\f', '\r', 0x1680, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F, 0x2028, 0x2029, 0x2581, 0xFEFF, utf8.RuneError:
			return ' '
		}
		return r
	}, s)
	return s, gone, err
}

var nmtFilter = filter(func(r rune) bool {
	return !(1 <= r && r <= 8 || r == 0x0B || 0x0E <= r && r <= 0x1F || r == 0x7F || r == 0x8F || r == 0x9F)
})

func stripNormalizer(p part) ([]normalizer, error) {
	var s struct {
		Left  bool `json:"strip_left"`
		Right bool `json:"strip_right"`
	}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	return []normalizer{func(text string) (string, bool, error) {
		out := text
		if s.Right {
			out = strings.TrimRightFunc(out, unicode.IsSpace)
		}
		n := len(out)
		if s.Left {
			out = strings.TrimLeftFunc(out, unicode.IsSpace)
		}
		return out, len(out) < n, nil
	}}, nil
}

func prependNormalizer(p part) ([]normalizer, error) {
	var s struct{ Prepend string }
	if err := p.read(&s); err != nil {
		return nil, err
	}
	return []normalizer{whole(func(text string) string {
		if text == "" {
			return text
		}
		return s.Prepend + text
	})}, nil
}

// A patternSpec is what several parts look for.
type patternSpec struct{ Regex, String *string }

// compile returns the pattern of a part.
func (s patternSpec) compile(p part) (*pattern.Pattern, error) {
	switch {
	case s.Regex != nil:
		re, err := pattern.Compile(*s.Regex)
		if err != nil {
			return nil, p.errorf("pattern: %q: %w", *s.Regex, err)
		}
		return re, nil
	case s.String != nil:
		return pattern.Literal(*s.String), nil
	}
	return nil, p.errorf("got no pattern, want a Regex or a String")
}

// A replacer puts content in the place of what a pattern matches.
type replacer struct {
	pattern *pattern.Pattern
	literal string // what the pattern matches, if it is that alone
	content string
}

func newReplacer(p part) (*replacer, error) {
	var s struct {
		Pattern patternSpec
		Content string
	}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	re, err := s.Pattern.compile(p)
	r := &replacer{pattern: re, content: s.Content}
	if s.Pattern.Regex == nil && s.Pattern.String != nil {
		r.literal = *s.Pattern.String
	}
	return r, err
}

// replace returns s with content in it, and what of s was replaced at its
// beginning.
func (r *replacer) replace(s string) (out, head string, err error) {
	if r.literal != "" {
		if strings.HasPrefix(s, r.literal) {
			head = r.literal
		}
		return strings.ReplaceAll(s, r.literal, r.content), head, nil
	}
	var b strings.Builder
	from := 0
	err = r.pattern.Each(s, func(lo, hi int) {
		if lo == 0 {
			head = s[:hi]
		}
		b.WriteString(s[from:lo])
		b.WriteString(r.content)
		from = hi
	})
	b.WriteString(s[from:])
	return b.String(), head, err
}

func replaceNormalizer(p part) ([]normalizer, error) {
	r, err := newReplacer(p)
	if err != nil {
		return nil, err
	}
	return []normalizer{func(s string) (string, bool, error) {
		out, head, err := r.replace(s)
		// What is put in stands where the last character was that it replaces.
		return out, utf8.RuneCountInString(head) > 1 || head != "" && r.content == "", err
	}}, nil
}

func precompiledNormalizer(p part) ([]normalizer, error) {
	var s struct {
		Map string `json:"precompiled_charsmap"`
	}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	data, err := base64.StdEncoding.DecodeString(s.Map)
	if err != nil {
		return nil, p.errorf("precompiled_charsmap: %w", err)
	}
	m, err := newCharsMap(data)
	if err != nil {
		return nil, p.errorf("precompiled_charsmap: %w", err)
	}
	return []normalizer{whole(m.apply)}, nil
}

// bertNormalizer has up to four steps; each may be turned off.
func bertNormalizer(p part) ([]normalizer, error) {
	var s struct {
		Clean     bool  `json:"clean_text"`
		Chinese   bool  `json:"handle_chinese_chars"`
		Accents   *bool `json:"strip_accents"`
		Lowercase bool
	}
	if err := p.read(&s); err != nil {
		return nil, err
	}
	var steps []normalizer
	if s.Clean {
		steps = append(steps, filter(func(r rune) bool {
			return r != 0 && r != utf8.RuneError && (r == '\t' || r == '\n' || r == '\r' || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co))
		}), whole(func(s string) string {
			return strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) {
					return ' '
				}
				return r
			}, s)
		}))
	}
	if s.Chinese {
		steps = append(steps, whole(spaceChinese))
	}
	if s.Accents == nil && s.Lowercase || s.Accents != nil && *s.Accents {
		steps = append(steps, whole(func(s string) string { return normalForm(norm.NFD, s) }),
			filter(func(r rune) bool { return !unicode.Is(unicode.Mn, r) }))
	}
	if s.Lowercase {
		steps = append(steps, lower)
	}
	return steps, nil
}

// chinese are the characters that BERT takes for words of their own.
var chinese = sync.OnceValue(func() *pattern.Set {
	return pattern.NewSet(`[\x{4E00}-\x{9FFF}\x{3400}-\x{4DBF}\x{20000}-\x{2A6DF}\x{2A700}-\x{2B73F}\x{2B740}-\x{2B81F}` +
		`\x{2B920}-\x{2CEAF}\x{F900}-\x{FAFF}\x{2F800}-\x{2FA1F}]`)
})

// spaceChinese puts spaces around Chinese characters.
func spaceChinese(s string) string {
	if ascii(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !chinese().Has(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteByte(' ')
		b.WriteRune(r)
		b.WriteByte(' ')
	}
	return b.String()
}

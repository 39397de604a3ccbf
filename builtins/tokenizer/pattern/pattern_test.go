package pattern

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
)

// parts returns what Split makes of a text: matches and what lies between, or
// with only the matches alone.
func parts(p *Pattern, s string, only bool) ([]string, error) {
	out, from := []string{}, 0
	add := func(lo, hi int) {
		if lo < hi {
			out = append(out, s[lo:hi])
		}
	}
	err := p.Each(s, func(lo, hi int) {
		if !only {
			add(from, lo)
		}
		add(lo, hi)
		from = hi
	})
	if !only {
		add(from, len(s))
	}
	return out, err
}

// What Oniguruma finds is what we find; the file is that of testdata/make.py.
func TestAgreesWithOniguruma(t *testing.T) {
	data, err := os.ReadFile("testdata/matches.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Texts []string
		Cases []struct {
			Pattern        string
			Parts, Matches [][]string
		}
	}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Cases) < 70 {
		t.Fatalf("got %d patterns, want 70", len(all.Cases))
	}
	for _, c := range all.Cases {
		p, err := Compile(c.Pattern)
		if err != nil {
			t.Errorf("Compile(%q): %v", c.Pattern, err)
			continue
		}
		for i, text := range all.Texts {
			for only, want := range map[bool][]string{false: c.Parts[i], true: c.Matches[i]} {
				if got, err := parts(p, text, only); err != nil || !slices.Equal(got, want) {
					t.Errorf("%q in %q (matches only: %v): got %q, %v, want %q", c.Pattern, text, only, got, err, want)
				}
			}
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"(", "a ( without a )"},
		{"a)", "a ) without a ("},
		{"[a", "a [ without a ]"},
		{"[[:]", "a [ without a ]"},
		{"*", "a repetition of nothing at byte 0"},
		{`\`, `a \ at the end`},
		{`(a)\1`, `\1, which is not known here`},
		{`\X`, `\X, which is not known here`},
		{`(?~a)`, `(?~, which is not known here`},
		{`\p{Klingon}`, `the property "Klingon"`},
		{`\pL`, `a \p without a name in braces`},
		{`[z-a]`, `the range 'z'-'a'`},
		{`a{3,2}`, `the repetition {3,2}`},
		{`(?<=a+)b`, "a look-behind of more than 255 characters"},
		{strings.Repeat("(", 200), "groups and classes more than 100 deep"},
		{"(((a{1000}){1000}){1000})", "a pattern of more than 20000 instructions"},
		{"\xff", "no UTF-8"},
	} {
		if _, err := Compile(c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Compile(%q): got %v, want %s", c.in, err, c.want)
		}
	}
}

// A pattern that would take for ever is given up.
func TestSteps(t *testing.T) {
	p, err := Compile(`(a|a)*b`)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := p.Find(strings.Repeat("a", 60), 0); err != errSteps {
		t.Errorf("got %v, want %v", err, errSteps)
	}
}

func TestLiteral(t *testing.T) {
	for _, c := range []struct{ literal, text string }{{"a.b", "a.b axb"}, {"é😀", "xé😀"}, {"", "ab"}} {
		p := Literal(c.literal)
		lo, hi, ok, err := p.Find(c.text, 0)
		if err != nil || !ok || c.text[lo:hi] != c.literal || lo != strings.Index(c.text, c.literal) {
			t.Errorf("Literal(%q) in %q: got %d, %d, %v, %v", c.literal, c.text, lo, hi, ok, err)
		}
	}
}

// Whatever compiles can be matched, with text of any bytes.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{`\p{L}+|\s+(?!\S)`, `(?i:[a-z&&[^x]]{1,3})*`, `(?<=a|bc)\b.$`, `[[:alpha:]\x{41}-]`, `(?>x*)*?`, `[[:]`} {
		f.Add(s, "ab c\xff\u00e9")
	}
	f.Fuzz(func(t *testing.T, expr, text string) {
		p, err := Compile(expr)
		if err != nil || len(text) > 50 {
			return
		}
		end := 0
		p.Each(text, func(lo, hi int) {
			if lo < end || hi < lo || hi > len(text) {
				t.Fatalf("%q in %q: got a match at %d to %d behind %d", expr, text, lo, hi, end)
			}
			end = hi
		})
	})
}

func BenchmarkEach(b *testing.B) {
	text, err := os.ReadFile("../../../examples/data/gpl-3.txt")
	if err != nil {
		b.Fatal(err)
	}
	p, err := Compile(`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	n := 0
	for b.Loop() {
		p.Each(string(text), func(lo, hi int) { n++ })
	}
}

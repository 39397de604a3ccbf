package format

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tpsh/lang/source"
	"tpsh/lang/source/sourcetest"
)

// styles are programs and what becomes of them.
var styles = []struct{ in, want string }{
	{"x=f( 1,b = 'c' )", "x = f(1, b=\"c\")\n"},
	{"", ""}, {"\n\n", ""}, {"# c", "# c\n"}, {"x # c  ", "x  # c\n"},
	{"x=a@b**-c+~d", "x = a @ b ** -c + ~d\n"},
	{"x [1 : -1 , ... ,None]=-y", "x[1:-1, ..., None] = -y\n"},
	{"f=lambda x = 1,*a,**k:x if a is not None else{1:2}", "f = lambda x=1, *a, **k: x if a is not None else {1: 2}\n"},
	{"x = 1 .y", "x = 1 .y\n"}, {"x=(1 , )", "x = (1,)\n"}, {"x = not(a)", "x = not (a)\n"},
	{"x = 'a\"' 'b' 'c\\n' '''d'''", "x = 'a\"' \"b\" 'c\\n' \"\"\"d\"\"\"\n"},
	{"x = f'{d['a']}' f'{ y = }'", "x = f\"{d['a']}\" f\"{ y = }\"\n"},
	{"load ( 'a','b',c = 'd' )", "load(\"a\", \"b\", c=\"d\")\n"},
	{"if a :\n  b\nelif c:\n\td\nelse :e", "if a:\n    b\nelif c:\n    d\nelse: e\n"},
	{"while x:\n\n  y;z\n\n\n\n  w", "while x:\n    y; z\n\n\n    w\n"},
	{"x\ndef f():\n  pass\n  # in\n# out\ny", "x\n\n\ndef f():\n    pass\n    # in\n\n\n# out\ny\n"},
	{"# of f\ndef f(a=1,*,b): pass\n\n# of g\ndef g(): pass\n", "# of f\ndef f(a=1, *, b): pass\n\n\n# of g\ndef g(): pass\n"},
	{"x = [ # c\n\n 1,\n\n\n # d\n  2 ]", "x = [  # c\n    1,\n\n    # d\n    2]\n"},
	{"f(g(\n1,\n),\nh)", "f(g(\n    1,\n),\n    h)\n"},
	{"x\\\n", "x\n"}, {"\\\n ", ""}, {"\\\n # c\nx", "# c\nx\n"},
	{"x = 1 + \\\n  2", "x = 1 + \\\n    2\n"},
	{"if a:\n  x = {\n 'k':1,\n  }\n", "if a:\n    x = {\n        \"k\": 1,\n    }\n"},
	{"def f():\n  if a:\n    b\n   # of f\n  c\n", "def f():\n    if a:\n        b\n    # of f\n    c\n"},
	{"x = 1\r\ny = '''a\r\nb'''", "x = 1\ny = \"\"\"a\nb\"\"\"\n"},
}

func TestStyle(t *testing.T) {
	for _, c := range styles {
		got, err := Source("f.star", c.in)
		if err != nil || got != c.want {
			t.Errorf("%q\ngot  %q, %v\nwant %q", c.in, got, err, c.want)
		}
		checkStable(t, c.in)
	}
}

// checkStable checks that text is formatted, and that the result then stays.
// That the tree and the comments are those of text, Source itself looks after.
func checkStable(t interface{ Fatalf(string, ...any) }, text string) {
	once, err := Source("f.star", text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	twice, err := Source("f.star", once)
	if err != nil || once != twice {
		t.Fatalf("%q: not idempotent: %v\nonce  %q\ntwice %q", text, err, once, twice)
	}
}

// Every program keeps its meaning, and is formatted once and for all.
func TestPrograms(t *testing.T) {
	for path, text := range sourcetest.Programs(t, "../..") {
		if _, err := source.Parse(path, text, source.Options{}); err != nil {
			continue
		}
		t.Run(path, func(t *testing.T) { checkStable(t, text) })
	}
}

// pieces are what random programs are made of; e is an expression, b a block.
var pieces = []string{
	"x", "1", "'a'", "f'{x!r:>3}'", "(e)", "e + e", "e@e", "-e", "e**e", "f(e,a =e,*e)", "[e ,e]", "{e:e}", "x[e:e, ...]", "x[:]", "lambda a=e:e", "(e if e else e)", "e is not None",
	"[x for x in e if e]", "not e", "(e,)", "(\n e, # c\n\n# d\n e )", "f(\ne\n)", "x .y", "e<e", "r'\\d'", "'''a\nb'''",
}

// A program is random text that is a program.
func program(t *rapid.T) string {
	var b strings.Builder
	var expr func(depth int) string
	expr = func(depth int) string {
		n := len(pieces)
		if depth == 0 {
			n = 3
		}
		var out strings.Builder
		for _, c := range rapid.SampledFrom(pieces[:n]).Draw(t, "piece") {
			if c == 'e' {
				out.WriteString(expr(depth - 1))
			} else {
				out.WriteRune(c)
			}
		}
		if depth < 2 {
			return "(" + out.String() + ")"
		}
		return out.String()
	}
	var block func(indent string, depth int)
	block = func(indent string, depth int) {
		for range rapid.IntRange(1, 3).Draw(t, "stmts") {
			b.WriteString(strings.Repeat("\n", rapid.IntRange(0, 4).Draw(t, "blanks")))
			if rapid.Bool().Draw(t, "comment") {
				b.WriteString(strings.Repeat(" ", rapid.IntRange(0, 6).Draw(t, "col")) + "# c \n")
			}
			head := rapid.SampledFrom([]string{"", "", "if e:", "while e :", "for x in e:", "def f(a=e) :"}).Draw(t, "head")
			if head == "" || depth == 0 {
				b.WriteString(indent + rapid.SampledFrom([]string{"x=", "", "x , y=", "pass;x +="}).Draw(t, "form") + expr(2) + rapid.SampledFrom([]string{"", " ;pass", "# t"}).Draw(t, "end") + "\n")
				continue
			}
			b.WriteString(indent + strings.ReplaceAll(strings.Replace(strings.Replace(head, " e", " "+expr(1), 1), "=e", "="+expr(1), 1), "whil "+"(", "while (") + "\n")
			block(indent+rapid.SampledFrom([]string{" ", "  ", "\t", "        "}).Draw(t, "indent"), depth-1)
		}
	}
	block("", 2)
	return b.String()
}

func TestRandomPrograms(t *testing.T) {
	parsed, tried := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		text := program(t)
		tried++
		if _, err := source.Parse("f.star", text, source.Options{}); err != nil {
			t.Skip(err)
		}
		parsed++
		checkStable(t, text)
	})
	if parsed < tried/4 {
		t.Errorf("%d of %d programs could be read, want a quarter", parsed, tried)
	}
}

// FuzzSource formats any program that can be read.
func FuzzSource(f *testing.F) {
	for _, c := range styles {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, text string) {
		clean := strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
		if _, err := source.Parse("f.star", clean, source.Options{}); err != nil || len(text) > 1<<12 {
			return
		}
		checkStable(t, text)
	})
}

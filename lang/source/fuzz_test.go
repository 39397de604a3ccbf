package source

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"go.starlark.net/resolve"
	"go.starlark.net/syntax"

	"tpsh/lang/source/sourcetest"
)

// FuzzParse reads any text: a program or one mistake comes out, and never a
// panic. What Starlark's parser takes comes out as it has it, or is refused where its resolver
// refuses it; what it does not and this one does has a core tree that can be resolved.
func FuzzParse(f *testing.F) {
	for _, text := range sourcetest.Programs(f, "../..") {
		f.Add(text)
	}
	for _, text := range small {
		f.Add(text)
	}
	for _, c := range surface {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<14 || strings.Contains(text, "\x00") || !utf8.ValidString(text) {
			return // Starlark's parser stops at a zero byte, and writes bytes that are no text anew
		}
		file, err := Parse("f.star", text, Options{Dialect: dialect})
		var mistake *Error
		if err != nil && !errors.As(err, &mistake) {
			t.Fatalf("got the error %v, want an *Error", err)
		}
		want, starlark := starlarkTree(text)
		switch {
		case starlark != nil:
		case err == nil:
			if d := difference(dump(file.File), want); d != "" {
				t.Fatalf("%q: %s", text, d)
			}
		case strings.HasPrefix(mistake.Msg, "assert is a module"): // Starlark takes assert(x) until it runs
		case resolves(text):
			t.Fatalf("%q: %v, and Starlark takes it", text, err)
		}
		if err != nil {
			if strings.Count(text, "\n")+strings.Count(text, "\r")+1 < int(mistake.Pos.Line) {
				t.Fatalf("%q: an error in line %d", text, mistake.Pos.Line)
			}
			return
		}
		Walk(file, func(syntax.Node) bool { return true })
		core, err := Lower(file)
		if err != nil {
			return
		}
		resolve.File(core, func(string) bool { return true }, func(string) bool { return false })
	})
}

// resolves reports whether Starlark resolves a program that its parser takes. It looks at the targets of
// assignments only then.
func resolves(text string) bool {
	f, err := dialect.Parse("f.star", text, 0)
	return err == nil && resolve.File(f, func(string) bool { return true }, func(string) bool { return false }) == nil
}

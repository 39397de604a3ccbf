package debug

import (
	"fmt"
	"testing"

	"tpsh/lang"
)

func TestParseBreak(t *testing.T) {
	for text, want := range map[string]string{
		"a.star:3":                          "breakpoint 0: a.star:3",
		"7":                                 "breakpoint 0: main.star:7",
		"7 if x > 3":                        "breakpoint 0: main.star:7 if x > 3",
		"<stdin>:2 if x == rank()":          "breakpoint 0: <stdin>:2 if x == rank()",
		"7 on 0,2-3":                        "breakpoint 0: main.star:7 on 0,2,3",
		"7 if a if b else c on 1":           "breakpoint 0: main.star:7 if a if b else c on 1",
		"7 differs x + y if i == 2 on 0, 1": "breakpoint 0: main.star:7 if i == 2 differs x + y on 0,1",
		`C:\d\a.star:3`:                     `breakpoint 0: C:\d\a.star:3`,
		"a.star:0":                          "! got \"a.star:0\", want FILE:LINE",
		"x":                                 "! got \"x\", want FILE:LINE",
		"7 when x":                          "! got \"when\", want if COND, differs EXPR or on RANKS",
		"7 if":                              "! got \"if\", want if COND, differs EXPR or on RANKS",
		"7 if x ==":                         "! got x ==, want an expression (5: a value is missing: here is the end of the file)",
		"7 if x = 3":                        "! got x = 3, want an expression",
		"7 differs x y":                     "! got x y, want an expression (3: the statement should end here, and there is the name y: put one statement on a line, or an operator or a comma between two values)",
		"7 on x":                            "! got \"x\", want ranks as 0,2-3",
		"7 on 1-99999999":                   "! got \"1-99999999\", want ranks as 0,2-3",
	} {
		b, err := ParseBreak(text, "main.star")
		got := fmt.Sprint(b)
		if err != nil {
			got = "! " + err.Error()
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

// FuzzParseBreak: what is read is read again as it is written.
func TestOfDifferencesTheFirstBreakpointsIsTold(t *testing.T) {
	c := New()
	c.ranks = []rank{
		{halt: &lang.Halt{Reason: lang.AtCompare, Break: 3, Text: "z", Digest: "a", Value: "1"}},
		{halt: &lang.Halt{Reason: lang.AtCompare, Break: 2, Text: "y", Digest: "a", Value: "1"}},
		{halt: &lang.Halt{Reason: lang.AtCompare, Break: 3, Text: "z", Digest: "b", Value: "2"}},
		{halt: &lang.Halt{Reason: lang.AtCompare, Break: 2, Text: "y", Digest: "b", Value: "2"}},
		{halt: &lang.Halt{Reason: lang.AtCompare, Break: 1, Text: "x", Digest: "a", Value: "1"}},
	}
	for range 20 {
		if got, want := c.difference(), "y differs\n[1] 1\n[3] 2\n"; got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}

func FuzzParseBreak(f *testing.F) {
	f.Add("a.star:3 if x on 1,2")
	f.Add("7 differs y")
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseBreak(text, "main.star")
		if err == nil && (b.Line < 1 || b.File == "") {
			t.Errorf("%q: got %v", text, b)
		}
	})
}

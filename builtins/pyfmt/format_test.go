package pyfmt

import (
	"math/big"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestPython compares with what Python gives. Each line of testdata/python.tsv
// holds, between tabs, a kind of value (i, f or s), a value, a specification,
// and "=" with the result of format(value, specification) in CPython 3.11, or
// "!" if that is an error.
func TestPython(t *testing.T) {
	data, err := os.ReadFile("testdata/python.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		got, err := format(f[0], f[1], f[2])
		switch {
		case f[3] == "!" && err == nil:
			t.Errorf("format(%s, %q): got %q, want an error", f[1], f[2], got)
		case f[3] != "!" && (err != nil || got != f[3][1:]):
			t.Errorf("format(%s, %q): got %q, %v, want %q", f[1], f[2], got, err, f[3][1:])
		}
	}
}

// format formats the value of the given kind that text stands for.
func format(kind, text, spec string) (string, error) {
	s, err := Parse(spec)
	if err != nil {
		return "", err
	}
	switch kind {
	case "i":
		x, _ := new(big.Int).SetString(text, 10)
		return Int(x, s)
	case "f":
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return "", err
		}
		return Float(x, s)
	}
	return String(text, s)
}

func TestErrors(t *testing.T) {
	tests := []struct{ kind, value, spec, want string }{
		{"f", "1", ".", "a dot without a precision"},
		{"f", "1", ".4q", `"q" where a type or the end should be`},
		{"f", "1", "<<<", `"<" where a type or the end should be`},
		{"f", "1", ".999999999999999999999f", "a width or precision over 100000"},
		{"f", "1", "1000000", "a width or precision over 100000"},
		{"f", "1", "d", "the type 'd', which a float does not have"},
		{"i", "1", "s", "the type 's', which an int does not have"},
		{"i", "1", ".3d", "a precision, which an int does not have"},
		{"i", "1", ",x", "the grouping ',' with a type that is not decimal"},
		{"i", "1", ",n", "the grouping ',' with the type 'n'"},
		{"i", "1" + strings.Repeat("0", 400), "f", "the int is too large"},
		{"i", "-1", "c", "the int is no character"},
		{"s", "a", "+", "a sign, which a string does not have"},
		{"s", "a", "=9", `the alignment "="`},
		{"s", "a", "d", "the type 'd', which a string does not have"},
	}
	for _, test := range tests {
		got, err := format(test.kind, test.value, test.spec)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("format(%s, %q): got %q, %v, want an error with %q", test.value, test.spec, got, err, test.want)
		}
	}
}

// FuzzSpec: whatever the specification, a result is as wide as it asks.
func FuzzSpec(f *testing.F) {
	for _, spec := range []string{"", "08,.2f", "*^+#20_x", "€<10.3", "%", "g", "c"} {
		f.Add(spec, int64(-1234567), 1234.5, "naïve")
	}
	f.Fuzz(func(t *testing.T, spec string, i int64, x float64, text string) {
		s, err := Parse(spec)
		if err != nil || !utf8.ValidString(spec) {
			return
		}
		check := func(got string, err error) {
			if err == nil && utf8.RuneCountInString(got) < s.width {
				t.Errorf("%q: got %q, want at least %d characters", spec, got, s.width)
			}
		}
		check(Int(big.NewInt(i), s))
		check(Float(x, s))
		check(String(text, s))
	})
}

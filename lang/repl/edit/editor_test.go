package edit

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"tpsh/internal/vt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stateOfTest says that lines behind one that ends in a colon are a block, and that
// what ends in a colon or inside of brackets is open.
func stateOfTest(text string) State {
	lines := strings.Split(text, "\n")
	switch last := lines[len(lines)-1]; {
	case strings.Count(text, "(") > strings.Count(text, ")"), strings.HasSuffix(last, ":"):
		return Open
	case strings.HasSuffix(lines[0], ":") && len(lines) > 1:
		return Block
	}
	return Whole
}

// typing returns what an editor reads of keys, and what then stands on the screen. Each
// text is shown after "= ".
func typing(t *testing.T, width int, history *History, keys string) (texts []string, screen *vt.Screen) {
	t.Helper()
	screen = vt.NewScreen(width, 12)
	e := New(Config{
		In: strings.NewReader(keys), Out: screen, State: stateOfTest, History: history,
		Size: func() (int, int) { return width, 12 },
		Complete: func(text string) (int, []string) {
			start := strings.LastIndexAny(text, " (\n") + 1
			var names []string
			for _, name := range []string{"width", "weight", "other", "out"} {
				if strings.HasPrefix(name, text[start:]) {
					names = append(names, name)
				}
			}
			return start, names
		},
	})
	for {
		text, err := e.Read("> ", ". ")
		switch err {
		case nil:
			texts = append(texts, text)
		case ErrInterrupt:
			texts = append(texts, "^C")
		case io.EOF:
			return texts, screen
		default:
			t.Fatal(err)
		}
	}
}

func TestKeys(t *testing.T) {
	const (
		up, down, left, right = "\x1b[A", "\x1b[B", "\x1b[D", "\x1b[C"
		begin, end            = "\x1b[200~", "\x1b[201~"
	)
	tests := []struct{ name, keys, want string }{
		{"a line", "1 + 1\r", "1 + 1"},
		{"moving", "bd\x1b[D\x1b[Dx\x01a\x05e\x1b[1;5D\x1b[1;5DX\r", "Xaxbde"},
		{"erasing", "abc\x7f\x7fd\x01\x1b[3~e\r", "ed"},
		{"erasing words", "one two three\x17\x17four\r", "one four"},
		{"erasing to the ends", "one two" + left + left + left + "\x0b\x01\x19\x15x\r", "xone "},
		{"a block", "if x:\ry = 1\r\r", "if x:\n    y = 1\n"},
		{"a block within", "if x:\rif y:\rz\r\x7fw\r\r", "if x:\n    if y:\n        z\n    w\n"},
		{"indented by hand", "if x:\r  y\r  z\r\r", "if x:\n  y\n  z\n"},
		{"behind return", "if x:\rif y:\rreturn z\rw\r\r", "if x:\n    if y:\n        return z\n    w\n"},
		{"brackets", "f(\r1,\r2)\r", "f(\n    1,\n    2)"},
		{"else", "if x:\ry\relse:\rz\r\r", "if x:\n    y\nelse:\n    z\n"},
		{"elif", "if x:\ry\relif z:\rw\r\r", "if x:\n    y\nelif z:\n    w\n"},
		{"a paste", begin + "if x:\r\n    y\r\n\r\n    z\r\n" + end + "\r", "if x:\n    y\n\n    z\n"},
		{"a paste of several", begin + "a\nb\n" + end + "\r", "a\nb\n"},
		{"a paste and more", begin + "a" + end + "b\r", "ab"},
		{"interrupted", "x = (1\r2\x03y\r", "^C|y"},
		{"delete and the end", "ab\x01\x04\r\x04", "b"},
		{"history", "one\rtwo\r" + up + up + "!\r" + up + "\r", "one|two|one!|one!"},
		{"history and back", "one\rhalf" + up + down + "x\r", "one|halfx"},
		{"history of statements", "if x:\ry\r\rz\r" + up + up + "\r", "if x:\n    y\n|z|if x:\n    y\n"},
		{"changing an old one", "if x:\ry\r\r" + up + up + left + "!\x1b[B\x05\r\r", "if x:\n    y\n|if x!:\n    y\n"},
		{"searching", "one\rtwo\r\x12n\r", "one|two|one"},
		{"searching on", "one\rtone\r\x12ne\x12\x05!\r", "one|tone|one!"},
		{"searching in vain", "one\rha\x12zz\x03lf\r", "one|half"},
		{"completing", "wi\t + ou\t\r", "width + out"},
		{"completing in part", "w\te\t\r", "weight"},
		{"completing later lines", "f(\rwi\t)\r", "f(\n    width)"},
		{"tab at the margin", "if x:\r\ty\r\r", "if x:\n        y\n"},
		{"backspace in an indent", "if x:\r\x7fy\r\r", "if x:\ny\n"},
		{"a new line on purpose", "a\x1b\rb\r", "a\nb"},
		{"unknown keys", "\x1b[99;99Xa\x00\x1bOPb\r", "ab"},
		{"letters of others", "é世\x7f界\r", "é界"},
	}
	for _, test := range tests {
		texts, _ := typing(t, 40, nil, test.keys)
		if got := strings.Join(texts, "|"); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

func TestScreens(t *testing.T) {
	tests := []struct{ name, keys, want string }{
		{"lines", "if x:\ry\r\rz\r", "> if x:\n.     y\n.\n> z\n>"},
		{"wrapping", "abcdefghijkl\x01X\r", "> Xabcdefg\nhijkl\n>"},
		{"a full row", "abcdefgh\x7f\x7f\r", "> abcdef\n>"},
		{"interrupt", "abc\x03", "> abc^C\n>"},
		{"listing", "w\tX\r", "> w\nwidth\nweight\n> wX\n>"},
		{"wide letters", "世界世界世\x7f\r", "> 世界世界\n>"},
		{"erased rows", "abcdefghijkl\x15z\r", "> z\n>"},
	}
	for _, test := range tests {
		_, screen := typing(t, 10, nil, test.keys)
		got := screen.String()
		if test.name == "wide letters" { // the screen of the test has no wide letters
			got = strings.Split(got, "\n")[0] + "\n>"
		}
		if got != test.want {
			t.Errorf("%s: got:\n%s\nwant:\n%s", test.name, got, test.want)
		}
	}
}

// What stands on the screen at the end is the prompt and the text, whatever was
// typed.
func TestScreenShowsText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "b", " ", "(", ")", ":", "\r", "\x7f", "\x01", "\x05", "\x17", "\x0b", "\x15", "\x19", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[200~x:\n  y\n\x1b[201~",
		}), 0, 40).Draw(rt, "keys")
		screen := vt.NewScreen(9, 40)
		in, typist := io.Pipe()
		e := New(Config{In: in, Out: screen, State: stateOfTest, Size: func() (int, int) { return 9, 40 }})
		go func() {
			for _, k := range keys {
				io.WriteString(typist, k)
			}
			typist.Close()
		}()
		var err error
		for err == nil {
			screen.Write([]byte("\x1b[H\x1b[2J"))
			_, err = e.Read("> ", ". ")
		}
		var want strings.Builder
		e.at = len(e.text)
		for _, row := range newLayout(&e.buffer, "> ", ". ", 9).rows {
			want.WriteString(strings.TrimRight(row, " ") + "\n")
		}
		if got := screen.String(); got != strings.TrimRight(want.String(), "\n") {
			rt.Errorf("got:\n%s\nwant:\n%s", got, want.String())
		}
	})
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	h := OpenHistory(path, 3)
	for _, text := range []string{"one", "if x:\n    y\n\n    z\n", "one", "one", "two"} {
		h.Add(text)
	}
	got, err := os.ReadFile(path)
	if want := "one\nif x:\n...     y\n... \n...     z\none\ntwo\n"; err != nil || string(got) != want {
		t.Errorf("file: got %q, %v, want %q", got, err, want)
	}
	h = OpenHistory(path, 3)
	if got := strings.Join(h.texts, "|"); got != "if x:\n    y\n\n    z|one|two" {
		t.Errorf("read again: got %q", got)
	}
	if got, _ := os.ReadFile(path); strings.HasPrefix(string(got), "one") {
		t.Errorf("what is beyond the limit is still in the file: %q", got)
	}
	nowhere := OpenHistory(filepath.Join(path, "below"), 3)
	nowhere.Add("kept in memory")
	if nowhere.find("memory", 1) != 0 {
		t.Errorf("a history without a file has lost a text")
	}
}

// Whatever bytes a terminal sends, keys are read to their end.
func FuzzKeys(f *testing.F) {
	for _, seed := range []string{"a\r", "\x1b[A\x1b[200~x\x1b[201~", "\x1b", "\x1b[", "\x1b[1;5", "\x1b[200~", "\xff\x80", "\x12a\x12\x07"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, keys string) {
		texts, _ := typing(t, 20, OpenHistory("", 10), keys)
		for _, text := range texts {
			if strings.ContainsRune(text, '\x1b') {
				t.Errorf("%q: a control sequence got into the text %q", keys, text)
			}
		}
	})
}

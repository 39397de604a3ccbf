package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	pytorchPage = "../../docs/pytorch.md"
	pytorchData = "testdata/pytorch"
)

// What docs/pytorch.md shows of tpsh hang and trace is what they print of the
// dumps and traces that its programs left, and its programs are those.
func TestPyTorchPage(t *testing.T) {
	text, err := os.ReadFile(pytorchPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"train.py", "profile_step.py", "step.star"} {
		b, err := os.ReadFile(filepath.Join(pytorchData, name))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), indented(string(b))) {
			t.Errorf("the page does not show %s as it is", name)
		}
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(pytorchData)); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	shown := 0
	for _, block := range strings.Split(string(text), "\n    $ tpsh ")[1:] {
		command, rest, _ := strings.Cut(block, "\n")
		words, last, _ := strings.Cut(command, " | tail -")
		if !strings.HasPrefix(words, "hang ") && !strings.HasPrefix(words, "trace ") && words != "run -n 4 hang.star" {
			continue
		}
		shown++
		var out bytes.Buffer
		run(&stdio{strings.NewReader(""), &out, &out}, strings.Fields(words))
		got := indented(out.String())
		if last != "" {
			lines := strings.SplitAfter(got, "\n")
			got = strings.Join(lines[len(lines)-1-int(last[0]-'0'):], "")
		}
		if strings.Contains(words, "--plan") { // predictions are refined now and then
			rest, got = masked(rest), masked(got)
		}
		if !strings.HasPrefix(rest, got) {
			t.Errorf("tpsh %s: the page shows otherwise:\n%s", words, got)
		}
	}
	if shown < 4 {
		t.Errorf("the page shows %d commands, want 4 at least", shown)
	}
}

var (
	shownFigures = regexp.MustCompile(`[0-9.]+( µs| ms| s)?`)
	spaces       = regexp.MustCompile(` +`)
)

// masked returns text without its figures, and with one space for many.
func masked(text string) string {
	return spaces.ReplaceAllString(shownFigures.ReplaceAllString(text, "0"), " ")
}

// indented returns text as a block of the page.
func indented(text string) string {
	var b strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		if strings.TrimSpace(line) != "" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String()
}

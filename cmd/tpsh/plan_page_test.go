package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// What docs/plan.md shows of tpsh plan is what it prints: the figures at its beginning, and whatever
// follows a command that it shows with a $.
func TestPlanPage(t *testing.T) {
	b, err := os.ReadFile("../../docs/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(b), " \\\n      ", " ")
	dir := t.TempDir()
	t.Chdir("../..")
	plan := func(command string) string {
		var out bytes.Buffer
		words := strings.Fields(strings.Replace(command, "--chakra traces", "--chakra "+dir, 1))
		if status := run(&stdio{strings.NewReader(""), &out, &out}, words); status != 0 {
			t.Errorf("tpsh %s: status %d:\n%s", command, status, out.String())
		}
		return indented(strings.ReplaceAll(out.String(), dir, "traces"))
	}
	_, after, _ := strings.Cut(text, "## The figures\n\n")
	figures, _, _ := strings.Cut(after, "\n\n")
	first, _, _ := strings.Cut(text[strings.Index(text, "    tpsh plan ")+len("    tpsh "):], "\n")
	if got := plan(first); !strings.Contains(got, figures+"\n") {
		t.Errorf("tpsh %s: the page shows\n%s\ngot\n%s", first, figures, got)
	}
	shown := 0
	for _, block := range strings.Split(text, "\n    $ tpsh ")[1:] {
		command, rest, _ := strings.Cut(block, "\n")
		want, _, _ := strings.Cut(rest, "\n\n")
		if !strings.HasPrefix(want, "    ") || strings.Contains(command, "-n 64 ") { // which takes seconds
			continue
		}
		shown++
		if got := plan(command); !strings.Contains(got, want+"\n") {
			t.Errorf("tpsh %s: the page shows\n%s\ngot\n%s", command, want, got)
		}
	}
	if shown < 2 {
		t.Errorf("the page shows %d commands with what they print, want 2 at least", shown)
	}
}

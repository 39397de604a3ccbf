package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"tpsh/cmd/tpsh/launch"
)

const readme = "../../README.md"

// The README shows the commands as tpsh help does.
func TestReadmeCommands(t *testing.T) {
	var out bytes.Buffer
	if code := run(&stdio{strings.NewReader(""), &out, &out}, []string{"help"}); code != 0 {
		t.Fatalf("tpsh help: exit status %d", code)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if strings.HasPrefix(line, "  tpsh") && !strings.Contains(string(text), strings.TrimPrefix(line, "  ")) {
			t.Errorf("README.md lacks the line of tpsh help:\n%s", line)
		}
	}
}

// The README tells of every transport, as doctor does.
func TestReadmeTransports(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range transports() {
		if launch.Describe(name).Doc == "" {
			t.Errorf("transport %s has no row in the table of package launch", name)
		}
		if !strings.Contains(string(text), "\n| `"+name+"`") {
			t.Errorf("README.md lacks a row for transport %s", name)
		}
	}
}

// The sessions that the README shows are what tpsh prints.
func TestReadmeSessions(t *testing.T) {
	text, err := os.ReadFile(readme)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	for name, script := range readmeScripts(string(text)) {
		if err := os.WriteFile(name, []byte(script), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sessions := 0
	for _, block := range strings.Split(string(text), "\n    $ tpsh run ")[1:] {
		lines := strings.Split(block, "\n")
		var want []string
		for _, line := range lines[1:] {
			if line != "" && !strings.HasPrefix(line, "    ") {
				break
			}
			want = append(want, strings.TrimPrefix(line, "    "))
		}
		var out bytes.Buffer
		run(&stdio{strings.NewReader(""), &out, &out}, append([]string{"run"}, strings.Fields(lines[0])...))
		if got := strings.TrimSpace(out.String()); got != strings.TrimSpace(strings.Join(want, "\n")) {
			t.Errorf("tpsh run %s prints:\n%s\nthe README says:\n%s", lines[0], got, strings.Join(want, "\n"))
		}
		sessions++
	}
	if sessions < 2 {
		t.Errorf("found %d sessions in the README, want at least 2", sessions)
	}
}

// readmeScripts returns the scripts in text whose first line is a comment with
// their name.
func readmeScripts(text string) map[string]string {
	scripts := map[string]string{}
	for _, block := range strings.Split(text, "```python\n# ")[1:] {
		name, rest, _ := strings.Cut(block, "\n")
		body, _, _ := strings.Cut(rest, "```")
		scripts[name] = "# " + name + "\n" + body
	}
	return scripts
}

package main

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func completionOf(t *testing.T, shell string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(&stdio{strings.NewReader(""), &out, &errs}, []string{"completion", shell}); code != 0 {
		t.Fatalf("tpsh completion %s: exit status %d\n%s", shell, code, &errs)
	}
	return out.String()
}

// Each shell's completion has every command with every flag that it declares.
func TestCompletionsAreWhole(t *testing.T) {
	for shell := range completions {
		text := completionOf(t, shell)
		for _, c := range commands {
			fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
			c.setup(fs)
			fs.VisitAll(func(f *flag.Flag) {
				want := dashed(f.Name)
				if shell == "fish" {
					want = "__tpsh_is " + c.name + "' -l " + f.Name + " "
					if len(f.Name) == 1 {
						want = "__tpsh_is " + c.name + "' -s " + f.Name + " "
					}
				}
				if !strings.Contains(text, want) {
					t.Errorf("%s: %s of tpsh %s is not completed", shell, dashed(f.Name), c.name)
				}
			})
		}
	}
}

// completedLines are lines as a user types them, and the word to which each shell completes
// the last one.
var completedLines = []struct{ line, want string }{
	{`tpsh ch`, "check"},
	{`tpsh run --transport s`, "shm"},
	{`tpsh run tr`, "train.star"},
	{`tpsh run -n 2 l`, "lib/"},
	{`tpsh run lib/`, "lib/net.star"},
	{`tpsh run --output raw`, "raw"},
	{`tpsh run --trans`, "--transport"},
	{`tpsh doc all_r`, "all_reduce"},
	{`tpsh plan --hw dgx-a100-4`, "dgx-a100-40g"},
	{`tpsh completion z`, "zsh"},
	{`tpsh help com`, "completion"},
	{`tpsh ckpt ver`, "verify"},
	{`tpsh bench coll`, "collectives"},
	{`tpsh run train.star -- train.t`, "train.txt"},
}

// completionFolder returns a folder with files to be completed.
func completionFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"train.star", "train.txt", "lib/net.star"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Bash completes what a user would type: the function that the script defines is called
// as the shell calls it.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	script := completionOf(t, "bash") + `
tpsh() { echo all_gather; echo all_reduce; echo F.relu; }
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _tpsh; echo "${COMPREPLY[*]}"; }
`
	var want []string
	for _, c := range completedLines {
		script += "ask " + c.line + "\n"
		want = append(want, strings.TrimSuffix(c.want, "/")) // which readline adds
	}
	cmd := exec.Command(bash, "--norc", "--noprofile", "-c", script)
	cmd.Dir = completionFolder(t)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil || errs.Len() > 0 {
		t.Fatalf("bash: %v\n%s", err, &errs)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Fish, where it is installed, completes the same.
func TestFishCompletion(t *testing.T) {
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("no fish on this machine")
	}
	script := completionOf(t, "fish") + "\nfunction tpsh; printf '%s\\n' all_gather all_reduce F.relu; end\n"
	for _, c := range completedLines {
		script += "echo (complete -C '" + c.line + "' | string replace -r '\\t.*' '')\n"
	}
	cmd := exec.Command(fish, "--no-config", "-c", script)
	cmd.Dir = completionFolder(t)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("fish: %v\n%s", err, out)
	}
	got := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	for i, c := range completedLines {
		if i >= len(got) || got[i] != c.want {
			t.Errorf("%s: got %q, want %q", c.line, strings.Join(got[min(i, len(got)):min(i+1, len(got))], ""), c.want)
		}
	}
}

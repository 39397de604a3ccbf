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
					want = "from " + c.name + "' -l " + f.Name + " "
					if len(f.Name) == 1 {
						want = "from " + c.name + "' -s " + f.Name + " "
					}
				}
				if !strings.Contains(text, want) {
					t.Errorf("%s: %s of tpsh %s is not completed", shell, dashed(f.Name), c.name)
				}
			})
		}
	}
}

// Bash completes what a user would type: the function that the script defines is called
// as the shell calls it.
func TestBashCompletion(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on this machine")
	}
	dir := t.TempDir()
	for _, name := range []string{"train.star", "train.txt", "lib/net.star"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := completionOf(t, "bash") + `
tpsh() { echo all_gather; echo all_reduce; echo F.relu; }
ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _tpsh; echo "${COMPREPLY[*]}"; }
`
	var want []string
	for _, c := range []struct{ words, want string }{
		{`tpsh ch`, "check"},
		{`tpsh run --transport s`, "shm"},
		{`tpsh run tr`, "train.star"},
		{`tpsh run l`, "lib"},
		{`tpsh run lib/`, "lib/net.star"},
		{`tpsh run --trans`, "--transport"},
		{`tpsh doc all_r`, "all_reduce"},
		{`tpsh plan --hw dgx-a100-4`, "dgx-a100-40g"},
		{`tpsh completion z`, "zsh"},
		{`tpsh help com`, "completion"},
		{`tpsh run train.star -- train.t`, "train.txt"},
	} {
		script += "ask " + c.words + "\n"
		want = append(want, c.want)
	}
	cmd := exec.Command(bash, "--norc", "--noprofile", "-c", script)
	cmd.Dir = dir
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

// Other shells, where they are installed, take their completion without an error.
func TestOtherCompletionsParse(t *testing.T) {
	for shell, args := range map[string][]string{"zsh": {"-n"}, "fish": {"--no-execute"}} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("no %s on this machine", shell)
			continue
		}
		file := filepath.Join(t.TempDir(), "completion")
		if err := os.WriteFile(file, []byte(completionOf(t, shell)), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(path, append(args, file)...).CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}

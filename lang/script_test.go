package lang

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the scripts of testdata give into their files")

// TestScripts runs the main.star of each archive in testdata and compares its
// output, its report and its exit status with those in the archive. The
// archive's comment may hold the lines
//
//	ranks: 4
//	mode: raw
//	function: test_x
//	steps: 1000
//	link: escape.star ../outside.star
func TestScripts(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			t.Parallel()
			runArchive(t, file)
		})
	}
}

func runArchive(t *testing.T, file string) {
	a := parseArchive(t, file)
	dir := filepath.Join(t.TempDir(), "folder")
	p := Program{Path: "main.star", Dir: dir}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	want := make(map[string]string)
	for _, f := range a.files {
		switch f.name {
		case "out", "report", "status":
			want[f.name] = f.data
		case "main.star":
			p.Source = f.data
		default:
			write(t, filepath.Join(dir, f.name), f.data)
		}
	}
	ranks, opts := 4, Options{}
	for line := range strings.Lines(a.comment) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "ranks":
			fmt.Sscan(value, &ranks)
		case "mode":
			opts.Mode = Mode(value)
		case "function":
			p.Function = value
		case "steps":
			fmt.Sscan(value, &p.MaxSteps)
		case "link":
			link, target, _ := strings.Cut(value, " ")
			if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
				t.Fatal(err)
			}
		}
	}
	b := newBench(t, ranks, opts)
	o, out, report := b.run(t, p)
	got := map[string]string{"out": out, "report": report, "status": fmt.Sprintln(o.ExitStatus())}
	if *update {
		rewrite(t, file, a, got)
		return
	}
	for name := range got {
		if got[name] != want[name] {
			t.Errorf("%s:\ngot:\n%s\nwant:\n%s", name, got[name], want[name])
		}
	}
}

func write(t *testing.T, path string, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
}

// An archive is a file in the txtar format: a comment and files.
type archive struct {
	comment string
	files   []archived
}

type archived struct{ name, data string }

func parseArchive(t *testing.T, file string) *archive {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a := new(archive)
	into := &a.comment
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(line, "-- "); ok {
			a.files = append(a.files, archived{name: strings.TrimSuffix(name, " --\n")})
			into = &a.files[len(a.files)-1].data
			continue
		}
		*into += line
	}
	return a
}

// rewrite replaces what the archive expects by what came.
func rewrite(t *testing.T, file string, a *archive, got map[string]string) {
	t.Helper()
	text := a.comment
	for _, f := range a.files {
		if _, ok := got[f.name]; !ok {
			text += "-- " + f.name + " --\n" + f.data
		}
	}
	for _, name := range []string{"out", "report", "status"} {
		text += "-- " + name + " --\n" + got[name]
	}
	write(t, file, text)
}

package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// testWheel returns a wheel of the package with a stand-in for the command.
func testWheel(t *testing.T, on target) *wheel {
	t.Helper()
	tags, err := on.tags()
	if err != nil {
		t.Fatal(err)
	}
	w := &wheel{version: "1.2.3", tags: tags}
	if err := w.addPackage(".."); err != nil {
		t.Fatal(err)
	}
	w.add(on.command(), 0o755, []byte("a command"))
	return w
}

// contents returns what the files of an archive hold.
func contents(t *testing.T, data []byte) (names []string, files map[string][]byte, modes map[string]bool) {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	files, modes = map[string][]byte{}, map[string]bool{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, f.Name)
		files[f.Name], modes[f.Name] = text, f.Mode()&0o111 != 0
	}
	return names, files, modes
}

// A wheel has the package, the command, which may be run, and what tells of it.
func TestWheelHolds(t *testing.T) {
	w := testWheel(t, target{"linux", "amd64"})
	data, err := w.bytes()
	if err != nil {
		t.Fatal(err)
	}
	names, files, runs := contents(t, data)
	for _, want := range []string{"tpsh/__init__.py", "tpsh/__main__.py", "tpsh/_run.py", "tpsh/pytest_plugin.py", "tpsh/bin/tpsh", "tpsh-1.2.3.dist-info/METADATA", "tpsh-1.2.3.dist-info/LICENSE"} {
		if !slices.Contains(names, want) {
			t.Errorf("got the files %q, want %s among them", names, want)
		}
		if runs[want] != (want == "tpsh/bin/tpsh") {
			t.Errorf("%s: got executable %v", want, runs[want])
		}
	}
	if last := names[len(names)-1]; last != "tpsh-1.2.3.dist-info/RECORD" {
		t.Errorf("got %s as the last entry, want RECORD", last)
	}
	if want := "tpsh-1.2.3-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.musllinux_1_1_x86_64.whl"; w.name() != want {
		t.Errorf("got the name %s, want %s", w.name(), want)
	}
	about := string(files["tpsh-1.2.3.dist-info/WHEEL"])
	for _, tag := range w.tags {
		if !strings.Contains(about, "Tag: py3-none-"+tag+"\n") {
			t.Errorf("WHEEL lacks the tag %s:\n%s", tag, about)
		}
	}
	if text := string(files["tpsh-1.2.3.dist-info/METADATA"]); !strings.Contains(text, "\nVersion: 1.2.3\n") {
		t.Errorf("METADATA lacks the version:\n%.300s", text)
	}
}

// RECORD has the hash and the size of every other entry.
func TestWheelRecord(t *testing.T) {
	data, err := testWheel(t, target{"windows", "amd64"}).bytes()
	if err != nil {
		t.Fatal(err)
	}
	names, files, _ := contents(t, data)
	rows, err := csv.NewReader(bytes.NewReader(files["tpsh-1.2.3.dist-info/RECORD"])).ReadAll()
	if err != nil || len(rows) != len(names) {
		t.Fatalf("got %d rows (%v), want %d", len(rows), err, len(names))
	}
	for i, row := range rows {
		sum := sha256.Sum256(files[row[0]])
		want := []string{names[i], "sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]), fmt.Sprint(len(files[row[0]]))}
		if i == len(rows)-1 {
			want = []string{names[i], "", ""}
		}
		if !slices.Equal(row, want) {
			t.Errorf("got the row %q, want %q", row, want)
		}
	}
}

// The same sources give the same wheel.
func TestWheelIsReproducible(t *testing.T) {
	a, err := testWheel(t, target{"darwin", "arm64"}).bytes()
	b, err2 := testWheel(t, target{"darwin", "arm64"}).bytes()
	if err != nil || err2 != nil || !bytes.Equal(a, b) {
		t.Errorf("got two wheels that differ (%v, %v)", err, err2)
	}
}

func TestUnknownTarget(t *testing.T) {
	_, err := target{"plan9", "amd64"}.tags()
	if err == nil || !strings.Contains(err.Error(), "got the target plan9/amd64, want one of darwin/amd64,") {
		t.Errorf("got %v", err)
	}
}

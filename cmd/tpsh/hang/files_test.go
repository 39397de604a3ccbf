package hang

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"
)

// explainBytes reads b as a dump of rank 0 beside a sound one of rank 1.
func explainBytes(t testing.TB, b []byte) *Verdict {
	j := &Job{Ranks: map[int]*Rank{}, Groups: map[string]*Group{}}
	if d, err := parseDump(b); err == nil {
		j.add(0, "fr_0", d)
	}
	other, err := os.ReadFile("testdata/real/gloo_missing/fr_1")
	if err != nil {
		t.Fatal(err)
	}
	d, err := parseDump(other)
	if err != nil {
		t.Fatal(err)
	}
	j.add(1, "fr_1", d)
	j.link()
	v := Explain(j)
	if err := v.WriteText(io.Discard); err != nil {
		t.Fatal(err)
	}
	if len(v.Culprits) > 0 {
		if err := v.WriteStar(io.Discard, "x"); err != nil {
			t.Fatal(err)
		}
	}
	return v
}

// A dump that is cut anywhere is damaged, and nothing is made of it.
func TestCut(t *testing.T) {
	for _, name := range []string{"gloo_missing/fr_0", "gloo_missing/fr_0.json", "lock_gil_1st/_dump_8"} {
		b, err := os.ReadFile("testdata/real/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < len(b)-1; n += 1 + len(b)/500 {
			if d, err := parseDump(b[:n]); err == nil {
				t.Errorf("%s: the first %d of %d bytes were read: %+v", name, n, len(b), d)
			}
		}
	}
}

func TestDamaged(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"fr_0": "\x80\x02cposix\nsystem\nU\x04trueR.", "fr_1": "\x80\x02}", "fr_2": `{"version": "3.1", "entries": []}`,
		"notes1": "not a dump", "notes.txt": "neither", "truth.json": `{"a": 1}`, "dump.json": `{"version": "2.10", "entries": []}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	j, err := Read([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	v := Explain(j)
	all := strings.Join(v.Missing, "\n")
	for _, want := range []string{`fr_0: at byte 2: it wants "posix.system"`, "fr_1: it ends in the middle", `fr_2: a dump of version "3.1"`, "dump.json: neither its name"} {
		if !strings.Contains(all, want) {
			t.Errorf("missing lacks %q:\n%s", want, all)
		}
	}
	if v.Verdict != CannotTell || strings.Contains(all, "notes") || strings.Contains(all, "truth") {
		t.Errorf("%s:\n%s", v.Verdict, all)
	}
	var page bytes.Buffer
	if err := v.WriteText(&page); err != nil || strings.Contains(page.String(), "where every rank is") {
		t.Errorf("of no rank: %v\n%s", err, &page)
	}
	if _, err := Read([]string{t.TempDir()}); !errors.Is(err, ErrNone) {
		t.Errorf("an empty folder: %v", err)
	}
	if _, err := Read([]string{filepath.Join(dir, "none")}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no such path: %v", err)
	}
}

// What is named as the dumps beside it are and holds none is missing evidence; another file is not.
func TestDamagedBesideDumps(t *testing.T) {
	dir := t.TempDir()
	whole, err := os.ReadFile("testdata/real/gloo_missing/fr_1")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"fr_1": string(whole), "fr_0": "\x00\x01\x02", "fr_2": "<html>", "notes3": "not a dump"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	j, err := Read([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Join(Explain(j).Missing, "\n")
	if !strings.Contains(all, "fr_0: no dump") || !strings.Contains(all, "fr_2: no dump") || strings.Contains(all, "notes3") {
		t.Errorf("missing:\n%s", all)
	}
}

// A dump that claims a world of the greatest size takes no time to speak of.
func TestHostileWorld(t *testing.T) {
	explainBytes(t, []byte(`{"version": "2.10", "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 131071]"}, "": {"name": "", "desc": "", "ranks": "[131071]"}},
		"entries": [{"profiling_name": "nccl:all_reduce", "process_group": ["9", "x"], "collective_seq_id": 9223372036854775807, "state": "scheduled", "retired": false},
		{"profiling_name": "nccl:send 0->99999", "process_group": ["0", ""], "state": "started"}]}`))
	explainBytes(t, append([]byte("\x80\x02}X\x07\x00\x00\x00entries]("), append(bytes.Repeat([]byte("}"), 1<<18), "es."...)...))
}

func TestNoFile(t *testing.T) {
	if _, err := Read([]string{os.DevNull}); err == nil || !strings.Contains(err.Error(), "neither a file nor a folder") {
		t.Errorf("a device: %v", err)
	}
}

// An editor has put the mark of UTF-8 before a dump.
func TestByteOrderMark(t *testing.T) {
	b, err := os.ReadFile("testdata/real/gloo_missing/fr_0.json")
	if err != nil {
		t.Fatal(err)
	}
	d, err := parseDump(append([]byte("\ufeff"), b...))
	if err != nil || len(d.status) == 0 {
		t.Errorf("got %+v and %v", d, err)
	}
}

// Logs and dumps are read as Windows' shells write texts, and packed as they are put by.
func TestFormsOfFiles(t *testing.T) {
	utf16With := func(order binary.AppendByteOrder) func(string) []byte {
		return func(text string) []byte {
			out := order.AppendUint16(nil, 0xfeff)
			for _, u := range utf16.Encode([]rune(text)) {
				out = order.AppendUint16(out, u)
			}
			return out
		}
	}
	packed := func(text string) []byte {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := io.WriteString(z, text); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	log := timeout(0, "ALLREDUCE", 8, 37, 38, 36) + signal(1, 36, 36)
	dump, err := os.ReadFile("testdata/real/gloo_missing/fr_0.json")
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range map[string]func(string) []byte{"utf16": utf16With(binary.LittleEndian), "utf16be": utf16With(binary.BigEndian), "gz": packed} {
		dir := t.TempDir()
		for file, text := range map[string]string{"job.log": log, "fr_5.json": string(dump)} {
			if name == "gz" {
				file += ".gz"
			}
			if err := os.WriteFile(filepath.Join(dir, file), form(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		j, err := Read([]string{dir})
		if err != nil || len(j.Damaged) > 0 || len(j.Ranks) != 3 || j.Ranks[5] == nil || !j.Ranks[5].Dumped {
			t.Errorf("%s: got %+v, %v, want ranks 0, 1 and 5", name, j, err)
		}
	}
	if _, err := readAll(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

func FuzzDump(f *testing.F) {
	for _, name := range []string{"gloo_missing/fr_0", "gloo_missing/fr_2.json", "gpu_error_1st/_dump_13", "lock_gil_1st/_dump_0"} {
		b, err := os.ReadFile("testdata/real/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) { explainBytes(t, b) })
}

func FuzzLog(f *testing.F) {
	f.Add([]byte(timeout(0, "ALLREDUCE", 8, 37, 38, 36) + signal(1, 36, 36)))
	f.Fuzz(func(t *testing.T, b []byte) {
		j := &Job{Ranks: map[int]*Rank{}, Groups: map[string]*Group{}}
		var w watchdog
		w.read(b)
		w.addTo(j)
		if err := Explain(j).WriteText(io.Discard); err != nil {
			t.Fatal(err)
		}
	})
}

// Dumps lie in a folder for each node, or have names that count from 0 on each.
func TestNodes(t *testing.T) {
	w := &world{n: 4, groups: map[string][]int{"1": {0, 1}, "2": {2, 3}, "3": {0, 2}, "4": {1, 3}}, ranks: map[int][]row{
		0: {sum(1).done(), sum(2).pending()}, 1: {sum(1).done(), sum(2).pending()}, 2: {sum(1).done()}, 3: {sum(1).done(), sum(2).pending()}}}
	write := func(name string) string {
		root := t.TempDir()
		for id, rows := range w.ranks {
			path := filepath.Join(root, fmt.Sprintf(name, id/2, id, id%2))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, w.dump(id, rows), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return root
	}
	for name, want := range map[string]string{
		"node%[1]d/nccl_trace_rank_%[2]d":       "culprits 2 never called",
		"host/%[1]d/2026-11/nccl_trace_%[2]d":   "culprits 2 never called",
		"node%[1]d/nccl_trace_rank_%[3]d":       "culprits 2 never called", // the groups tell
		"node%[1]d/nccl_trace_rank_%[2]d.json":  "culprits 2 never called",
		"%[2]d/rank%[2]d/trace/x/y/deep_%[2]d.": "",
	} {
		j, err := Read([]string{write(name)})
		switch {
		case want == "" && err == nil:
			t.Errorf("%s: got %s, want an error", name, short(Explain(j)))
		case want != "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case want != "" && short(Explain(j)) != want:
			t.Errorf("%s: got %s, want %s", name, short(Explain(j)), want)
		}
	}
}

// Two dumps that claim one rank are said to, and so is a dump whose groups do not have
// the rank that it is named for.
func TestClaims(t *testing.T) {
	w := &world{n: 4, groups: map[string][]int{"1": {2, 3}}, ranks: map[int][]row{2: {sum(1).done()}}}
	dir := t.TempDir()
	for _, name := range []string{"a_2", "b_2", "c_0"} {
		if err := os.WriteFile(filepath.Join(dir, name), w.dump(2, w.ranks[2]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	j, err := Read([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	v := Explain(j)
	if v.Verdict != CannotTell || len(v.Missing) != 4 || !strings.HasSuffix(v.Missing[1], "b_2: a dump of rank 2, as is "+dir+"/a_2; the later is read") ||
		!strings.HasSuffix(v.Missing[2], "c_0: its name says rank 0, and its groups have ranks 2,3") {
		t.Errorf("got %s, %q", v.Verdict, v.Missing)
	}
}

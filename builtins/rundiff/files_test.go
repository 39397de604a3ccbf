package rundiff

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// npyOf returns an .npy file of float32 with thirds of the values.
func npyOf(values ...float32) []byte {
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d,), }", len(values))
	head += string(bytes.Repeat([]byte(" "), (64-(10+len(head)+1)%64)%64)) + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	out = append(out, head...)
	for _, v := range values {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v/3))
	}
	return out
}

// npzOf returns an .npz file with a file of each name.
func npzOf(t testing.TB, names []string, npy []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(npy)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// files returns all that lies below dir.
func files(t testing.TB, dir string) (list []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		list = append(list, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Names in an .npz file that lead elsewhere are names of tensors, and nothing is
// written.
func TestNamesThatClimb(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "a", "b", "c")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	data := npzOf(t, []string{"../../../x.npy", "/tmp/../y.npy", `..\..\z.npy`, "w.rank1/../../v.npy"}, npyOf(1, 2, 3))
	path := filepath.Join(inner, "x.npz")
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	before := files(t, dir)
	for _, p := range []string{path, inner} {
		r, err := Compare(p, p, &Options{})
		if err != nil || !r.Equal || len(r.Tensors) != 4 {
			t.Errorf("%s: got %+v, %v, want four equal tensors", p, r, err)
		}
	}
	if after := files(t, dir); !slices.Equal(before, after) {
		t.Errorf("files: got %v, want %v", after, before)
	}
}

// Two files are compared whatever their names say.
func TestTwoFiles(t *testing.T) {
	dir := t.TempDir()
	put := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one, two := npyOf(1, 2, 3, 4, 5), npyOf(1, 2, 9, 4, 5)
	for _, c := range []struct {
		a, b  string
		equal bool
	}{
		{put("a.npy", one), put("b.npy", two), false},
		{put("x.rank0.npy", one), put("x.rank1.npy", one), true},
		{put("step1.npz", npzOf(t, []string{"w.npy"}, one)), put("step2.npz", npzOf(t, []string{"w.npy"}, two)), false},
		{put("one.npz", npzOf(t, []string{"w.npy", "v.npy"}, one)), put("two.npz", npzOf(t, []string{"w.npy", "v.npy"}, one)), true},
	} {
		r, err := Compare(c.a, c.b, &Options{})
		if err != nil || r.Equal != c.equal {
			t.Errorf("%s and %s: got %+v, %v, want equal %t", c.a, c.b, r, err, c.equal)
		}
	}
	if _, err := Compare(put("p.npz", npzOf(t, []string{"w.npy"}, one)), put("q.npz", npzOf(t, []string{"v.npy"}, one)), &Options{}); err == nil {
		t.Error("files with no name in common: got no error")
	}
}

// Of small whole numbers none is taken for a rounded one.
func TestWholeNumbers(t *testing.T) {
	a := &array{[]int{12}, make([]float64, 12)}
	for i := range a.data {
		a.data[i] = float64(i)
	}
	b := &array{a.shape, slices.Clone(a.data)}
	b.data[6]++
	if r := compare(t, map[int]dump{0: {"x": a}}, map[int][]dump{0: {{"x": b}}}, &Options{}); r.Equal {
		t.Error("0 to 11 and one that is another: got them equal")
	}
}

// Any file is compared or refused, and nothing is written.
func FuzzNpz(f *testing.F) {
	f.Add(npzOf(f, []string{"w.npy", "../x.npy"}, npyOf(1, 2, 3, 4)))
	f.Add(npzOf(f, []string{"step1/w.rank0.npy", "step1/w.rank1.npy"}, npyOf(1)))
	f.Add(npyOf(1, 2))
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, data []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "x.npz")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		if r, err := Compare(path, path, &Options{}); err == nil && !r.Equal {
			t.Errorf("a file and itself: got %s", r.Says)
		}
		if list := files(t, dir); len(list) != 2 {
			t.Errorf("got the files %v, want %s alone", list, path)
		}
	})
}

// A file whose arrays are in the order of their names says nothing of when they were
// computed, whatever small files come after it.
func TestOrderOfNamesIsNoOrder(t *testing.T) {
	for _, test := range []struct {
		first []string
		known bool
	}{
		{[]string{"x.npy", "a.npy", "m.npy"}, true},
		{[]string{"a.npy", "m.npy", "x.npy"}, false},
	} {
		dir := t.TempDir()
		for file, names := range map[string][]string{"first.npz": test.first, "second.npz": {"loss.npy"}} {
			if err := os.WriteFile(filepath.Join(dir, file), npzOf(t, names, npyOf(1, 2)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := open(dir)
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
		if s.known != test.known {
			t.Errorf("arrays %v and one more file: the order is known: %v, want %v", test.first, s.known, test.known)
		}
	}
}

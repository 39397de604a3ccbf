package files

import (
	"archive/zip"
	"bytes"
	"hash/crc32"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/builtinstest"
	"tpsh/builtins/npy"
)

// A zipMember is a member of a zip file for tests.
type zipMember struct {
	name   string
	method uint16
	data   []byte // as stored
	says   uint64 // its size unpacked, as the file says
	sum    uint32
}

// storedMember returns a member that is not compressed.
func storedMember(name string, data []byte) zipMember {
	return zipMember{name, zip.Store, data, uint64(len(data)), crc32.ChecksumIEEE(data)}
}

// zipFile returns a zip file of the members, as they are.
func zipFile(t testing.TB, members ...zipMember) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		w, err := z.CreateRaw(&zip.FileHeader{Name: m.name, Method: m.method, CRC32: m.sum, CompressedSize64: uint64(len(m.data)), UncompressedSize64: m.says})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(m.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// deflated returns a zip file of one compressed member.
func deflated(t testing.TB, name string, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// allKeys is the argument keys that is not given.
var allKeys arg.Opt[arg.Strings, *arg.Strings]

func TestReadNpz(t *testing.T) {
	builtinstest.OnRank(t, func(e *builtins.Env, _ *starlark.Thread) {
		columns := npyFile(npy.Header{Descr: "<f4", Fortran: true, Shape: []int{2, 3}}, floats(1, 4, 2, 5, 3, 6)...)
		for _, file := range [][]byte{zipFile(t, storedMember("a.npy", columns)), deflated(t, "a.npy", columns)} {
			list, err := readNpz(e, bytes.NewReader(file), int64(len(file)), allKeys)
			if err != nil || len(list) != 1 || list[0].key != "a" {
				t.Errorf("got %v, %v", list, err)
				continue
			}
			got, err := builtins.Nested(e, "test", list[0].t)
			if want := "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]"; err != nil || got.String() != want {
				t.Errorf("got %v, %v, want %s", got, err, want)
			}
		}
	})
}

func TestReadNpzErrors(t *testing.T) {
	array := npyFile(npy.Header{Descr: "<f4", Shape: []int{2}}, floats(1, 2)...)
	bomb := npyFile(npy.Header{Descr: "|u1", Shape: []int{872}}, make([]byte, 1<<20)...)
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"a name twice", zipFile(t, storedMember("a.npy", array), storedMember("a.npy", array)), `member "a.npy": it is there twice`},
		{"a folder", zipFile(t, storedMember("a/", nil)), `member "a/": it is not called KEY.npy`},
		{"no UTF-8", zipFile(t, storedMember("\xff.npy", array)), "it is not called KEY.npy"},
		{"more than it is", zipFile(t, storedMember("a.npy", append(array, 1))), "it has 9 bytes of elements, and its header says 8"},
		{"less than it is", zipFile(t, storedMember("a.npy", array[:len(array)-1])), "it has 7 bytes of elements, and its header says 8"},
		{"no header", zipFile(t, storedMember("a.npy", array[:20])), `member "a.npy": the file ends inside its header`},
		{"another method", zipFile(t, zipMember{"a.npy", 12, array, uint64(len(array)), 0}), "its compression is neither none nor deflate"},
		{"a huge claim", zipFile(t, zipMember{"a.npy", zip.Deflate, array, 1 << 50, 0}), "cannot hold the 1125899906842624 that they are said to"},
		{"a claim of a stored one", zipFile(t, zipMember{"a.npy", zip.Store, array, 1 << 20, 0}), "cannot hold the 1048576 that they are said to"},
		{"damaged", zipFile(t, zipMember{"a.npy", zip.Deflate, bytes.Repeat([]byte{255}, 50), 136, 0}), "its compressed bytes are damaged"},
		{"a wrong checksum", zipFile(t, zipMember{"a.npy", zip.Store, array, uint64(len(array)), 7}), "its checksum is wrong"},
		{"overlap", overlapping(t, array), "its members overlap"},
		{"a bomb that says less", lying(t, bomb), "it is no valid zip file"},
	}
	builtinstest.OnRank(t, func(e *builtins.Env, _ *starlark.Thread) {
		for _, test := range tests {
			list, err := readNpz(e, bytes.NewReader(test.file), int64(len(test.file)), allKeys)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, %v, want an error with %q", test.name, list, err, test.want)
			}
		}
	})
}

// overlapping returns a file in whose directory two names have one place.
func overlapping(t testing.TB, array []byte) []byte {
	file := zipFile(t, storedMember("a.npy", array), storedMember("b.npy", array))
	first := bytes.Index(file, []byte("PK\x01\x02"))
	second := first + 4 + bytes.Index(file[first+4:], []byte("PK\x01\x02"))
	copy(file[second+42:second+46], file[first+42:first+46]) // where the local header is
	return file
}

// lying returns a compressed file that is said to unpack to the first 1000
// bytes of data only.
func lying(t testing.TB, data []byte) []byte {
	file := deflated(t, "a.npy", data)
	at := bytes.Index(file, []byte("PK\x01\x02"))
	copy(file[at+24:at+28], []byte{1000 & 255, 1000 >> 8, 0, 0})
	return file
}

// An archive that needs more memory than is allowed ends the program before it
// is unpacked.
func TestNpzMemory(t *testing.T) {
	big := npyFile(npy.Header{Descr: "|u1", Shape: []int{64 << 20}}, make([]byte, 64<<20)...)
	file := deflated(t, "a.npy", big)
	builtinstest.OnRank(t, func(e *builtins.Env, _ *starlark.Thread) {
		alloc := e.Runtime.Ops().Alloc
		alloc.Limit, alloc.Strict = 1<<20, true
		list, err := readNpz(e, bytes.NewReader(file), int64(len(file)), allKeys)
		if err == nil || !strings.HasPrefix(err.Error(), "load_npz: out of memory") || !e.Uncatchable(err) {
			t.Errorf("got %v, %v, want an error of memory that nothing catches", list, err)
		}
	})
}

// FuzzReadNpz: any file, or any member of one that is whole, gives tensors that
// are written so that they read the same, or an error.
func FuzzReadNpz(f *testing.F) {
	array := npyFile(npy.Header{Descr: "<f4", Shape: []int{2}}, floats(1, 2)...)
	f.Add(zipFile(f, storedMember("a.npy", array), storedMember(".npy", npyFile(npy.Header{Descr: "|b1", Shape: []int{3}}, 0, 1, 7))), true)
	f.Add(deflated(f, "a.npy", array), true)
	f.Add(overlapping(f, array), true)
	f.Add(lying(f, array), true)
	f.Add(array, false)
	f.Add(npyFile(npy.Header{Descr: "<f2", Fortran: true, Shape: []int{2, 1}}, 1, 2, 3, 4), false)
	f.Fuzz(func(t *testing.T, data []byte, whole bool) {
		if !whole {
			data = zipFile(t, storedMember("a.npy", data))
		}
		builtinstest.OnRank(t, func(e *builtins.Env, _ *starlark.Thread) {
			e.Runtime.Ops().Alloc.Limit = 64 << 20
			list, err := readNpz(e, bytes.NewReader(data), int64(len(data)), allKeys)
			if err != nil {
				return
			}
			var first, second bytes.Buffer
			if err := writeNpz(e, &first, list); err != nil {
				t.Fatal(err)
			}
			again, err := readNpz(e, bytes.NewReader(first.Bytes()), int64(first.Len()), allKeys)
			if err != nil || len(again) != len(list) {
				t.Fatalf("got %v, %v, want %v", again, err, list)
			}
			if err := writeNpz(e, &second, again); err != nil || !bytes.Equal(first.Bytes(), second.Bytes()) {
				t.Errorf("what was read twice is written otherwise, %v", err)
			}
		})
	})
}

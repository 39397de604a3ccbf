package files

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/builtinstest"
	"tpsh/builtins/npy"
	"tpsh/runtime/tensor"
)

// npyFile returns an .npy file of the header and data.
func npyFile(h npy.Header, data ...byte) []byte { return append(h.Append(nil), data...) }

// floats returns xs as the elements of a file.
func floats(xs ...float32) []byte {
	var data []byte
	for _, x := range xs {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return data
}

// load reads the file that data is.
func load(t testing.TB, e *builtins.Env, data []byte) (*tensor.Tensor, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.npy")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return readNpy(e, f)
}

func TestReadNpy(t *testing.T) {
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"rows", npyFile(npy.Header{Descr: "<f4", Shape: []int{2, 3}}, floats(1, 2, 3, 4, 5, 6)...), "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]"},
		{"columns", npyFile(npy.Header{Descr: "<f4", Fortran: true, Shape: []int{2, 3}}, floats(1, 4, 2, 5, 3, 6)...), "[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]"},
		{"columns of one dim", npyFile(npy.Header{Descr: "<f4", Fortran: true, Shape: []int{2}}, floats(1, 2)...), "[1.0, 2.0]"},
		{"a number", npyFile(npy.Header{Descr: "<f4"}, floats(7)...), "7.0"},
		{"empty", npyFile(npy.Header{Descr: "<f4", Shape: []int{0, 3}}), "[]"},
		{"bools that are not 0 or 1", npyFile(npy.Header{Descr: "|b1", Shape: []int{3}}, 0, 1, 7), "[False, True, True]"},
		{"bytes in any order", npyFile(npy.Header{Descr: "<u1", Shape: []int{2}}, 1, 255), "[1, 255]"},
		{"big-endian", npyFile(npy.Header{Descr: ">i4", Shape: []int{2}}, 0, 0, 1, 2, 0xff, 0xff, 0xff, 0xfe), "[258, -2]"},
		{"big-endian columns", npyFile(npy.Header{Descr: ">i2", Fortran: true, Shape: []int{2, 2}}, 0, 1, 0, 2, 0, 3, 0, 4), "[[1, 3], [2, 4]]"},
		{"big-endian halves", npyFile(npy.Header{Descr: ">c8", Shape: []int{1}}, 0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0), "[(1-2j)]"},
		{"more than the array", npyFile(npy.Header{Descr: "|u1", Shape: []int{1}}, 1, 2), "[1]"},
	}
	builtinstest.OnRank(t, func(e *builtins.Env, _ *starlark.Thread) {
		for _, test := range tests {
			x, err := load(t, e, test.file)
			if err != nil {
				t.Errorf("%s: %v", test.name, err)
				continue
			}
			got, err := builtins.Nested(e, "test", x)
			if err != nil || got.String() != test.want {
				t.Errorf("%s: got %v, %v, want %s", test.name, got, err, test.want)
			}
		}
	})
}

func TestReadNpyErrors(t *testing.T) {
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"cut", npyFile(npy.Header{Descr: "<f4", Shape: []int{2}}, floats(1)...), "it has 4 bytes of elements, and its header says 8"},
		{"huge", npyFile(npy.Header{Descr: "<f8", Shape: []int{1 << 40, 1 << 40}}), "fewer than 2**63 bytes"},
		{"large", npyFile(npy.Header{Descr: "<f8", Shape: []int{1 << 50}}), "it has 0 bytes of elements"},
		{"complex", npyFile(npy.Header{Descr: "<c32", Shape: []int{1}}, floats(1, 1)...), `it holds elements of type "<c32"`},
		{"records", npyFile(npy.Header{Descr: "|V8", Shape: []int{1}}, floats(1, 1)...), `it holds elements of type "|V8"`},
	}
	builtinstest.OnRank(t, func(e *builtins.Env, _ *starlark.Thread) {
		for _, test := range tests {
			x, err := load(t, e, test.file)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: got %v, %v, want an error with %q", test.name, x, err, test.want)
			}
		}
	})
}

// FuzzReadNpy: any file gives a tensor of its shape, or an error.
func FuzzReadNpy(f *testing.F) {
	f.Add(npyFile(npy.Header{Descr: "<f4", Fortran: true, Shape: []int{2, 1}}, floats(1, 2)...))
	f.Add(npyFile(npy.Header{Descr: ">c16", Shape: []int{1}}, make([]byte, 16)...))
	f.Add(npyFile(npy.Header{Descr: "|b1", Shape: []int{3}}, 0, 1, 7))
	f.Add([]byte(fmt.Sprintf("\x93NUMPY\x01\x00%c\x00{'descr': '<f8', 'fortran_order': True, 'shape': (0, 7)}", 56)))
	f.Fuzz(func(t *testing.T, data []byte) {
		builtinstest.OnRank(t, func(e *builtins.Env, _ *starlark.Thread) {
			x, err := load(t, e, data)
			if err != nil {
				return
			}
			if list, err := builtins.Nested(e, "test", x); err != nil {
				t.Errorf("got %v, %v", list, err)
			}
		})
	})
}

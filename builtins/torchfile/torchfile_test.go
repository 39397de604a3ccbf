package torchfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"tpsh/builtins/pickle"
)

// write returns the file of a tensor of the bytes 0, 1, 2 and so on.
func write(t *testing.T, d DType, shape []int) ([]byte, []byte) {
	t.Helper()
	var buf bytes.Buffer
	w, err := NewWriter(&buf, d, shape)
	if err != nil {
		t.Fatal(err)
	}
	data := make([]byte, w.left)
	for i := range data {
		data[i] = byte(i)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), data
}

// A file that is written is read as the same tensor, in every dtype.
func TestWriter(t *testing.T) {
	for i := range dtypes {
		for _, shape := range [][]int{{}, {0}, {3}, {2, 1, 5}, {4, 0, 2}} {
			d := DType(dtypes[i].name)
			file, data := write(t, d, shape)
			f, err := Open(bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Errorf("%s%v: %v", d, shape, err)
				continue
			}
			x, ok := f.Value.(*Tensor)
			if !ok || x.DType != d || !slices.Equal(x.Shape, shape) || !x.Contiguous() || x.Start != 0 {
				t.Errorf("%s%v: got %+v", d, shape, f.Value)
				continue
			}
			at := int(x.Storage.Offset)
			if at%align != 0 || !bytes.Equal(file[at:at+len(data)], data) {
				t.Errorf("%s%v: other bytes at %d", d, shape, at)
			}
			if err := f.Verify(make([]byte, 7)); err != nil {
				t.Errorf("%s%v: %v", d, shape, err)
			}
		}
	}
	w, err := NewWriter(new(bytes.Buffer), "float32", []int{2})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err == nil {
		t.Error("got no error of a tensor without its elements")
	}
}

func TestValueFile(t *testing.T) {
	data, err := ValueFile(pickle.Tuple{int64(1), "x", nil})
	if err != nil {
		t.Fatal(err)
	}
	v, err := ReadValue(data)
	if got, ok := v.(pickle.Tuple); err != nil || !ok || len(got) != 3 || got[1] != "x" {
		t.Errorf("got %v, %v", v, err)
	}
	file, _ := write(t, "int8", []int{1})
	if _, err := ReadValue(file); err == nil {
		t.Error("got no error of a tensor")
	}
}

// legacy returns a file of the form before zip archives.
func legacy(t *testing.T, value any, tail string) []byte {
	t.Helper()
	var file []byte
	info := new(pickle.Dict)
	info.Set("little_endian", true)
	for _, v := range []any{magic, 1001, info, value, &pickle.List{Items: []any{"7"}}} {
		var err error
		if file, err = pickle.Append(file, v); err != nil {
			t.Fatal(err)
		}
	}
	return append(file, tail...)
}

// tensor returns a call that makes a float32 tensor of a storage of n elements.
func tensor(n int, start int, shape, strides pickle.Tuple) any {
	id := pickle.PersistentID{ID: pickle.Tuple{"storage", pickle.Class("torch.FloatStorage"), "7", "cpu", n, nil}}
	return &pickle.Object{Class: "torch._utils._rebuild_tensor_v2", Args: pickle.Tuple{id, start, shape, strides, false, new(pickle.Dict)}}
}

// signed returns a call that makes a view, of four elements, that a word says.
func signed(class pickle.Class, word string) any {
	id := pickle.PersistentID{ID: pickle.Tuple{"storage", class, "7", "cpu", 4, nil}}
	words := new(pickle.Dict)
	words.Set(word, true)
	return &pickle.Object{Class: "torch._utils._rebuild_tensor_v2", Args: pickle.Tuple{id, 0, pickle.Tuple{4}, pickle.Tuple{1}, false, new(pickle.Dict), words}}
}

// A file of some hundred bytes may hold a tuple of millions, most of them one: what is said of it is short.
func TestOpenNested(t *testing.T) {
	nested := "N" + strings.Repeat("2\x86", 22)
	storage := "(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x01tQ"
	for _, c := range []struct{ text, want string }{
		{"ctorch\ndevice\n" + nested + "\x85R.", "got a tuple for a kind of devices"},
		{"ctorch\ndevice\nX\x04\x00\x00\x00cuda" + nested + "\x86R.", "got a tuple for the number of a device"},
		{"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + "K\x00" + nested + "\x85K\x01\x85\x89NtR.", "an offset, a shape and strides that cannot be"},
	} {
		file := zipOf(t, "\x80\x02"+c.text, "m/data.pkl")
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		_, err := Open(strings.NewReader(file), int64(len(file)))
		goruntime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %.200v, want %s", err, c.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
			t.Errorf("%s: that took %d bytes", c.want, n)
		}
	}
}

// A device is called as PyTorch calls it.
func TestDevice(t *testing.T) {
	for _, c := range []struct {
		args pickle.Tuple
		want Text
	}{{pickle.Tuple{"cpu"}, "cpu"}, {pickle.Tuple{"cuda", int64(1)}, "cuda:1"}} {
		if got, err := device(c.args); err != nil || got != c.want {
			t.Errorf("%v: got %v and %v, want %s", c.args, got, err, c.want)
		}
	}
}

// A counting counts the bytes that are read.
type counting struct {
	io.ReaderAt
	n int64
}

func (c *counting) ReadAt(b []byte, at int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(b, at)
	c.n += int64(n)
	return n, err
}

// An older file that is refused is not read again, to more and more of its length.
func TestOpenRefusesAtOnce(t *testing.T) {
	file := legacy(t, &pickle.Object{Class: "os.system", Args: pickle.Tuple{"touch x"}}, strings.Repeat("x", 9<<20))
	r := &counting{ReaderAt: bytes.NewReader(file)}
	if _, err := Open(r, int64(len(file))); err == nil || r.n > 2<<20 {
		t.Errorf("got %v after %d bytes, want an error after the first of them", err, r.n)
	}
}

// A tensor that does not lie in its storage, a storage that does not lie in the file and
// names that are not known are errors.
func TestOpenErrors(t *testing.T) {
	elements := string(binary.LittleEndian.AppendUint64(nil, 4)) + strings.Repeat("x", 16)
	good := tensor(4, 0, pickle.Tuple{2, 2}, pickle.Tuple{2, 1})
	for _, test := range []struct {
		value any
		tail  string
		want  string
	}{
		{good, elements, ""},
		{tensor(4, 0, pickle.Tuple{2, 2}, pickle.Tuple{1, 2}), elements, ""},
		{tensor(4, 2, pickle.Tuple{2}, pickle.Tuple{1}), elements, ""},
		{good, elements[:20], "does not lie in the file"},
		{good, elements[:3], "the file ends before storage"},
		{good, "\xff\xff\xff\xff\xff\xff\xff\xff" + elements[8:], "does not lie in the file"},
		{tensor(4, 1, pickle.Tuple{2, 2}, pickle.Tuple{2, 1}), elements, "in a storage of 16 bytes"},
		{tensor(4, -1, pickle.Tuple{1}, pickle.Tuple{1}), elements, "in a storage of 16 bytes"},
		{tensor(4, 0, pickle.Tuple{2, 2}, pickle.Tuple{1 << 40, 1}), elements, "in a storage of 16 bytes"},
		{tensor(4, 0, pickle.Tuple{1 << 40}, pickle.Tuple{0}), elements, "that looks at 1"},
		{tensor(4, 0, pickle.Tuple{1 << 40, 1 << 40}, pickle.Tuple{1, 1}), elements, "too many elements"},
		{tensor(4, 0, pickle.Tuple{-1}, pickle.Tuple{1}), elements, "cannot be"},
		{tensor(1<<62, 0, pickle.Tuple{1}, pickle.Tuple{1}), elements, "cannot be"},
		{signed("torch.FloatStorage", "neg"), elements, ""},
		{signed("torch.FloatStorage", "conj"), elements, "got a view of float32 with other signs"},
		{signed("torch.IntStorage", "neg"), elements, "got a view of int32 with other signs, want one of floats or complex numbers"},
		{&pickle.Object{Class: "os.system", Args: pickle.Tuple{"touch x"}}, elements, `it wants "os.system"`},
		{&pickle.Object{Class: "torch._utils._rebuild_tensor_v2", Args: pickle.Tuple{1}}, elements, "got 1 arguments"},
	} {
		file := legacy(t, test.value, test.tail)
		_, err := Open(bytes.NewReader(file), int64(len(file)))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || !errors.As(err, new(*FormatError))) {
			t.Errorf("%v: got %v, want %q", test.value, err, test.want)
		}
	}
}

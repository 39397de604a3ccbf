package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// file returns a file of a header and data.
func file(header, data string) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func open(data []byte) (*File, error) { return Open(bytes.NewReader(data), int64(len(data))) }

// write returns a file of the tensors, whose data are under their names.
func write(tensors []*Tensor, metadata map[string]string, data map[string]string) ([]byte, error) {
	b, err := AppendHeader(nil, tensors, metadata)
	for _, t := range tensors {
		b = append(b, data[t.Name]...)
	}
	return b, err
}

// contents returns the data of every tensor of f.
func contents(t testing.TB, f *File) map[string]string {
	t.Helper()
	data := map[string]string{}
	for _, name := range f.Names() {
		x := f.Tensor(name)
		b := make([]byte, x.End-x.Begin)
		if err := f.Read(b, x); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		data[name] = string(b)
	}
	return data
}

func TestOpen(t *testing.T) {
	f, err := open(file(` {"x" :{"shape":[2, 0,3],"dtype":"F32","data_offsets":[0,0]},`[1:]+
		`"\u00e9\n":{"data_offsets":[2,3],"dtype":"U8","shape":[]},"__metadata__":{"a":"\"b"},"h":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}} `, "abc"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.Names(), []string{"h", "x", "é\n"}; !slices.Equal(got, want) {
		t.Errorf("got the names %q, want %q", got, want)
	}
	if got, want := contents(t, f), map[string]string{"h": "ab", "x": "", "é\n": "c"}; !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := f.Metadata(), map[string]string{"a": `"b`}; !maps.Equal(got, want) {
		t.Errorf("got the metadata %q, want %q", got, want)
	}
	if x := f.Tensor("x"); x.DType != F32 || !slices.Equal(x.Shape, []int{2, 0, 3}) {
		t.Errorf("got %+v", x)
	}
	if x := f.Tensor("y"); x != nil {
		t.Errorf("got %+v, want nil", x)
	}
}

func TestOpenErrors(t *testing.T) {
	const u8 = `{"dtype":"U8","shape":[2],"data_offsets":[0,2]}`
	tests := []struct {
		file []byte
		want string
	}{
		{nil, "a file of 0 bytes, want at least 8"},
		{[]byte("\x93NUMPY\x01\x00v\x00{'descr'"), "its first 8 bytes say that the header has 379676406402707, and after them come 10"},
		{[]byte("GGUF\x03\x00\x00\x00"), "it is a GGUF file of llama.cpp, which is not read"},
		{file("{}", "")[:9], "its first 8 bytes say that the header has 2, and after them come 1"},
		{file("", ""), `byte 0 of the header: got "", want {`},
		{file(" {}", ""), `byte 0 of the header: got " {}", want {`},
		{file("[]", ""), `byte 0 of the header: got "[]", want {`},
		{file("{\"\xff\"}", ""), "a header that is not UTF-8"},
		{file("{}{}", ""), `byte 2 of the header: "{}" after the object`},
		{file("{", ""), `byte 1 of the header: got "", want a string`},
		{file(`{"a`, ""), "byte 3 of the header: the header ends inside a string"},
		{file(`{"a\`, ""), "byte 4 of the header: the header ends inside a string"},
		{file(`{"\q":1}`, ""), "a string with an escape that JSON does not know"},
		{file("{\"a\n\":1}", ""), "a string with the byte 0x0a"},
		{file(`{"a" 1}`, ""), `byte 5 of the header: got "1}", want :`},
		{file(`{"a":1}`, ""), `byte 5 of the header: got "1}", want {`},
		{file(`{"a":`+u8+` 1}`, "ab"), `got "1}", want , or }`},
		{file(`{"a":`+u8+`,}`, "ab"), `got "}", want a string`},
		{file(`{"a":`+u8+`,"a":`+u8+`}`, "ab"), `key "a" twice`},
		{file(`{"a":{}}`, ""), `tensor "a" without all of the keys dtype, shape and data_offsets`},
		{file(`{"a":{"dtype":"U8","dtype":"U8"}}`, ""), `key "dtype" of tensor "a" twice`},
		{file(`{"a":{"type":"U8"}}`, ""), `unknown key "type" of tensor "a"`},
		{file(`{"a":{"dtype":"F128","shape":[1],"data_offsets":[0,16]}}`, ""), `tensor "a" has elements of unknown type "F128"`},
		{file(`{"a":{"shape":1}}`, ""), `got "1}}", want [`},
		{file(`{"a":{"shape":[1 2]}}`, ""), `got "2]}}", want , or ]`},
		{file(`{"a":{"shape":[-1]}}`, ""), `got "-1]}}", want a number`},
		{file(`{"a":{"shape":[01]}}`, ""), `got "01]}}", want a number`},
		{file(`{"a":{"shape":[9223372036854775808]}}`, ""), `got "9223372036854775808]", want a number`},
		{file(`{"a":{"data_offsets":[0]}}`, ""), `got "]}}", want ,`},
		{file(`{"a":{"data_offsets":[0,1,2]}}`, ""), `got ",2]}}", want ]`},
		{file(`{"__metadata__":{"a":1}}`, ""), `got "1}}", want a string`},
		{file(`{"__metadata__":{"a":"","a":""}}`, ""), `key "a" of __metadata__ twice`},
		{file(`{"a":`+u8+`}`, "a"), "the tensors have 2 bytes of data, and after the header come 1"},
		{file(`{"a":`+u8+`}`, "abc"), "the tensors have 2 bytes of data, and after the header come 3"},
		{file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[2,0]}}`, "ab"), `tensor "a": data_offsets [2,0], want 2 bytes for U8 of shape [2]`},
		{file(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, "abcd"), `tensor "a": data_offsets [0,4], want 8 bytes for F32 of shape [2]`},
		{file(`{"a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, "abc"), `tensor "a": data from byte 1, want them from byte 0`},
		{file(`{"a":`+u8+`,"b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}`, "abc"), `tensor "b": data from byte 1, where those of "a" are, which end at byte 2`},
		{file(`{"a":`+u8+`,"b":{"dtype":"U8","shape":[2],"data_offsets":[3,5]}}`, "abcde"), `tensor "b": data from byte 3, want them from byte 2`},
		{file(`{"a":{"dtype":"F64","shape":[4611686018427387904,2],"data_offsets":[0,0]}}`, ""), `tensor "a": a shape of too many elements: [4611686018427387904,2]`},
	}
	for _, test := range tests {
		f, err := open(test.file)
		var bad *FormatError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, %v, want a FormatError with %q", test.file, f, err, test.want)
		}
	}
}

// A file whose header is longer than it may be is refused before it is read.
func TestLongHeader(t *testing.T) {
	var start [8]byte
	binary.LittleEndian.PutUint64(start[:], maxHeader+1)
	_, err := Open(bytes.NewReader(start[:]), 1<<40)
	if want := "a header of 100000001 bytes, want at most 100000000"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A header with a flipped bit is refused, or is another valid header.
func TestBitFlips(t *testing.T) {
	whole, err := write([]*Tensor{{Name: "w", DType: F32, Shape: []int{2, 1}}, {Name: "b", DType: Bool, Shape: []int{3}}},
		map[string]string{"k": "v"}, map[string]string{"w": "12345678", "b": "\x00\x01\x01"})
	if err != nil {
		t.Fatal(err)
	}
	header := 8 + binary.LittleEndian.Uint64(whole)
	valid := 0
	for i := range header * 8 {
		b := slices.Clone(whole)
		b[i/8] ^= 1 << (i % 8)
		f, err := open(b)
		if err != nil {
			continue
		}
		valid++
		if data := contents(t, f); len(data) != 2 {
			t.Errorf("bit %d: got %q", i, data)
		}
	}
	// Letters of names and of the metadata can change, F32 to I32, and the
	// padding to other space.
	if valid > 50 {
		t.Errorf("%d flips of %d give a valid file, want few", valid, header*8)
	}
	for n := range len(whole) {
		if f, err := open(whole[:n]); err == nil {
			t.Errorf("the first %d bytes of %d: got %v, want an error", n, len(whole), f)
		}
	}
}

func TestAppendHeader(t *testing.T) {
	tensors := []*Tensor{
		{Name: "b", DType: F16, Shape: []int{}}, {Name: "bool", DType: Bool, Shape: []int{1, 2}}, {Name: "a", DType: F16, Shape: []int{0}},
		{Name: "\"\\\b\f\n\r\t\x01\x7f\u2028é<>&/", DType: I64, Shape: []int{1}}, {Name: "f", DType: F64, Shape: nil},
	}
	b, err := AppendHeader([]byte("before"), tensors, map[string]string{"z": "1", "y": ""})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"__metadata__":{"y":"","z":"1"},"\"\\\b\f\n\r\t\u0001` + "\x7f\u2028é" + `<>&/":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},` +
		`"f":{"dtype":"F64","shape":[],"data_offsets":[8,16]},"a":{"dtype":"F16","shape":[0],"data_offsets":[16,16]},` +
		`"b":{"dtype":"F16","shape":[],"data_offsets":[16,18]},"bool":{"dtype":"BOOL","shape":[1,2],"data_offsets":[18,20]}}`
	for len(want)%8 != 0 {
		want += " "
	}
	if got := string(b); got != "before"+string(file(want, "")) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if b, err := AppendHeader(nil, nil, nil); err != nil || string(b) != string(file("{}      ", "")) {
		t.Errorf("of nothing: got %q, %v", b, err)
	}
}

func TestAppendHeaderErrors(t *testing.T) {
	tests := []struct {
		name     string
		tensors  []*Tensor
		metadata map[string]string
		want     string
	}{
		{"twice", []*Tensor{{Name: "a", DType: U8}, {Name: "a", DType: U8}}, nil, `tensor "a": a name that is there twice`},
		{"reserved", []*Tensor{{Name: "__metadata__", DType: U8}}, nil, "the format keeps this name for the metadata"},
		{"bytes", []*Tensor{{Name: "\xff", DType: U8}}, nil, "a name that is not UTF-8"},
		{"type", []*Tensor{{Name: "a", DType: "F4"}}, nil, `tensor "a": elements of unknown type "F4"`},
		{"size", []*Tensor{{Name: "a", DType: F32, Shape: []int{1 << 62}}}, nil, "too many elements"},
		{"sizes", []*Tensor{{Name: "a", DType: U8, Shape: []int{1 << 62}}, {Name: "b", DType: U8, Shape: []int{1 << 62}}}, nil, "too many bytes of data"},
		{"metadata", nil, map[string]string{"k": "\xff"}, `metadata "k": text that is not UTF-8`},
		{"length", nil, map[string]string{"k": strings.Repeat("x", maxHeader)}, "want at most 100000000"},
	}
	for _, test := range tests {
		_, err := AppendHeader(nil, test.tensors, test.metadata)
		var bad *FormatError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want a FormatError with %q", test.name, err, test.want)
		}
	}
}

// A slice has the elements that indices count off.
func TestReadSlice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shape := rapid.SliceOfN(rapid.IntRange(0, 4), 1, 4).Draw(t, "shape")
		dim := rapid.IntRange(0, len(shape)-1).Draw(t, "dim")
		start := rapid.IntRange(0, shape[dim]).Draw(t, "start")
		stop := rapid.IntRange(start, shape[dim]).Draw(t, "stop")
		var data, want string // elements of two bytes
		inner := product(shape[dim+1:])
		for i := range product(shape) {
			elem := fmt.Sprintf("%c%c", 'a'+i/16, 'a'+i%16)
			data += elem
			if at := i / max(inner, 1) % max(shape[dim], 1); start <= at && at < stop {
				want += elem
			}
		}
		b, err := write([]*Tensor{{Name: "x", DType: F16, Shape: shape}, {Name: "y", DType: F32, Shape: []int{1}}}, nil, map[string]string{"x": data, "y": "----"})
		if err != nil {
			t.Fatal(err)
		}
		f, err := open(b)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if err := f.ReadSlice(got, f.Tensor("x"), dim, start, stop); err != nil || string(got) != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	})
}

// FuzzOpen: whatever can be read is written back so that it reads the same,
// and no file makes the reader take much more memory than its own size.
func FuzzOpen(f *testing.F) {
	f.Add(file(`{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]},"b":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}}`, "123456789"))
	f.Add(file(`{"__metadata__":{"a":"\ud83d\ude00\u0000"},"c":{"shape":[0,9223372036854775807],"dtype":"U64","data_offsets":[0,0]}} `, ""))
	f.Add(file(`{"__metadata__":{},"c":{"shape":[9223372036854775807],"dtype":"U8","data_offsets":[0,9223372036854775807]}}`, ""))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\x7f{}"))
	f.Add(file(`{}`, ""))
	f.Fuzz(func(t *testing.T, data []byte) {
		var before, after goruntime.MemStats
		goruntime.ReadMemStats(&before)
		x, err := open(data)
		goruntime.ReadMemStats(&after)
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+32*len(data)); got > most {
			t.Errorf("reading %d bytes took %d, want at most %d", len(data), got, most)
		}
		if err != nil {
			var bad *FormatError
			if !errors.As(err, &bad) {
				t.Errorf("got %v, want a FormatError", err)
			}
			return
		}
		sameAgain(t, x)
	})
}

// sameAgain checks that x is written so that it reads the same.
func sameAgain(t *testing.T, x *File) {
	var tensors []*Tensor
	for _, name := range x.Names() {
		c := *x.Tensor(name)
		tensors = append(tensors, &c)
	}
	data := contents(t, x)
	b, err := write(tensors, x.Metadata(), data)
	if err != nil {
		t.Fatal(err)
	}
	y, err := open(b)
	if err != nil {
		t.Fatalf("%q: %v", b, err)
	}
	if !maps.Equal(contents(t, y), data) || !maps.Equal(y.Metadata(), x.Metadata()) || (y.Metadata() == nil) != (x.Metadata() == nil) {
		t.Errorf("got %q, %q, want %q, %q", contents(t, y), y.Metadata(), data, x.Metadata())
	}
	for _, name := range x.Names() {
		if p, q := x.Tensor(name), y.Tensor(name); p.DType != q.DType || !slices.Equal(p.Shape, q.Shape) {
			t.Errorf("got %+v, want %+v", q, p)
		}
	}
}

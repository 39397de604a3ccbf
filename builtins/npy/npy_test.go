package npy

import (
	"bytes"
	"io"
	"reflect"
	"strings"
	"testing"
)

// file returns a file of version 1.0 whose header has the given text.
func file(text string) string {
	return magic + "\x01\x00" + string([]byte{byte(len(text)), byte(len(text) >> 8)}) + text
}

func TestAppendIsWhatNumPyWrites(t *testing.T) {
	// numpy.save of numpy.zeros((3, 4), "<f4"), NumPy 2.1.
	want := magic + "\x01\x00v\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }" + strings.Repeat(" ", 58) + "\n"
	h := &Header{Descr: "<f4", Shape: []int{3, 4}}
	if got := string(h.Append(nil)); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestAppendAligns(t *testing.T) {
	for dims := range maxDims {
		h := &Header{Descr: "|u1", Shape: make([]int, dims)}
		if n := len(h.Append(nil)); n%align != 0 {
			t.Errorf("%d dims: got a header of %d bytes, want a multiple of %d", dims, n, align)
		}
	}
}

func TestReadHeader(t *testing.T) {
	tests := []struct {
		name, file string
		want       Header
	}{
		{"1.0", file("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }  \n"), Header{"<f8", false, []int{2, 3}}},
		{"2.0", magic + "\x02\x00\x36\x00\x00\x00{'descr': '<i4', 'fortran_order': True, 'shape': (7,)}", Header{"<i4", true, []int{7}}},
		{"3.0", magic + "\x03\x00\x36\x00\x00\x00{'descr': '<i4', 'fortran_order': True, 'shape': (7,)}", Header{"<i4", true, []int{7}}},
		{"other order and quotes", file(`{"shape":(),"fortran_order":False,"descr":"|b1"}`), Header{"|b1", false, []int{}}},
		{"empty", file("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5), }"), Header{"<f4", false, []int{0, 5}}},
	}
	for _, test := range tests {
		r := strings.NewReader(test.file + "DATA")
		h, err := ReadHeader(r)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		if !reflect.DeepEqual(*h, test.want) {
			t.Errorf("%s: got %+v, want %+v", test.name, *h, test.want)
		}
		if rest, _ := io.ReadAll(r); string(rest) != "DATA" {
			t.Errorf("%s: after the header comes %q, want %q", test.name, rest, "DATA")
		}
	}
}

func TestReadHeaderErrors(t *testing.T) {
	tests := []struct{ file, want string }{
		{"", "the file ends inside its header"},
		{"PK\x03\x04....", `does not begin with \x93NUMPY`},
		{magic + "\x04\x00\x00\x00", "version 4.0, want 1.0, 2.0 or 3.0"},
		{magic + "\x01\x01\x00\x00", "version 1.1"},
		{magic + "\x01\x00\x05", "the file ends inside its header"},
		{magic + "\x01\x00\x05\x00{}", "the file ends inside its header"},
		{magic + "\x02\x00\xff\xff\xff\xff", "a header of 4294967295 bytes, want at most 65536"},
		{magic + "\x03\x00\x01\x00\x00\x00\xff", "not UTF-8"},
		{file("{}"), "without all of the keys"},
		{file("{'descr': '<f4', 'descr': '<f4', }"), `key "descr" twice`},
		{file("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }"), "an array of records"},
		{file("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,), }"), "where True or False should be"},
		{file("{'descr': '<f4', 'fortran_order': False, 'shape': (2), }"), "where a tuple should be"},
		{file("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }"), "where a size should be"},
		{file("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }"), "where a size should be"},
		{file("{'descr': '<f4', 'fortran_order': False, 'shape': (" + strings.Repeat("1,", 65) + "), }"), "more than 64 dims"},
		{file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'x': 1}"), `unknown key "x"`},
		{file("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} 7"), "after the dictionary"},
		{file("{'descr': 'a\\'b'}"), "where a string should be"},
	}
	for _, test := range tests {
		h, err := ReadHeader(strings.NewReader(test.file))
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("ReadHeader(%q) = %v, %v, want an error with %q", test.file, h, err, test.want)
		}
	}
}

// FuzzReadHeader: what can be read is written back so that it reads the same.
func FuzzReadHeader(f *testing.F) {
	f.Add([]byte(file("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }  \n")))
	f.Add([]byte(file(`{"shape":(),"fortran_order":True,"descr":"|b1"}`)))
	f.Add([]byte(magic + "\x02\x00\x36\x00\x00\x00{'descr': '<i4', 'fortran_order': True, 'shape': (7,)}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadHeader(bytes.NewReader(data))
		if err != nil {
			return
		}
		if strings.Contains(h.Descr, "'") || len(h.Descr) > 1000 {
			return // no name that Append is given
		}
		again, err := ReadHeader(bytes.NewReader(h.Append(nil)))
		if err != nil || !reflect.DeepEqual(again, h) {
			t.Errorf("%+v is read back as %+v, %v", h, again, err)
		}
	})
}

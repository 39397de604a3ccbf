// Package safetensors reads and writes files of tensors in the format of that
// name.
//
// A file is the length of its header, as 8 bytes, little-endian; the header, a
// JSON object that gives every tensor a dtype, a shape and its place among the
// data, and may give strings under "__metadata__"; and the data, row-major and
// little-endian. The data of the tensors touch, and fill the file to its end.
// The format is that of https://github.com/huggingface/safetensors.
//
// Nothing is read but the header until a tensor, or a slice of one, is asked for:
//
//	f, err := safetensors.Open(r, size)
//	w := f.Tensor("linear.weight")         // its DType and Shape; nil if there is none
//	err = f.ReadSlice(dst, w, 0, 128, 256) // rows 128 to 255
package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	goruntime "runtime"
	"slices"
	"strings"
)

// A DType is an element type, by the name that the format gives it.
type DType string

// The element types of whole bytes.
const (
	Bool       DType = "BOOL"
	U8         DType = "U8"
	I8         DType = "I8"
	F8E5M2     DType = "F8_E5M2"
	F8E4M3     DType = "F8_E4M3"
	F8E8M0     DType = "F8_E8M0"
	F8E4M3FNUZ DType = "F8_E4M3FNUZ"
	F8E5M2FNUZ DType = "F8_E5M2FNUZ"
	I16        DType = "I16"
	U16        DType = "U16"
	F16        DType = "F16"
	BF16       DType = "BF16"
	I32        DType = "I32"
	U32        DType = "U32"
	F32        DType = "F32"
	C64        DType = "C64"
	F64        DType = "F64"
	I64        DType = "I64"
	U64        DType = "U64"
)

// lengthOf is the number of bytes of the length of a header.
const lengthOf = 8

// kinds lists the element types with their sizes in bytes, the one whose
// tensors a writer puts last first.
var kinds = []struct {
	name DType
	size int
}{
	{Bool, 1}, {U8, 1}, {I8, 1}, {F8E5M2, 1}, {F8E4M3, 1}, {F8E8M0, 1},
	{F8E4M3FNUZ, 1}, {F8E5M2FNUZ, 1}, {I16, 2}, {U16, 2}, {F16, 2}, {BF16, 2},
	{I32, 4}, {U32, 4}, {F32, 4}, {C64, 8}, {F64, 8}, {I64, 8}, {U64, 8},
}

// kind returns the index of d in kinds, or -1 if the format does not know d.
func (d DType) kind() int {
	for i := range kinds {
		if kinds[i].name == d {
			return i
		}
	}
	return -1
}

// Size returns the size of an element in bytes, or 0 if the format does not
// know d.
func (d DType) Size() int {
	if i := d.kind(); i >= 0 {
		return kinds[i].size
	}
	return 0
}

// A Tensor says what a tensor of a file is and where its data lie.
type Tensor struct {
	Name  string
	DType DType
	// Shape lists the sizes of the dims, none negative; it is empty for a
	// single number.
	Shape []int
	// Begin and End bound the data, in bytes from the first byte after the
	// header.
	Begin, End int64
}

// size returns the number of bytes that the data need. It fails if they cannot
// be counted.
func (t *Tensor) size() (int64, error) {
	if slices.Contains(t.Shape, 0) {
		return 0, nil
	}
	n := int64(t.DType.Size())
	for _, d := range t.Shape {
		if n > math.MaxInt64/int64(d) {
			return 0, &FormatError{t.Name, fmt.Sprintf("a shape of too many elements: %s", list(t.Shape))}
		}
		n *= int64(d)
	}
	return n, nil
}

// list writes xs as JSON does: [2,3].
func list(xs []int) string { return strings.ReplaceAll(fmt.Sprint(xs), " ", ",") }

// A FormatError says how a file breaks the rules of the format.
type FormatError struct {
	Tensor  string // the one it is about; "" if about none
	Problem string
}

func (e *FormatError) Error() string {
	if e.Tensor == "" {
		return e.Problem
	}
	return fmt.Sprintf("tensor %.60q: %s", e.Tensor, e.Problem)
}

// A File is a file whose header has been read. It may be used by several
// goroutines at a time.
type File struct {
	r        io.ReaderAt
	data     int64 // where the data begin
	tensors  map[string]*Tensor
	names    []string // ascending
	metadata map[string]string

	source  source // what r is, if OpenFile opened it
	cleanup goruntime.Cleanup
}

// maxHeader bounds the length of a header, as the reference implementation
// does.
const maxHeader = 100_000_000

// Open reads the header of the file r, which has size bytes. The error is a
// *FormatError, or what r returns. It allocates no more than a small multiple
// of the header's length, which is at most size.
func Open(r io.ReaderAt, size int64) (*File, error) {
	text, err := readHeader(r, size)
	if err != nil {
		return nil, err
	}
	f := &File{r: r, data: lengthOf + int64(len(text))}
	list, metadata, err := parseHeader(text)
	if err != nil {
		return nil, err
	}
	if err := checkPlaces(list, size-f.data); err != nil {
		return nil, err
	}
	f.metadata, f.tensors = metadata, make(map[string]*Tensor, len(list))
	for _, t := range list {
		f.tensors[t.Name] = t
	}
	f.names = slices.Sorted(maps.Keys(f.tensors))
	return f, nil
}

// readHeader returns the text of the header of the file r, which has size
// bytes.
func readHeader(r io.ReaderAt, size int64) ([]byte, error) {
	if size < lengthOf {
		return nil, &FormatError{Problem: fmt.Sprintf("a file of %d bytes, want at least %d", size, lengthOf)}
	}
	var length [lengthOf]byte
	if err := readFull(r, length[:], 0); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint64(length[:])
	if string(length[:4]) == "GGUF" {
		return nil, &FormatError{Problem: "it is a GGUF file of llama.cpp, which is not read"}
	}
	if n > uint64(size-lengthOf) {
		return nil, &FormatError{Problem: fmt.Sprintf("its first %d bytes say that the header has %d, and after them come %d", lengthOf, n, size-lengthOf)}
	}
	if n > maxHeader {
		return nil, &FormatError{Problem: fmt.Sprintf("a header of %d bytes, want at most %d", n, maxHeader)}
	}
	text := make([]byte, n)
	return text, readFull(r, text, lengthOf)
}

// readFull fills dst with the bytes of r from off on.
func readFull(r io.ReaderAt, dst []byte, off int64) error {
	n, err := r.ReadAt(dst, off)
	if n == len(dst) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return &FormatError{Problem: "the file has become shorter since it was opened"}
	}
	return err
}

// checkPlaces checks that the data of the tensors, which it sorts by place,
// have the sizes that they need and fill all of size bytes.
func checkPlaces(tensors []*Tensor, size int64) error {
	slices.SortFunc(tensors, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.End, b.End), strings.Compare(a.Name, b.Name))
	})
	at, last := int64(0), ""
	for _, t := range tensors {
		need, err := t.size()
		switch {
		case err != nil:
			return err
		case t.Begin > t.End || t.End-t.Begin != need:
			return &FormatError{t.Name, fmt.Sprintf("data_offsets [%d,%d], want %d bytes for %s of shape %s", t.Begin, t.End, need, t.DType, list(t.Shape))}
		case t.Begin < at:
			return &FormatError{t.Name, fmt.Sprintf("data from byte %d, where those of %.60q are, which end at byte %d", t.Begin, last, at)}
		case t.Begin > at:
			return &FormatError{t.Name, fmt.Sprintf("data from byte %d, want them from byte %d, where the ones before end", t.Begin, at)}
		}
		at, last = t.End, t.Name
	}
	if at != size {
		return &FormatError{Problem: fmt.Sprintf("the tensors have %d bytes of data, and after the header come %d", at, size)}
	}
	return nil
}

// Names returns the names of the tensors, ascending. The caller must not
// modify it.
func (f *File) Names() []string { return f.names }

// Tensor returns the tensor called name, or nil if there is none. The caller
// must not modify it.
func (f *File) Tensor(name string) *Tensor { return f.tensors[name] }

// Metadata returns the strings under "__metadata__", or nil if there are none.
// The caller must not modify it.
func (f *File) Metadata() map[string]string { return f.metadata }

// Offset returns where in the file the data of t, one of its tensors, begin.
func (f *File) Offset(t *Tensor) int64 { return f.data + t.Begin }

// Read fills dst with the data of t, a tensor of f. It panics if dst has
// another length than they.
func (f *File) Read(dst []byte, t *Tensor) error {
	defer goruntime.KeepAlive(f)
	if int64(len(dst)) != t.End-t.Begin {
		panic(fmt.Sprintf("safetensors: %d bytes for %d", len(dst), t.End-t.Begin))
	}
	return readFull(f.r, dst, f.data+t.Begin)
}

// ReadSlice fills dst with the data of the indices start to stop, which it
// excludes, of a dim of t, a tensor of f. It reads no others.
//
// It panics unless 0 <= start <= stop <= t.Shape[dim], and dst has as many
// bytes as these elements.
func (f *File) ReadSlice(dst []byte, t *Tensor, dim, start, stop int) error {
	defer goruntime.KeepAlive(f)
	if start < 0 || start > stop || stop > t.Shape[dim] {
		panic(fmt.Sprintf("safetensors: indices %d to %d of dim %d of %s", start, stop, dim, list(t.Shape)))
	}
	outer, inner := product(t.Shape[:dim]), product(t.Shape[dim+1:])*t.DType.Size()
	size := t.Shape[dim]
	if start == 0 && stop == size {
		return f.Read(dst, t)
	}
	chunk := (stop - start) * inner // bytes that lie together
	if len(dst) != outer*chunk {
		panic(fmt.Sprintf("safetensors: %d bytes for %d", len(dst), outer*chunk))
	}
	for i := 0; len(dst) > 0; i++ {
		off := f.data + t.Begin + int64(i*size+start)*int64(inner)
		if err := readFull(f.r, dst[:chunk], off); err != nil {
			return err
		}
		dst = dst[chunk:]
	}
	return nil
}

func product(xs []int) int {
	n := 1
	for _, x := range xs {
		n *= x
	}
	return n
}

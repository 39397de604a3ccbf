package ckpt

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"tpsh/internal/crc32c"
	"tpsh/internal/lazyregexp"
	"tpsh/mesh"
	"tpsh/runtime/dtype"
)

// IndexName is the name of the file that makes a folder a checkpoint.
const IndexName = "index.json"

// The version of the format is 2; of version 1, which has other Sums, indexes are read
// too.
const (
	format  = "tpsh checkpoint"
	version = 2
)

// An Index says what a checkpoint holds.
type Index struct {
	State   json.RawMessage `json:"state"`
	Tensors []*Tensor       `json:"tensors"` // by name, ascending
	Files   []*File         `json:"files"`

	old bool // it is of version 1
}

// OldSums reports whether the Sums of the index are of version 1 of the format, and so
// others than are made now.
func (x *Index) OldSums() bool { return x.old }

// version returns the version of the format.
func (x *Index) version() int {
	if x.old {
		return 1
	}
	return version
}

// A Tensor is one that a checkpoint holds.
type Tensor struct {
	Name   string  `json:"name"`
	DType  string  `json:"dtype"` // as a script writes it
	Shape  []int   `json:"shape"`
	Sum    Sum     `json:"sum"`
	Pieces []Piece `json:"pieces"` // those that tile it
}

// A Piece is a box of a tensor and where it lies: Offset bytes from the start of
// a file, by its number.
type Piece struct {
	Lo     []int `json:"lo"`
	Hi     []int `json:"hi"`
	File   int   `json:"file"`
	Offset int64 `json:"offset"`
}

// A File is a data file.
type File struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sums []byte `json:"crc32c"` // of each chunk, 4 bytes, little-endian
}

// UnmarshalJSON implements json.Unmarshaler. A piece that lacks something is an
// error at once: a hostile list of such would take much more memory than text.
func (p *Piece) UnmarshalJSON(data []byte) error {
	type plain Piece
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	if p.Lo == nil || p.Hi == nil {
		return errors.New("a piece without its box")
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler, as that of Piece does.
func (t *Tensor) UnmarshalJSON(data []byte) error {
	type plain Tensor
	if err := json.Unmarshal(data, (*plain)(t)); err != nil {
		return err
	}
	if t.ItemSize() == 0 {
		return fmt.Errorf("tensor %.60q of the unknown dtype %.20q", t.Name, t.DType)
	}
	return nil
}

// UnmarshalJSON implements json.Unmarshaler, as that of Piece does.
func (f *File) UnmarshalJSON(data []byte) error {
	type plain File
	if err := json.Unmarshal(data, (*plain)(f)); err != nil {
		return err
	}
	if !IsData(f.Name) {
		return errBadName
	}
	return nil
}

var errBadName = errors.New("a data file without a name of its own")

// Box returns what the piece holds.
func (p *Piece) Box() mesh.Box { return mesh.Box{Lo: p.Lo, Hi: p.Hi} }

// ItemSize returns the size of an element in bytes.
func (t *Tensor) ItemSize() int { return itemSize(t.DType) }

// Numel returns the number of elements.
func (t *Tensor) Numel() int { return Whole(t.Shape).Numel() }

// Bytes returns the number of bytes of all elements.
func (t *Tensor) Bytes() int64 { return int64(t.Numel()) * int64(t.ItemSize()) }

// String returns the dtype and the shape: float32[2, 3].
func (t *Tensor) String() string { return Describe(t.DType, t.Shape) }

// Describe returns a dtype and a shape as errors show them: float32[2, 3].
func Describe(dt string, shape []int) string {
	return dt + strings.ReplaceAll(fmt.Sprint(shape), " ", ", ")
}

// itemSize returns the size of an element of the dtype called name, or 0 if
// there is none.
func itemSize(name string) int {
	dt, err := dtype.Parse(name)
	if err != nil || dt.String() != name {
		return 0
	}
	return dt.Size()
}

// Tensor returns the one called name, or nil.
func (x *Index) Tensor(name string) *Tensor {
	i, ok := slices.BinarySearchFunc(x.Tensors, name, func(t *Tensor, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return x.Tensors[i]
}

// Bytes returns the number of bytes of all tensors.
func (x *Index) Bytes() int64 {
	n := int64(0)
	for _, t := range x.Tensors {
		n += t.Bytes()
	}
	return n
}

// A FormatError says why a folder, or a file in it, is no checkpoint or a damaged
// one.
type FormatError struct {
	File    string // "" if about the folder
	Problem string
}

func (e *FormatError) Error() string {
	if e.File == "" {
		return e.Problem
	}
	return e.File + ": " + e.Problem
}

// badIndex returns a FormatError about the index.
func badIndex(format string, args ...any) error {
	return &FormatError{IndexName, fmt.Sprintf(format, args...)}
}

// Encode returns the index as bytes: a JSON object that holds the format, its
// version, a checksum and what it is of.
func (x *Index) Encode() ([]byte, error) {
	var body bytes.Buffer
	enc := json.NewEncoder(&body)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(x); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(body.Bytes(), []byte("\n"))
	data := fmt.Appendf(nil, "{\"format\":%q,\"version\":%d,\"crc32c\":\"%08x\",\"index\":", format, x.version(), crc32c.Checksum(text))
	return append(append(data, text...), "}\n"...), nil
}

// Decode is the inverse of Encode. The error is a *FormatError: an index that it
// returns is sound in itself, and was written by Encode.
func Decode(data []byte) (*Index, error) {
	var outer struct {
		Format  string          `json:"format"`
		Version int             `json:"version"`
		Sum     string          `json:"crc32c"`
		Index   json.RawMessage `json:"index"`
	}
	if err := json.Unmarshal(data, &outer); err != nil {
		return nil, badIndex("no JSON: %v", err)
	}
	if outer.Format != format {
		return nil, badIndex("a file of another format, want %q", format)
	}
	if outer.Version < 1 || outer.Version > version {
		return nil, badIndex("version %d, want %d", outer.Version, version)
	}
	if sum := fmt.Sprintf("%08x", crc32c.Checksum(outer.Index)); sum != outer.Sum {
		return nil, badIndex("its checksum is %s, want %s: it is damaged", sum, outer.Sum)
	}
	x := &Index{old: outer.Version == 1}
	if err := json.Unmarshal(outer.Index, x); err != nil {
		return nil, badIndex("%v", err)
	}
	if err := x.check(); err != nil {
		return nil, err
	}
	if again, err := x.Encode(); err != nil || !bytes.Equal(again, data) {
		return nil, badIndex("it is not written as a save writes it: it is damaged")
	}
	return x, nil
}

// fileName is the form of the names of data files: generation and writer.
var fileName = lazyregexp.New(`^([0-9]{8})-[0-9]{5}\.safetensors$`)

// IsData reports whether a file of this name may be a data file of a checkpoint.
func IsData(name string) bool { return fileName.Get().MatchString(name) }

// check returns an error unless x makes sense: pieces tile tensors and lie in
// files, where no two overlap.
func (x *Index) check() error {
	if len(x.State) == 0 {
		return badIndex("no state")
	}
	seen := map[string]bool{}
	for _, f := range x.Files {
		if f == nil || seen[f.Name] {
			return badIndex("%v", errBadName)
		}
		seen[f.Name] = true
		if f.Size < 0 || int64(len(f.Sums)) != (f.Size/chunkSize+min(1, f.Size%chunkSize))*4 {
			return badIndex("%d bytes of checksums for %s of %d bytes", len(f.Sums), f.Name, f.Size)
		}
	}
	last := ""
	for i, t := range x.Tensors {
		if t == nil || i > 0 && t.Name <= last {
			return badIndex("tensors that are not in order")
		}
		last = t.Name
		if err := x.checkTensor(t); err != nil {
			return err
		}
	}
	return x.checkOverlap()
}

// checkTensor returns an error unless t has a shape, and pieces that tile it.
func (x *Index) checkTensor(t *Tensor) error {
	size := t.ItemSize()
	n := math.MaxInt / size
	for _, d := range t.Shape {
		if d < 0 || d > 0 && n/d == 0 {
			return badIndex("tensor %.60q of a shape that cannot be", t.Name)
		}
		n /= max(d, 1)
	}
	boxes := make([]mesh.Box, len(t.Pieces))
	for i := range t.Pieces {
		p := &t.Pieces[i]
		if !within(p, t.Shape) {
			return badIndex("tensor %.60q has a piece outside its shape", t.Name)
		}
		boxes[i] = p.Box()
		bytes := int64(boxes[i].Numel()) * int64(size)
		if p.File < 0 || p.File >= len(x.Files) || p.Offset < 0 || p.Offset > x.Files[p.File].Size-bytes {
			return badIndex("tensor %.60q has a piece that is in no file", t.Name)
		}
	}
	if !Tiles(t.Shape, boxes) {
		return badIndex("the pieces of tensor %.60q overlap or leave a gap", t.Name)
	}
	return nil
}

// within reports whether p holds elements of a tensor of a shape, and no others.
func within(p *Piece, shape []int) bool {
	if len(p.Lo) != len(shape) || len(p.Hi) != len(shape) {
		return false
	}
	for d, n := range shape {
		if p.Lo[d] < 0 || p.Lo[d] >= p.Hi[d] || p.Hi[d] > n {
			return false
		}
	}
	return true
}

// checkOverlap returns an error if two pieces have bytes of a file in common. So
// the tensors have no more bytes than the files.
func (x *Index) checkOverlap() error {
	type extent struct {
		file   int
		lo, hi int64
	}
	var all []extent
	for _, t := range x.Tensors {
		for i := range t.Pieces {
			p := &t.Pieces[i]
			all = append(all, extent{p.File, p.Offset, p.Offset + int64(p.Box().Numel()*t.ItemSize())})
		}
	}
	slices.SortFunc(all, func(a, b extent) int { return cmp.Or(a.file-b.file, cmp.Compare(a.lo, b.lo)) })
	for i := 1; i < len(all); i++ {
		if a, b := all[i-1], all[i]; a.file == b.file && a.hi > b.lo {
			return badIndex("two pieces lie at byte %d of %s", b.lo, x.Files[b.file].Name)
		}
	}
	return nil
}

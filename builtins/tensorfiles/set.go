package tensorfiles

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tpsh/builtins/torchfile"
	"tpsh/mesh"
	"tpsh/runtime/ckpt"
)

// The formats that are read.
const (
	Own         = "tpsh"
	DCP         = "dcp"
	Safetensors = "safetensors"
	Torch       = "torch"
)

// A Set is a number of named tensors that have been found in files. It is for one
// goroutine at a time.
type Set struct {
	Format  string
	Tensors []*Tensor // by name, ascending
	Files   []string  // the names of the data files
	// Tree is the value that was saved: *pickle.Dict, *pickle.List and pickle.Tuple
	// of *Tensor and of values as package pickle has them.
	Tree any

	src     source
	oldSums bool // Sums are of the first version of tpsh's own format
}

// A source reads the elements of a Set's tensors.
type source interface {
	// read fills dst with the elements of box in row-major order.
	read(dst []byte, t *Tensor, box mesh.Box) error
	// verify reads what has checksums, in parts as large as buf, and returns all
	// that is wrong.
	verify(s *Set, buf []byte, progress func(done int64)) []error
	close()
}

// A Tensor is one of a Set.
type Tensor struct {
	Name   string
	DType  torchfile.DType
	Shape  []int
	Pieces []Piece
	Sum    *ckpt.Sum // that was saved with it; nil if none was

	own *ckpt.Tensor
}

// A Piece is a box of a tensor and where its elements lie.
type Piece struct {
	Box     mesh.Box
	File    int   // its number in Set.Files
	Offset  int64 // of the first byte of the first element; of an entry, of the entry
	Strides []int // between elements, in elements; nil if there are no gaps

	signs []byte // bits of an element that are turned over as it is read; nil if none are
	entry int64  // the length of the entry, an archive, that holds it; 0 if none does
}

// ItemSize returns the size of an element in bytes.
func (t *Tensor) ItemSize() int { return t.DType.Size() }

// Numel returns the number of elements.
func (t *Tensor) Numel() int { return ckpt.Whole(t.Shape).Numel() }

// Bytes returns the number of bytes of all elements.
func (t *Tensor) Bytes() int64 { return int64(t.Numel()) * int64(t.ItemSize()) }

// String returns the dtype and the shape: float32[2, 3].
func (t *Tensor) String() string { return ckpt.Describe(string(t.DType), t.Shape) }

// Tensor returns the one called name, or nil.
func (s *Set) Tensor(name string) *Tensor {
	i, ok := slices.BinarySearchFunc(s.Tensors, name, func(t *Tensor, name string) int { return strings.Compare(t.Name, name) })
	if !ok {
		return nil
	}
	return s.Tensors[i]
}

// names returns the names of all tensors.
func (s *Set) names() []string {
	list := make([]string, len(s.Tensors))
	for i, t := range s.Tensors {
		list[i] = t.Name
	}
	return list
}

// Bytes returns the number of bytes of all tensors.
func (s *Set) Bytes() int64 {
	n := int64(0)
	for _, t := range s.Tensors {
		n += t.Bytes()
	}
	return n
}

// Close closes the files.
func (s *Set) Close() { s.src.close() }

// Read fills dst with the elements of box of t, a tensor of the set, in row-major
// order. It panics if dst has another size than these.
func (s *Set) Read(dst []byte, t *Tensor, box mesh.Box) error {
	if len(dst) != box.Numel()*t.ItemSize() {
		panic(fmt.Sprintf("tensorfiles: %d bytes for %d elements of %s", len(dst), box.Numel(), t.DType))
	}
	return s.src.read(dst, t, box)
}

// A FormatError says why a folder or a file holds no tensors, or damaged ones.
type FormatError struct {
	File string // "" if about the folder
	Err  error
}

func (e *FormatError) Error() string {
	if e.File == "" {
		return e.Err.Error()
	}
	return e.File + ": " + e.Err.Error()
}

func (e *FormatError) Unwrap() error { return e.Err }

// bad returns a FormatError about a file.
func bad(file, format string, args ...any) error {
	return &FormatError{file, fmt.Errorf(format, args...)}
}

// about returns err as a FormatError about a file, unless it is one of the file
// system's.
func about(file string, err error) error {
	if err == nil || errors.As(err, new(*fs.PathError)) || errors.As(err, new(*FormatError)) {
		return err
	}
	return &FormatError{file, err}
}

// check sorts the tensors, and returns an error unless the pieces of each tile it.
func (s *Set) check() error {
	slices.SortFunc(s.Tensors, func(a, b *Tensor) int { return strings.Compare(a.Name, b.Name) })
	for i, t := range s.Tensors {
		if i > 0 && s.Tensors[i-1].Name == t.Name {
			return bad("", "tensor %.60q stands there twice", t.Name)
		}
		if !countable(t.Shape, t.ItemSize()) {
			return bad("", "tensor %.60q has a shape that cannot be: %v", t.Name, t.Shape)
		}
		var boxes []mesh.Box
		for k := range t.Pieces {
			if t.Pieces[k].Box.Numel() > 0 {
				boxes = append(boxes, t.Pieces[k].Box)
			}
		}
		if !ckpt.Tiles(t.Shape, boxes) {
			return bad("", "the pieces of tensor %.60q overlap or leave a gap", t.Name)
		}
	}
	return nil
}

// countable reports whether the bytes of a tensor of a shape can be counted.
func countable(shape []int, size int) bool {
	n := 1 << 58 / max(size, 1)
	for _, d := range shape {
		if d < 0 || d > n {
			return false
		}
		n /= max(d, 1)
	}
	return size > 0
}

// Verify reads all that there is, in parts of most bytes, and returns everything that
// is wrong. progress, if it is not nil, is told how many bytes have been read.
func (s *Set) Verify(most int, progress func(done int64)) []error {
	if progress == nil {
		progress = func(int64) {}
	}
	return s.src.verify(s, make([]byte, most), progress)
}

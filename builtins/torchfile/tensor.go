package torchfile

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"tpsh/builtins/pickle"
)

// A Storage is a run of elements in the file.
type Storage struct {
	Key    string
	Offset int64 // of its first byte in the file; known when Open returns
	Size   int64 // in bytes
	placed bool
	crc    *uint32 // of its bytes, where the file says it
}

// A Tensor says what a tensor is and where its elements lie.
type Tensor struct {
	DType   DType
	Shape   []int
	Strides []int // in elements, one for each dim, none negative
	Start   int64 // of the first element, in elements
	Storage *Storage
	// Signs has the bits of an element that are turned over as it is read; nil if
	// none are. A view that conjugates or negates has the elements of its base.
	Signs []byte
}

// Numel returns the number of elements.
func (t *Tensor) Numel() int {
	n := 1
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// span returns how many elements lie between the first and the end of the last,
// or an error if they cannot be counted.
func (t *Tensor) span() (int64, error) {
	n, count := int64(1), int64(1)
	for i, d := range t.Shape {
		if d == 0 {
			return 0, nil
		}
		if count > math.MaxInt64/16/int64(d) {
			return 0, fmt.Errorf("a tensor of shape %v has too many elements", t.Shape)
		}
		count *= int64(d)
		if d > 1 && int64(t.Strides[i]) > (math.MaxInt64/16-n)/int64(d-1) {
			return 0, fmt.Errorf("a tensor of strides %v reaches too far", t.Strides)
		}
		n += int64(d-1) * int64(t.Strides[i])
	}
	return n, nil
}

// check returns an error unless the elements of t lie in its storage. A tensor
// that looks at an element often is taken only if few others are: no file is
// to stand for much more memory than it has.
func (t *Tensor) check() error {
	span, err := t.span()
	if err != nil {
		return err
	}
	size := int64(t.DType.Size())
	if t.Start < 0 || span > 0 && t.Start > t.Storage.Size/size-span {
		return fmt.Errorf("a tensor of %d elements from number %d on, in a storage of %d bytes", span, t.Start, t.Storage.Size)
	}
	if n := int64(t.Numel()); n > span && n > 1<<20 {
		return fmt.Errorf("a tensor of %d elements that looks at %d", n, span)
	}
	return nil
}

// rebuild returns the tensor that a call of torch._utils._rebuild_tensor, of any
// version, makes.
func rebuild(args pickle.Tuple, dtype DType) (*Tensor, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("got %d arguments, want at least 4", len(args))
	}
	s, ok := args[0].(*typedStorage)
	if !ok {
		return nil, fmt.Errorf("got %T for a storage", args[0])
	}
	if dtype == "" {
		dtype = s.dtype
	}
	if dtype == "" {
		return nil, fmt.Errorf("got a storage of bytes and no dtype")
	}
	start, ok := pickle.Int(args[1])
	shape, err := ints(args[2])
	strides, err2 := ints(args[3])
	if !ok || err != nil || err2 != nil || len(shape) != len(strides) {
		return nil, fmt.Errorf("got an offset, a shape and strides that cannot be")
	}
	return &Tensor{DType: dtype, Shape: shape, Strides: strides, Start: start, Storage: s.Storage}, nil
}

// look makes t the view that metadata, the last argument of what rebuilds it, says: a
// dict that may have conj and neg.
func (t *Tensor) look(metadata any) error {
	d, ok := metadata.(*pickle.Dict)
	if !ok {
		return nil
	}
	conj, neg := d.Get("conj") == true, d.Get("neg") == true
	if !conj && !neg {
		return nil
	}
	size, text := t.DType.Size(), string(t.DType)
	parts := 1
	if strings.HasPrefix(text, "complex") {
		parts = 2
	}
	if conj && parts == 1 || !strings.HasPrefix(text, "complex") && !strings.Contains(text, "float") {
		return fmt.Errorf("got a view of %s with other signs, want one of floats or complex numbers", t.DType)
	}
	t.Signs = make([]byte, size)
	if neg {
		for i := range parts {
			t.Signs[(i+1)*size/parts-1] ^= 0x80
		}
	}
	if conj {
		t.Signs[size-1] ^= 0x80
	}
	return nil
}

// maxDims is the number of dims that a tensor of PyTorch can have.
const maxDims = 64

// ints returns the sizes, none negative, that a tuple or list of them holds.
func ints(v any) ([]int, error) {
	items, ok := pickle.Items(v)
	if !ok || len(items) > maxDims {
		return nil, fmt.Errorf("got %T for sizes", v)
	}
	list := make([]int, len(items))
	for i, item := range items {
		n, ok := pickle.Int(item)
		if !ok || n < 0 || n > math.MaxInt64/16 {
			return nil, fmt.Errorf("got %s for a size", pickle.Show(item))
		}
		list[i] = int(n)
	}
	return list, nil
}

// Contiguous reports whether the elements lie in row-major order without gaps.
func (t *Tensor) Contiguous() bool {
	return t.Numel() == 0 || slices.Equal(effective(t.Shape, t.Strides), effective(t.Shape, RowMajor(t.Shape)))
}

// effective returns the strides of the dims in which there is a step to take.
func effective(shape, strides []int) []int {
	var list []int
	for i, d := range shape {
		if d != 1 {
			list = append(list, strides[i])
		}
	}
	return list
}

// RowMajor returns the strides of a tensor of a shape without gaps.
func RowMajor(shape []int) []int {
	strides, n := make([]int, len(shape)), 1
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(shape[i], 1)
	}
	return strides
}

package rundiff

import (
	"archive/zip"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"tpsh/builtins/npy"
	"tpsh/builtins/tensorfiles"
	"tpsh/runtime/ckpt"
)

// addSet adds the tensors of a file that package tensorfiles reads.
func (s *side) addSet(path string, put func(string, *block)) error {
	var set *tensorfiles.Set
	var err error
	if extWord.Get().MatchString(path) {
		set, err = tensorfiles.Open(path)
	} else {
		set, err = tensorfiles.OpenSafetensors(path)
	}
	if err != nil {
		return err
	}
	s.close = append(s.close, set.Close)
	s.known = false // its tensors are in order of their names
	for _, t := range set.Tensors {
		put(t.Name, &block{string(t.DType), t.Shape, func() (*array, error) {
			if err := small(t.Shape); err != nil {
				return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
			}
			data := make([]byte, t.Bytes())
			if err := set.Read(data, t, ckpt.Whole(t.Shape)); err != nil {
				return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
			}
			return numbers(string(t.DType), t.Shape, data)
		}})
	}
	return nil
}

// maxElements bounds a tensor that is compared.
const maxElements = 1 << 31

// small returns an error if a tensor is too large to be compared.
func small(shape []int) error {
	n := 1
	for _, d := range shape {
		if d > 0 && n > maxElements/d {
			return fmt.Errorf("shape %v has more than %d elements", shape, maxElements)
		}
		n *= max(d, 1)
	}
	return nil
}

// npyTypes gives the dtypes that arrays of NumPy may have their names.
var npyTypes = map[string]string{
	"f4": "float32", "f8": "float64", "f2": "float16", "i8": "int64", "i4": "int32", "i2": "int16", "i1": "int8",
	"u8": "uint64", "u4": "uint32", "u2": "uint16", "u1": "uint8", "b1": "bool", "V2": "bfloat16", "c8": "complex64", "c16": "complex128",
}

// addNpz adds the arrays of an .npz file, in its order.
func (s *side) addNpz(path string, put func(string, *block)) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	z, err := zip.OpenReader(path)
	if err != nil {
		return err
	}
	s.close = append(s.close, func() { z.Close() })
	sorted := slices.IsSortedFunc(z.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	if sorted && len(z.File) > 2 { // one or two say nothing of how the others were written
		s.known = false
	}
	for _, e := range z.File {
		// What is compressed is a thousandth of its size at least.
		size := min(e.UncompressedSize64, 1100*min(e.CompressedSize64, uint64(info.Size())))
		b, err := npyBlock(e.Open, int64(size))
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		put(strings.TrimSuffix(e.Name, ".npy"), b)
	}
	return nil
}

// addNpy adds the array of an .npy file.
func addNpy(path string, put func(*block)) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	b, err := npyBlock(func() (io.ReadCloser, error) { return os.Open(path) }, info.Size())
	if err == nil {
		put(b)
	}
	return err
}

// npyBlock reads the header of an array in a file of size bytes.
func npyBlock(open func() (io.ReadCloser, error), size int64) (*block, error) {
	r, err := open()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	h, err := npy.ReadHeader(r)
	if err != nil {
		return nil, err
	}
	dt := npyTypes[h.Type()]
	if dt == "" {
		return nil, fmt.Errorf("elements of type %q, which are not compared", h.Descr)
	}
	if err := small(h.Shape); err != nil {
		return nil, err
	}
	n := numel(h.Shape) * sizeOf(dt)
	if int64(n) > size {
		return nil, fmt.Errorf("it has %d bytes, want %d for %s%v", size, n, dt, h.Shape)
	}
	return &block{dt, h.Shape, func() (*array, error) {
		r, err := open()
		if err != nil {
			return nil, err
		}
		defer r.Close()
		if _, err := npy.ReadHeader(r); err != nil {
			return nil, err
		}
		data := make([]byte, n)
		if _, err := io.ReadFull(r, data); err != nil {
			return nil, fmt.Errorf("it ends in the middle of an array: %w", err)
		}
		h.ToLittle(data, sizeOf(dt))
		if !h.Fortran {
			return numbers(dt, h.Shape, data)
		}
		back := slices.Clone(h.Shape)
		slices.Reverse(back)
		a, err := numbers(dt, back, data)
		if err != nil {
			return nil, err
		}
		order := identity(len(back))
		slices.Reverse(order)
		return a.permuted(order), nil
	}}, nil
}

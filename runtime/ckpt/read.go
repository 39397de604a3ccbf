package ckpt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"tpsh/internal/crc32c"
	"tpsh/mesh"
)

// A Reader reads the tensors of a checkpoint, for one goroutine at a time.
type Reader struct {
	*Index
	root  *os.Root
	files []*os.File // those that have been needed

	// What is kept is a chunk, read and found sound, of a file.
	kept   []byte
	keptOf int   // the file; -1 for none
	keptAt int64 // the chunk's number
}

// Open returns a Reader of the checkpoint in a folder. Close closes it. The error
// is a *FormatError if there is no sound checkpoint, as far as can be seen
// without reading its data.
func Open(root *os.Root) (*Reader, error) {
	data, err := ReadIndex(root)
	if err != nil {
		return nil, err
	}
	return NewReader(root, data)
}

// NewReader is Open with the bytes of the index.
func NewReader(root *os.Root, index []byte) (*Reader, error) {
	x, err := Decode(index)
	if err != nil {
		return nil, err
	}
	r := &Reader{Index: x, root: root, files: make([]*os.File, len(x.Files)), keptOf: -1}
	for _, f := range x.Files {
		if err := r.checkSize(f); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// checkSize returns an error unless f is there, of the size that it should have.
func (r *Reader) checkSize(f *File) error {
	info, err := r.root.Stat(f.Name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &FormatError{f.Name, "the file is missing"}
	case err != nil:
		return pathless(err)
	case !info.Mode().IsRegular():
		return &FormatError{f.Name, "it is no file"}
	case info.Size() != f.Size:
		return &FormatError{f.Name, fmt.Sprintf("the file has %d bytes, want %d", info.Size(), f.Size)}
	}
	return nil
}

// Close closes the files.
func (r *Reader) Close() {
	for _, f := range r.files {
		if f != nil {
			f.Close()
		}
	}
}

// Read fills dst with the elements of box, in row-major order, of t, a tensor of
// the checkpoint. It reads the chunks that they are in, and no others. The error
// is a *FormatError if these are damaged.
//
// It panics if dst has another size than the elements.
func (r *Reader) Read(dst []byte, t *Tensor, box mesh.Box) error {
	size := t.ItemSize()
	if len(dst) != box.Numel()*size {
		panic(fmt.Sprintf("ckpt: %d bytes for %d elements of %d", len(dst), box.Numel(), size))
	}
	for i := range t.Pieces {
		p := &t.Pieces[i]
		common, ok := p.Box().Intersect(box)
		if !ok {
			continue
		}
		err := Walk(p.Box(), box, common, func(from, to, n int) error {
			return r.copyAt(dst[to*size:(to+n)*size], p.File, p.Offset+int64(from*size))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// copyAt fills dst with the bytes of a file from off on.
func (r *Reader) copyAt(dst []byte, file int, off int64) error {
	for len(dst) > 0 {
		k, skip := off/chunkSize, off%chunkSize
		n := len(dst) / chunkSize * chunkSize
		switch {
		case skip == 0 && n > 0 && !(r.keptOf == file && r.keptAt == k):
			if err := r.chunks(dst[:n], file, k); err != nil {
				return err
			}
		default:
			if err := r.keep(file, k); err != nil {
				return err
			}
			n = copy(dst, r.kept[skip:])
		}
		dst, off = dst[n:], off+int64(n)
	}
	return nil
}

// keep makes chunk k of a file the one that is kept.
func (r *Reader) keep(file int, k int64) error {
	if r.keptOf == file && r.keptAt == k {
		return nil
	}
	r.keptOf = -1
	size := min(chunkSize, r.Files[file].Size-k*chunkSize)
	r.kept = slices.Grow(r.kept[:0], chunkSize)[:size]
	if err := r.chunks(r.kept, file, k); err != nil {
		return err
	}
	r.keptOf, r.keptAt = file, k
	return nil
}

// chunks fills dst with the chunks of a file from number k on.
func (r *Reader) chunks(dst []byte, file int, k int64) error {
	f := r.Files[file]
	if r.files[file] == nil {
		open, err := r.root.Open(f.Name)
		if err != nil {
			return pathless(err)
		}
		r.files[file] = open
	}
	if n, err := r.files[file].ReadAt(dst, k*chunkSize); n < len(dst) {
		if errors.Is(err, io.EOF) {
			return &FormatError{f.Name, "the file has become shorter"}
		}
		return pathless(err)
	}
	for part := range slices.Chunk(dst, chunkSize) {
		if crc32c.Checksum(part) != binary.LittleEndian.Uint32(f.Sums[4*k:]) {
			return &FormatError{f.Name, fmt.Sprintf("bytes %d to %d do not have their checksum: the file is damaged", k*chunkSize, k*chunkSize+int64(len(part)))}
		}
		k++
	}
	return nil
}

// Verify reads the whole checkpoint in parts of at most most bytes, and returns
// everything that is wrong with it. progress is told how many bytes of the
// tensors have been read.
func (r *Reader) Verify(most int, progress func(done int64)) []error {
	var bad []error
	for i := range r.Files {
		if err := r.verifyHeader(i); err != nil {
			bad = append(bad, err)
		}
	}
	var buf []byte
	done := int64(0)
	for _, t := range r.Tensors {
		var sum Sum
		err := Slabs(Whole(t.Shape), max(1, most/t.ItemSize()), func(box mesh.Box) error {
			n := box.Numel() * t.ItemSize()
			buf = slices.Grow(buf[:0], n)[:n]
			if err := r.Read(buf, t, box); err != nil {
				return err
			}
			r.addTo(&sum, buf, t, box)
			progress(done + int64(Place(t.Shape, box)*t.ItemSize()+len(buf)))
			return nil
		})
		if err == nil && sum != t.Sum {
			err = fmt.Errorf("its content hash is %v, want %v", sum, t.Sum)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("tensor %q: %w", t.Name, err))
		}
		done += t.Bytes()
	}
	return bad
}

// addTo adds the elements of a range of t to a Sum as those of the index are made.
func (r *Reader) addTo(sum *Sum, data []byte, t *Tensor, box mesh.Box) {
	if r.old {
		sum.AddOld(data, t.ItemSize(), Place(t.Shape, box))
		return
	}
	sum.AddRun(data, t.ItemSize(), Place(t.Shape, box))
}

// verifyHeader returns an error unless a file begins, and ends, as a safetensors
// file of its pieces does.
func (r *Reader) verifyHeader(file int) error {
	var entries []Entry
	offsets := map[string]int64{}
	for _, t := range r.Tensors {
		for i := range t.Pieces {
			if p := &t.Pieces[i]; p.File == file {
				entries = append(entries, Entry{t.Name, t.DType, t.Shape, p.Box()})
				offsets[t.Name+p.Box().String()] = p.Offset
			}
		}
	}
	slices.SortFunc(entries, func(a, b Entry) int { return order(&a, &b) })
	want, places := header(entries)
	end := int64(len(want))
	for i := range entries {
		if offsets[entries[i].Name+entries[i].Box.String()] != places[i] {
			return &FormatError{r.Files[file].Name, "its pieces do not lie where a save puts them"}
		}
		end = places[i] + entries[i].bytes()
	}
	if end != r.Files[file].Size {
		return &FormatError{r.Files[file].Name, fmt.Sprintf("it has %d bytes, and its pieces end at %d", r.Files[file].Size, end)}
	}
	got := make([]byte, len(want))
	if err := r.copyAt(got, file, 0); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return &FormatError{r.Files[file].Name, "its header does not say what the index says"}
	}
	return nil
}

package torchfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math/big"
	"path"
	"slices"
	"strings"

	"tpsh/builtins/pickle"
)

// A File is one whose value has been read, and whose storages have been found.
type File struct {
	Value any // as package pickle reads it, with *Tensor and Text among the values

	r        io.ReaderAt
	size     int64
	allow    pickle.Allow
	storages map[string]*Storage
	tensors  []*Tensor
}

// A FormatError says how a file breaks the rules of the format.
type FormatError struct{ Err error }

func (e *FormatError) Error() string { return e.Err.Error() }
func (e *FormatError) Unwrap() error { return e.Err }

// bad returns a FormatError.
func bad(format string, args ...any) error { return &FormatError{fmt.Errorf(format, args...)} }

// maxPickle bounds the pickle of a file.
const maxPickle = 256 << 20

// Open reads the value of a file of size bytes, and finds its storages. It reads
// none of their elements. The error is a *FormatError, or what r returns.
func Open(r io.ReaderAt, size int64) (*File, error) {
	f := &File{r: r, size: size, storages: map[string]*Storage{}}
	f.allow = f.globals()
	var start [16]byte
	n, err := r.ReadAt(start[:], 0)
	switch {
	case n < 4 && errors.Is(err, io.EOF):
		return nil, bad("a file of %d bytes, which torch.save does not write", n)
	case n < 4:
		return nil, err
	case string(start[:4]) == "PK\x03\x04":
		err = f.openZip()
	default:
		err = f.openLegacy()
	}
	switch {
	case errors.Is(err, ErrAlien):
		return nil, &FormatError{AlienKind(start[:n])}
	case errors.As(err, new(*FormatError)):
		return nil, &FormatError{explained(err)}
	case err != nil:
		return nil, err
	}
	for _, t := range f.tensors {
		if !t.Storage.placed {
			return nil, bad("storage %.20q is not in the file", t.Storage.Key)
		}
		if err := t.check(); err != nil {
			return nil, &FormatError{err}
		}
	}
	return f, nil
}

// openZip reads a zip archive.
func (f *File) openZip() error {
	z, err := zip.NewReader(f.r, f.size)
	if err != nil {
		return bad("it is a damaged zip archive: %w", err)
	}
	entries := map[string]*zip.File{}
	prefix := ""
	for _, e := range z.File {
		entries[e.Name] = e
		if path.Base(e.Name) == "data.pkl" && (prefix == "" || len(e.Name) < len(prefix)) {
			prefix = strings.TrimSuffix(e.Name, "data.pkl")
		}
	}
	e := entries[prefix+"data.pkl"]
	if e == nil {
		return bad("%s", archiveKind(z.File))
	}
	if order := entries[prefix+"byteorder"]; order != nil {
		if text, err := readEntry(order, 16); err != nil || string(text) != "little" {
			return bad("its byte order is %.10q, want little", text)
		}
	}
	text, err := readEntry(e, min(maxPickle, f.size))
	if err != nil {
		return err
	}
	if f.Value, _, err = pickle.Read(text, &pickle.Options{Global: f.global, Persistent: f.persistent}); err != nil {
		return bad("data.pkl: %w", err)
	}
	for key, s := range f.storages {
		if err := f.place(s, entries[prefix+"data/"+key]); err != nil {
			return err
		}
	}
	return nil
}

// readEntry returns what is in a small entry.
func readEntry(e *zip.File, most int64) ([]byte, error) {
	if e.UncompressedSize64 > uint64(most) {
		return nil, bad("%s has %d bytes, want at most %d", e.Name, e.UncompressedSize64, most)
	}
	r, err := e.Open()
	if err != nil {
		return nil, bad("%s: %w", e.Name, err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return nil, bad("%s: %w", e.Name, err)
	}
	return data, nil
}

// place notes where the bytes of a storage lie: in e.
func (f *File) place(s *Storage, e *zip.File) error {
	if e == nil {
		return bad("storage %.20q is not in the archive", s.Key)
	}
	if e.Method != zip.Store {
		return bad("storage %.20q is compressed, want it stored", s.Key)
	}
	if e.UncompressedSize64 != uint64(s.Size) || e.CompressedSize64 != uint64(s.Size) {
		return bad("storage %.20q has %d bytes, want %d", s.Key, e.UncompressedSize64, s.Size)
	}
	at, err := e.DataOffset()
	if err != nil || at < 0 || at > f.size-s.Size {
		return bad("storage %.20q lies outside the file", s.Key)
	}
	s.Offset, s.placed, s.crc = at, true, &e.CRC32
	return nil
}

// magic is the number that old files begin with.
var magic, _ = new(big.Int).SetString("1950a86a20f9469cfc6c", 16)

// openLegacy reads a file of the form before zip archives.
func (f *File) openLegacy() error {
	for most := int64(1 << 20); ; most *= 8 {
		head := make([]byte, min(most, maxPickle, f.size))
		if n, err := f.r.ReadAt(head, 0); n < len(head) {
			return err
		}
		clear(f.storages)
		f.tensors = nil
		keys, at, err := f.readLegacy(head)
		if err == nil {
			return f.placeLegacy(keys, int64(at))
		}
		if most >= min(maxPickle, f.size) || !errors.Is(err, pickle.ErrCut) { // what is cut off alone may be well when more of it is read
			return &FormatError{err}
		}
	}
}

// ErrAlien says that a file is of neither form, and none that is known.
var ErrAlien = errors.New("it is neither a zip archive nor begins with the number of older files, so torch.save has not written it")

// readLegacy reads the pickles that head begins with. It returns the keys of the
// storages and where those begin.
func (f *File) readLegacy(head []byte) (keys []string, at int, err error) {
	o := &pickle.Options{Global: f.global, Persistent: f.persistent}
	rest := head
	var values [5]any
	for i := range values {
		if values[i], rest, err = pickle.Read(rest, o); err != nil {
			if i == 0 {
				err = ErrAlien
			}
			return nil, 0, err
		}
		if n, ok := values[0].(*big.Int); !ok || n.Cmp(magic) != 0 {
			return nil, 0, ErrAlien
		}
	}
	if v, _ := pickle.Int(values[1]); v != 1001 {
		return nil, 0, fmt.Errorf("its version is %s, want 1001", pickle.Show(values[1]))
	}
	if info, ok := values[2].(*pickle.Dict); ok && info.Get("little_endian") == false {
		return nil, 0, errors.New("its byte order is big, want little")
	}
	f.Value = values[3]
	items, ok := pickle.Items(values[4])
	if !ok {
		return nil, 0, errors.New("no list of storages")
	}
	for _, item := range items {
		key, ok := item.(string)
		if !ok {
			return nil, 0, fmt.Errorf("got %T for the key of a storage", item)
		}
		keys = append(keys, key)
	}
	return keys, len(head) - len(rest), nil
}

// placeLegacy finds the storages: each is a number of elements and these.
func (f *File) placeLegacy(keys []string, at int64) error {
	for _, key := range keys {
		s := f.storages[key]
		if s == nil {
			return bad("storage %.20q is listed, and nothing uses it", key)
		}
		var count [8]byte
		if at > f.size-8 {
			return bad("the file ends before storage %.20q", key)
		}
		if _, err := f.r.ReadAt(count[:], at); err != nil {
			return err
		}
		n := binary.LittleEndian.Uint64(count[:])
		if at += 8; n > uint64(s.Size) || s.placed || at > f.size-s.Size {
			return bad("storage %.20q of %d bytes, with %d elements, does not lie in the file", key, s.Size, n)
		}
		s.Offset, s.placed = at, true
		at += s.Size
	}
	return nil
}

// Verify reads the storages that the file has checksums of, in parts, and
// returns an error if one does not have its own. An archive that says 0 has none.
func (f *File) Verify(buf []byte) error {
	for _, key := range slices.Sorted(maps.Keys(f.storages)) {
		s := f.storages[key]
		if s.crc == nil || *s.crc == 0 {
			continue
		}
		h := crc32.NewIEEE()
		if _, err := io.CopyBuffer(struct{ io.Writer }{h}, struct{ io.Reader }{io.NewSectionReader(f.r, s.Offset, s.Size)}, buf); err != nil {
			return err
		}
		if h.Sum32() != *s.crc {
			return bad("storage %.20q does not have its checksum: the file is damaged", key)
		}
	}
	return nil
}

// ReadValue returns the value of a file without tensors that data holds.
func ReadValue(data []byte) (any, error) {
	f, err := Open(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if len(f.tensors) > 0 {
		return nil, bad("a value with %d tensors in it", len(f.tensors))
	}
	return f.Value, nil
}

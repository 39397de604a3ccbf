package ckpt

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"tpsh/internal/crc32c"
	"tpsh/mesh"
)

// chunkSize is the number of bytes of a data file that have a checksum together.
const chunkSize = 64 << 10

// An Entry is a piece that a data file is to hold: a box, which is not empty, of
// a tensor.
type Entry struct {
	Name  string // of the tensor
	DType string
	Shape []int // of the tensor
	Box   mesh.Box
}

// bytes returns the size of the piece.
func (e *Entry) bytes() int64 { return int64(e.Box.Numel()) * int64(itemSize(e.DType)) }

// order says in which order data files hold pieces: those with larger elements
// first, so that all are aligned, then by name, then by place.
func order(a, b *Entry) int {
	return cmp.Or(itemSize(b.DType)-itemSize(a.DType), cmp.Compare(a.Name, b.Name), slices.Compare(a.Box.Lo, b.Box.Lo))
}

// safetensorsTypes gives dtypes their names in safetensors files.
var safetensorsTypes = map[string]string{
	"float32": "F32", "float64": "F64", "float16": "F16", "bfloat16": "BF16",
	"int64": "I64", "int32": "I32", "uint8": "U8", "bool": "BOOL",
}

// header returns what a safetensors file of entries begins with, and where in it
// each of them lies; they are in order. A piece that is a whole tensor has its
// name, any other the box behind it.
func header(entries []Entry) (head []byte, offsets []int64) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	used, at := map[string]bool{"__metadata__": true}, int64(0)
	for i := range entries {
		e := &entries[i]
		name := e.Name
		if !slices.Equal(e.Box.Shape(), e.Shape) {
			name += e.Box.String()
		}
		for used[name] {
			name += "'"
		}
		used[name] = true
		text.WriteByte("{,"[min(i, 1)])
		_ = enc.Encode(name) // a string has a JSON text, and a buffer has room
		text.Truncate(text.Len() - 1)
		shape, _ := json.Marshal(e.Box.Shape())
		fmt.Fprintf(&text, `:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, safetensorsTypes[e.DType], shape, at, at+e.bytes())
		offsets = append(offsets, at)
		at += e.bytes()
	}
	text.WriteByte('}')
	for text.Len()%8 != 0 {
		text.WriteByte(' ')
	}
	head = append(binary.LittleEndian.AppendUint64(nil, uint64(text.Len())), text.Bytes()...)
	for i := range offsets {
		offsets[i] += int64(len(head))
	}
	return head, offsets
}

// bufferSize is how many bytes a Writer keeps before it writes them: a multiple
// of chunkSize.
const bufferSize = 4 * chunkSize

// A Writer writes a data file.
type Writer struct {
	Offsets []int64 // where the pieces lie, in the order of the entries

	root *os.Root
	f    *os.File
	name string
	buf  []byte
	size int64
	sums []byte
}

// Create begins the data file of a writer, by its number, in a generation. It
// sorts entries, of which there is at least one: then come their data, one
// after another.
func Create(root *os.Root, generation, writer int, entries []Entry) (*Writer, error) {
	slices.SortFunc(entries, func(a, b Entry) int { return order(&a, &b) })
	name := fmt.Sprintf("%08d-%05d.safetensors", generation, writer)
	Step("create %s", name)
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return nil, err
	}
	head, offsets := header(entries)
	w := &Writer{Offsets: offsets, root: root, f: f, name: name, buf: make([]byte, 0, bufferSize)}
	if _, err := w.Write(head); err != nil {
		w.Discard()
		return nil, err
	}
	return w, nil
}

// At returns the number of bytes written.
func (w *Writer) At() int64 { return w.size + int64(len(w.buf)) }

// Write implements io.Writer.
func (w *Writer) Write(data []byte) (int, error) {
	for rest := data; len(rest) > 0; {
		n := copy(w.buf[len(w.buf):cap(w.buf)], rest)
		w.buf, rest = w.buf[:len(w.buf)+n], rest[n:]
		if len(w.buf) == cap(w.buf) {
			if err := w.flush(); err != nil {
				return 0, err
			}
		}
	}
	return len(data), nil
}

// flush writes what is kept.
func (w *Writer) flush() error {
	for part := range slices.Chunk(w.buf, chunkSize) {
		w.sums = binary.LittleEndian.AppendUint32(w.sums, crc32c.Checksum(part))
	}
	Step("write %s at %d", w.name, w.size)
	n, err := w.f.Write(w.buf)
	w.size += int64(n)
	w.buf = w.buf[:0]
	return err
}

// Close ends the file, once it is on disk, and returns what an Index says of it.
// After an error there is no file.
func (w *Writer) Close() (*File, error) {
	err := w.flush()
	if err == nil {
		Step("sync %s", w.name)
		err = w.f.Sync()
	}
	if err == nil {
		err = w.f.Close()
	}
	if err != nil {
		w.Discard()
		return nil, err
	}
	return &File{w.name, w.size, w.sums}, nil
}

// Discard removes the file.
func (w *Writer) Discard() {
	w.f.Close()
	Remove(w.root, w.name) // the next save would
}

// Package npy reads and writes the headers of .npy files, NumPy's format for
// one array.
//
// A file is a header, which says what the array is, and after it the elements
// without gaps. The format is that of the NumPy Enhancement Proposal 1 and of
// numpy/lib/format.py, versions 1.0 to 3.0.
//
// The package knows bytes: the elements are read by the caller, who makes a tensor of
// them. A header may come from anybody, so its length and its shape are bounded before
// anything is allocated. For example
//
//	h, err := npy.ReadHeader(r)  // r now stands at the first element
//	data := h.Append(nil)        // the header of a new file, padded to 64 bytes
package npy

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Header says what array a file holds.
type Header struct {
	// Descr is NumPy's name of the element type: "<f4" is a little-endian
	// float of 4 bytes.
	Descr string
	// Fortran says that the first index varies fastest in the file, not the
	// last.
	Fortran bool
	// Shape lists the sizes of the dims; it is empty for a single number.
	Shape []int
}

// BigEndian reports whether the first byte of a number in the file is the
// greatest one.
func (h *Header) BigEndian() bool { return strings.HasPrefix(h.Descr, ">") }

// Type is Descr without the order of bytes: "f4".
func (h *Header) Type() string { return strings.TrimLeft(h.Descr, "<>|=") }

// ToLittle turns the order of the bytes of elements of size bytes in data, which
// come from a file with this header, if they are big-endian. Of complex numbers
// each half is turned.
func (h *Header) ToLittle(data []byte, size int) {
	if strings.HasPrefix(h.Type(), "c") {
		size /= 2
	}
	if !h.BigEndian() || size < 2 {
		return
	}
	for ; len(data) >= size; data = data[size:] {
		slices.Reverse(data[:size])
	}
}

const (
	magic = "\x93NUMPY"
	// align is the multiple of bytes at which the elements begin.
	align = 64
	// maxHeader bounds the text of a header. Simple arrays need some 100
	// bytes; only those of records, which no tensor can hold, are longer.
	maxHeader = 1 << 16
	// maxDims is the number of dims that a NumPy array can have.
	maxDims = 64
)

// ReadHeader reads a header from r, which is then at the first element.
func ReadHeader(r io.Reader) (*Header, error) {
	var start [8]byte
	if _, err := io.ReadFull(r, start[:]); err != nil {
		return nil, cut(err)
	}
	if string(start[:6]) != magic {
		return nil, errors.New("it does not begin with \\x93NUMPY")
	}
	n, err := readLength(r, start[6], start[7])
	if err != nil {
		return nil, err
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return nil, cut(err)
	}
	if start[6] == 3 && !utf8.Valid(text) {
		return nil, errors.New("a header of version 3.0 that is not UTF-8")
	}
	return parseHeader(string(text))
}

// readLength reads the length of the header's text, which a file of the given
// version has next.
func readLength(r io.Reader, major, minor byte) (int, error) {
	if major < 1 || major > 3 || minor != 0 {
		return 0, fmt.Errorf("a file of version %d.%d, want 1.0, 2.0 or 3.0", major, minor)
	}
	width := 4
	if major == 1 {
		width = 2
	}
	var b [4]byte
	if _, err := io.ReadFull(r, b[:width]); err != nil {
		return 0, cut(err)
	}
	n := binary.LittleEndian.Uint32(b[:])
	if n > maxHeader {
		return 0, fmt.Errorf("a header of %d bytes, want at most %d", n, maxHeader)
	}
	return int(n), nil
}

// cut says in a user's words that a file ended too early.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the file ends inside its header")
	}
	return err
}

// Append appends h to dst in version 1.0, so that the elements begin at a
// multiple of 64 bytes.
//
// It panics if the text does not fit into 65535 bytes, which takes thousands
// of dims.
func (h *Header) Append(dst []byte) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", h.Descr, pythonBool(h.Fortran), tuple(h.Shape))
	const prefix = len(magic) + 4
	padding := align - (prefix+text.Len()+1)%align
	text.WriteString(strings.Repeat(" ", padding%align) + "\n")
	if text.Len() > math.MaxUint16 {
		panic(fmt.Sprintf("npy: a header of %d bytes", text.Len()))
	}
	dst = append(dst, magic...)
	dst = append(dst, 1, 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(text.Len()))
	return append(dst, text.Bytes()...)
}

func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// tuple writes xs as Python writes a tuple.
func tuple(xs []int) string {
	if len(xs) == 1 {
		return fmt.Sprintf("(%d,)", xs[0])
	}
	texts := make([]string, len(xs))
	for i, x := range xs {
		texts[i] = fmt.Sprint(x)
	}
	return "(" + strings.Join(texts, ", ") + ")"
}

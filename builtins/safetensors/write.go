package safetensors

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Sort sorts tensors in the order in which a file has their data, that of the reference
// implementation: larger element types first, so that data are aligned, then by name.
func Sort(tensors []*Tensor) {
	slices.SortFunc(tensors, func(a, b *Tensor) int {
		return cmp.Or(cmp.Compare(b.DType.kind(), a.DType.kind()), strings.Compare(a.Name, b.Name))
	})
}

// AppendHeader appends to dst what a file of the tensors begins with: the
// length of its header, and the header. Their data follow in the order of
// tensors, which it Sorts. It sets Begin and End.
//
// The header holds the metadata unless they are nil, by key, and ends with
// spaces so that the data begin at a multiple of 8 bytes. The error is a
// *FormatError.
func AppendHeader(dst []byte, tensors []*Tensor, metadata map[string]string) ([]byte, error) {
	Sort(tensors)
	if err := place(tensors); err != nil {
		return nil, err
	}
	start := len(dst)
	dst = append(dst, make([]byte, lengthOf)...)
	dst = append(dst, '{')
	if metadata != nil {
		var err error
		if dst, err = appendMetadata(dst, metadata); err != nil {
			return nil, err
		}
	}
	for i, t := range tensors {
		if i > 0 || metadata != nil {
			dst = append(dst, ',')
		}
		dst = append(quote(dst, t.Name), `:{"dtype":"`...)
		dst = append(dst, t.DType...)
		dst = fmt.Appendf(dst, `","shape":%s,"data_offsets":[%d,%d]}`, list(t.Shape), t.Begin, t.End)
	}
	dst = append(dst, '}')
	for (len(dst)-start)%8 != 0 {
		dst = append(dst, ' ')
	}
	n := len(dst) - start - lengthOf
	if n > maxHeader {
		return nil, &FormatError{Problem: fmt.Sprintf("a header of %d bytes, want at most %d", n, maxHeader)}
	}
	binary.LittleEndian.PutUint64(dst[start:], uint64(n))
	return dst, nil
}

// place checks the tensors, which are sorted, and gives their data places.
func place(tensors []*Tensor) error {
	seen, at := make(map[string]bool, len(tensors)), int64(0)
	for _, t := range tensors {
		size, err := t.size()
		switch {
		case err != nil:
			return err
		case size > math.MaxInt64-at:
			return &FormatError{t.Name, "too many bytes of data"}
		case t.DType.Size() == 0:
			return &FormatError{t.Name, fmt.Sprintf("elements of unknown type %q", string(t.DType))}
		case t.Name == metadataKey:
			return &FormatError{t.Name, "the format keeps this name for the metadata"}
		case seen[t.Name]:
			return &FormatError{t.Name, "a name that is there twice"}
		case !utf8.ValidString(t.Name):
			return &FormatError{t.Name, "a name that is not UTF-8"}
		}
		seen[t.Name] = true
		t.Begin, t.End = at, at+size
		at = t.End
	}
	return nil
}

// appendMetadata appends the entry of the metadata.
func appendMetadata(dst []byte, metadata map[string]string) ([]byte, error) {
	dst = append(dst, `"`+metadataKey+`":{`...)
	for i, key := range slices.Sorted(maps.Keys(metadata)) {
		value := metadata[key]
		if !utf8.ValidString(key) || !utf8.ValidString(value) {
			return nil, &FormatError{Problem: fmt.Sprintf("metadata %.60q: text that is not UTF-8", key)}
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = quote(append(quote(dst, key), ':'), value)
	}
	return append(dst, '}'), nil
}

// quote appends s as a JSON string, with no more escapes than needed, as the
// reference implementation writes them.
func quote(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c >= ' ':
			dst = append(dst, c)
		case strings.IndexByte("\b\f\n\r\t", c) >= 0:
			dst = append(dst, strconv.Quote(string(rune(c)))[1:3]...)
		default:
			dst = fmt.Appendf(dst, `\u%04x`, c)
		}
	}
	return append(dst, '"')
}

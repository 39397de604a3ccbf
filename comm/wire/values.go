package wire

import (
	"encoding/binary"
	"fmt"
)

// A Decoder takes values from the front of Rest. After the first value that is
// wrong, Err is set, Rest is empty and all values are zero.
type Decoder struct {
	Rest []byte
	Err  error
}

// Fail says that a value is wrong. Only the first counts.
func (d *Decoder) Fail(what, got, want string) {
	if d.Err == nil {
		d.Err = &FrameError{what, got, want}
	}
	d.Rest = nil
}

// Take returns the next n bytes, or nil and an error if there are fewer.
func (d *Decoder) Take(n int) []byte {
	if d.Err != nil || n < 0 || n > len(d.Rest) {
		d.Fail("truncated", fmt.Sprintf("%d bytes", len(d.Rest)), fmt.Sprint(uint(n)))
		return nil
	}
	taken := d.Rest[:n]
	d.Rest = d.Rest[n:]
	return taken
}

func (d *Decoder) byte() byte {
	if b := d.Take(1); b != nil {
		return b[0]
	}
	return 0
}

// Uint64 takes 8 bytes.
func (d *Decoder) Uint64() uint64 {
	if b := d.Take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *Decoder) uint32() uint32 {
	if b := d.Take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

// Int takes a number that AppendInt has written.
func (d *Decoder) Int() int { return int(d.Uint64()) }

// Size takes a number that is not negative.
func (d *Decoder) Size() int {
	n := d.Int()
	if n < 0 {
		d.Fail("length", fmt.Sprint(n), "0 or more")
		return 0
	}
	return n
}

// Text takes a text that AppendString has written.
func (d *Decoder) Text() string { return string(d.Take(d.Int())) }

// List takes the length of a list whose elements take elem bytes each, -1 for
// a nil list. All of them are there if the length is not 0 or -1.
func (d *Decoder) List(elem int) int {
	n := d.Size() - 1
	if n > len(d.Rest)/elem {
		d.Fail("truncated", fmt.Sprintf("%d bytes", len(d.Rest)), fmt.Sprintf("a list of %d", n))
		return -1
	}
	return n
}

// ints takes a list that appendInts has written.
func (d *Decoder) ints() []int {
	n := d.List(1)
	if n < 0 {
		return nil
	}
	list := make([]int, n)
	last := 0
	for i := range list {
		last += d.varint()
		list[i] = last
	}
	return list
}

// varint takes a number as binary.AppendVarint writes it. A longer way to write the same number
// is an error.
func (d *Decoder) varint() int {
	x, n := binary.Varint(d.Rest)
	if n <= 0 || n > 1 && d.Rest[n-1] == 0 {
		d.Fail("length", "another number", "the short form of one")
		return 0
	}
	d.Rest = d.Rest[n:]
	return int(x)
}

// bool takes a 0 or a 1.
func (d *Decoder) bool() bool {
	n := d.Int()
	if n != 0 && n != 1 {
		d.Fail("alien", fmt.Sprint(n), "0 or 1")
	}
	return n == 1
}

// End returns the error of decoding what, which is to be over.
func (d *Decoder) End(what string) error {
	if d.Err == nil && len(d.Rest) > 0 {
		d.Fail("length", fmt.Sprintf("%d bytes more", len(d.Rest)), "none")
	}
	if d.Err != nil {
		return fmt.Errorf("%s: %w", what, d.Err)
	}
	return nil
}

// AppendInt appends a number in 8 bytes, the lowest first.
func AppendInt(buf []byte, x int) []byte {
	return binary.LittleEndian.AppendUint64(buf, uint64(x))
}

// AppendString appends a text behind its length.
func AppendString(buf []byte, s string) []byte { return append(AppendInt(buf, len(s)), s...) }

// ListLen returns what stands for the length of a list: one more, and 0 for nil.
func ListLen[T any](list []T) int {
	if list == nil {
		return 0
	}
	return len(list) + 1
}

// appendInts appends a list as the differences of each element from the one before, in as few
// bytes as they take: lists are as long as there are ranks, and hold ascending ranks, or counters that
// are mostly alike.
func appendInts(buf []byte, list []int) []byte {
	buf = AppendInt(buf, ListLen(list))
	last := 0
	for _, x := range list {
		buf = binary.AppendVarint(buf, int64(x-last))
		last = x
	}
	return buf
}

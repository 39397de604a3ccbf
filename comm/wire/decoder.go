package wire

import (
	"encoding/binary"
	"fmt"
)

// A Decoder takes values from the front of rest. After the first value that is
// wrong, err is set, rest is empty and all values are zero.
type Decoder struct {
	Rest []byte
	Err  error
}

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

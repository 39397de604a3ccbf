package process

import (
	"encoding/binary"
	"fmt"
)

// A decoder takes values from the front of rest. After the first value that is
// wrong, err is set, rest is empty and all values are zero.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(what, got, want string) {
	if d.err == nil {
		d.err = &FrameError{what, got, want}
	}
	d.rest = nil
}

// take returns the next n bytes, or nil and an error if there are fewer.
func (d *decoder) take(n int) []byte {
	if d.err != nil || n < 0 || n > len(d.rest) {
		d.fail("truncated", fmt.Sprintf("%d bytes", len(d.rest)), fmt.Sprint(uint(n)))
		return nil
	}
	taken := d.rest[:n]
	d.rest = d.rest[n:]
	return taken
}

func (d *decoder) byte() byte {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) uint64() uint64 {
	if b := d.take(8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

func (d *decoder) uint32() uint32 {
	if b := d.take(4); b != nil {
		return binary.LittleEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) int() int { return int(d.uint64()) }

// size takes a number that is not negative.
func (d *decoder) size() int {
	n := d.int()
	if n < 0 {
		d.fail("length", fmt.Sprint(n), "0 or more")
		return 0
	}
	return n
}

func (d *decoder) string() string { return string(d.take(d.int())) }

// list takes the length of a list whose elements take elem bytes each, -1 for
// a nil list. All of them are there if the length is not 0 or -1.
func (d *decoder) list(elem int) int {
	n := d.size() - 1
	if n > len(d.rest)/elem {
		d.fail("truncated", fmt.Sprintf("%d bytes", len(d.rest)), fmt.Sprintf("a list of %d", n))
		return -1
	}
	return n
}

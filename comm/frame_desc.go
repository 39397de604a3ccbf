package comm

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
)

// A contract is what a member tells the others of its call before any data.
type contract struct {
	hash  uint64 // of what members compare; see hashDesc
	flags Flags
	free  int // the size along Desc.Free, 0 if that is -1
	bytes int // the length of In[0], 0 if there is none
	meta  []byte
}

// appendContract appends the encoding of c to buf and returns the result: the
// hash, free and bytes as 8 bytes each, the flags as one, then meta.
func appendContract(buf []byte, c *contract) []byte {
	buf = binary.LittleEndian.AppendUint64(buf, c.hash)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(c.free))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(c.bytes))
	buf = append(buf, byte(c.flags))
	return append(buf, c.meta...)
}

// decodeContract decodes what appendContract appends. The meta of the result
// is part of b.
func decodeContract(b []byte) (*contract, error) {
	d := decoder{rest: b}
	c := &contract{
		hash:  d.uint64(),
		free:  d.size(),
		bytes: d.size(),
		flags: Flags(d.byte()),
	}
	if d.err != nil {
		return nil, fmt.Errorf("contract: %w", d.err)
	}
	if len(d.rest) > 0 {
		c.meta = d.rest
	}
	return c, nil
}

// hashDesc returns a hash of what members compare of a Desc: all but Flags and
// the size along Free. Every bit of the result depends on all of it.
func hashDesc(d *Desc) uint64 {
	h := fnv.New64a()
	h.Write(appendDesc(nil, compared(d)))
	x := h.Sum64() // FNV's high bits depend little on the last bytes
	x ^= x >> 33   // so mix as MurmurHash3's 64-bit finalizer does
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// compared returns d with 0 for what members do not compare.
func compared(d *Desc) *Desc {
	c := *d
	c.Flags = 0
	if len(c.Pairs) == 0 {
		c.Pairs = nil
	}
	if 0 <= c.Free && c.Free < len(c.Shape) {
		c.Shape = append([]int{}, c.Shape...)
		c.Shape[c.Free] = 0
	}
	return &c
}

// appendDesc appends the encoding of d to buf and returns the result. Numbers
// take 8 bytes, texts and lists are preceded by their length; the length of a
// list is one more than it is, and 0 for a nil list. The encoding is unique.
func appendDesc(buf []byte, d *Desc) []byte {
	for _, s := range []string{d.Op, d.DType, d.Reduce} {
		buf = appendInt(buf, len(s))
		buf = append(buf, s...)
	}
	for _, x := range []int{d.Free, d.Root, d.Dims[0], d.Dims[1]} {
		buf = appendInt(buf, x)
	}
	buf = append(buf, byte(d.Flags))
	buf = appendInt(buf, listLen(d.Shape))
	for _, x := range d.Shape {
		buf = appendInt(buf, x)
	}
	buf = appendInt(buf, listLen(d.Pairs))
	for _, p := range d.Pairs {
		buf = appendInt(appendInt(buf, p[0]), p[1])
	}
	return buf
}

func appendInt(buf []byte, x int) []byte {
	return binary.LittleEndian.AppendUint64(buf, uint64(x))
}

func listLen[T any](list []T) int {
	if list == nil {
		return 0
	}
	return len(list) + 1
}

// decodeDesc decodes what appendDesc appends, and nothing else. Free of the
// result is an axis of its shape, or -1.
func decodeDesc(b []byte) (*Desc, error) {
	d := decoder{rest: b}
	desc := &Desc{
		Op:     d.string(),
		DType:  d.string(),
		Reduce: d.string(),
		Free:   d.int(),
		Root:   d.int(),
		Dims:   [2]int{d.int(), d.int()},
		Flags:  Flags(d.byte()),
	}
	if n := d.list(8); n >= 0 {
		desc.Shape = make([]int, n)
		for i := range desc.Shape {
			desc.Shape[i] = d.int()
		}
	}
	if n := d.list(16); n >= 0 {
		desc.Pairs = make([][2]int, n)
		for i := range desc.Pairs {
			desc.Pairs[i] = [2]int{d.int(), d.int()}
		}
	}
	if desc.Free != -1 && (desc.Free < 0 || desc.Free >= len(desc.Shape)) {
		d.fail("alien", fmt.Sprintf("axis %d", desc.Free), fmt.Sprintf("-1 or one of %d", len(desc.Shape)))
	}
	if d.err == nil && len(d.rest) > 0 {
		d.fail("length", fmt.Sprintf("%d bytes more", len(d.rest)), "none")
	}
	if d.err != nil {
		return nil, fmt.Errorf("desc: %w", d.err)
	}
	return desc, nil
}

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

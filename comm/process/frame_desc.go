package process

import (
	"encoding/binary"
	"fmt"

	"tpsh/comm"
)

// A contract is what a member tells the others of its call before any data.
// With it travels the first data that is for the receiver, if they are short.
type contract struct {
	hash    uint64 // of what members compare; see hashDesc
	flags   comm.Flags
	free    int    // the size along Desc.Free, 0 if that is -1
	bytes   int    // the length of In[0], 0 if there is none
	staging uint32 // one more than the number of the staging buffer for large data, 0 if there is none
	use     uint32 // the number of the staging buffer's use
	first   int    // one more than the tag of data, 0 if there are none
	meta    []byte
	data    []byte
}

// contractBytes is the length of the part of a contract that all have.
const contractBytes = 41

// appendContract appends the encoding of c to buf and returns the result: the
// hash, free and bytes as 8 bytes each; staging buffer, use, first and the length of meta
// as 4; the flags as one; then meta, and data to the end.
func appendContract(buf []byte, c *contract) []byte {
	buf = binary.LittleEndian.AppendUint64(buf, c.hash)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(c.free))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(c.bytes))
	buf = binary.LittleEndian.AppendUint32(buf, c.staging)
	buf = binary.LittleEndian.AppendUint32(buf, c.use)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(c.first))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(c.meta)))
	buf = append(buf, byte(c.flags))
	return append(append(buf, c.meta...), c.data...)
}

// decode decodes what appendContract appends. meta and data of the result are
// parts of b.
func (c *contract) decode(b []byte) error {
	d := decoder{rest: b}
	c.hash = d.uint64()
	c.free = d.size()
	c.bytes = d.size()
	c.staging = d.uint32()
	c.use = d.uint32()
	c.first = int(d.uint32())
	length := int(d.uint32())
	c.flags = comm.Flags(d.byte())
	c.meta = d.take(length)
	c.data = d.rest
	if len(c.meta) == 0 {
		c.meta = nil
	}
	if len(c.data) == 0 {
		c.data = nil
	}
	if c.data != nil && c.first == 0 {
		d.fail("alien", fmt.Sprintf("%d bytes of no message", len(c.data)), "none")
	}
	if d.err != nil {
		return fmt.Errorf("contract: %w", d.err)
	}
	return nil
}

// appendDesc appends the encoding of d to buf and returns the result. Numbers
// take 8 bytes, texts and lists are preceded by their length; the length of a
// list is one more than it is, and 0 for a nil list. The encoding is unique.
func appendDesc(buf []byte, d *comm.Desc) []byte {
	for _, s := range []string{d.Op, d.DType, d.Reduce, d.Detail} {
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
func decodeDesc(b []byte) (*comm.Desc, error) {
	d := decoder{rest: b}
	desc := &comm.Desc{
		Op:     d.string(),
		DType:  d.string(),
		Reduce: d.string(),
		Detail: d.string(),
		Free:   d.int(),
		Root:   d.int(),
		Dims:   [2]int{d.int(), d.int()},
		Flags:  comm.Flags(d.byte()),
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

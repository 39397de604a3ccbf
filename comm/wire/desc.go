package wire

import (
	"encoding/binary"
	"fmt"

	"tpsh/comm"
)

// A Contract is the message by which a member tells the others of its call, before any data.
// With it travels the first data that is for the receiver, if they are short.
type Contract struct {
	Hash    uint64 // of the fields that members compare; see HashDesc
	Flags   comm.Flags
	Free    int    // the size along Desc.Free, 0 if that is -1
	Bytes   int    // the length of In[0], 0 if there is none; where each member has blocks for each, of the longest
	Staging uint32 // one more than the number of the staging buffer for large data, 0 if there is none
	Use     uint32 // the number of the staging buffer's use
	First   int    // one more than the tag of data, 0 if there are none
	Meta    []byte
	Data    []byte
}

// AppendContract appends the encoding of c to buf and returns the result: the
// hash, free and bytes as 8 bytes each; staging buffer, use, first and the length of meta
// as 4; the flags as one; then meta, and data to the end.
func AppendContract(buf []byte, c *Contract) []byte {
	buf = binary.LittleEndian.AppendUint64(buf, c.Hash)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(c.Free))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(c.Bytes))
	buf = binary.LittleEndian.AppendUint32(buf, c.Staging)
	buf = binary.LittleEndian.AppendUint32(buf, c.Use)
	buf = binary.LittleEndian.AppendUint32(buf, uint32(c.First))
	buf = binary.LittleEndian.AppendUint32(buf, uint32(len(c.Meta)))
	buf = append(buf, byte(c.Flags))
	return append(append(buf, c.Meta...), c.Data...)
}

// Decode is the inverse of AppendContract. meta and data of the result are
// parts of b.
func (c *Contract) Decode(b []byte) error {
	d := Decoder{Rest: b}
	c.Hash = d.Uint64()
	c.Free = d.Size()
	c.Bytes = d.Size()
	c.Staging = d.uint32()
	c.Use = d.uint32()
	c.First = int(d.uint32())
	length := int(d.uint32())
	c.Flags = comm.Flags(d.byte())
	c.Meta = d.Take(length)
	c.Data = d.Rest
	if len(c.Meta) == 0 {
		c.Meta = nil
	}
	if len(c.Data) == 0 {
		c.Data = nil
	}
	if c.Data != nil && c.First == 0 {
		d.Fail("alien", fmt.Sprintf("%d bytes of no message", len(c.Data)), "none")
	}
	if d.Err != nil {
		return fmt.Errorf("contract: %w", d.Err)
	}
	return nil
}

// appendDesc appends the encoding of d to buf and returns the result. Numbers
// take 8 bytes, texts and lists are preceded by their length; the length of a
// list is one more than it is, and 0 for a nil list. The encoding is unique.
func appendDesc(buf []byte, d *comm.Desc) []byte {
	for _, s := range []string{d.Op, d.DType, d.Reduce, d.Detail} {
		buf = AppendInt(buf, len(s))
		buf = append(buf, s...)
	}
	for _, x := range []int{d.Free, d.Root, d.Dims[0], d.Dims[1]} {
		buf = AppendInt(buf, x)
	}
	buf = AppendInt(append(buf, byte(d.Flags)), int(MoreByte(d.Exact)))
	buf = AppendInt(buf, ListLen(d.Shape))
	for _, x := range d.Shape {
		buf = AppendInt(buf, x)
	}
	buf = AppendInt(buf, ListLen(d.Pairs))
	for _, p := range d.Pairs {
		buf = AppendInt(AppendInt(buf, p[0]), p[1])
	}
	return buf
}

// decodeDesc is the inverse of appendDesc, and refuses all other bytes. Free of the
// result is an axis of its shape, or -1.
func decodeDesc(b []byte) (*comm.Desc, error) {
	d := Decoder{Rest: b}
	desc := &comm.Desc{
		Op:     d.Text(),
		DType:  d.Text(),
		Reduce: d.Text(),
		Detail: d.Text(),
		Free:   d.Int(),
		Root:   d.Int(),
		Dims:   [2]int{d.Int(), d.Int()},
		Flags:  comm.Flags(d.byte()),
		Exact:  d.bool(),
	}
	if n := d.List(8); n >= 0 {
		desc.Shape = make([]int, n)
		for i := range desc.Shape {
			desc.Shape[i] = d.Int()
		}
	}
	if n := d.List(16); n >= 0 {
		desc.Pairs = make([][2]int, n)
		for i := range desc.Pairs {
			desc.Pairs[i] = [2]int{d.Int(), d.Int()}
		}
	}
	if desc.Free != -1 && (desc.Free < 0 || desc.Free >= len(desc.Shape)) {
		d.Fail("alien", fmt.Sprintf("axis %d", desc.Free), fmt.Sprintf("-1 or one of %d", len(desc.Shape)))
	}
	if d.Err == nil && len(d.Rest) > 0 {
		d.Fail("length", fmt.Sprintf("%d bytes more", len(d.Rest)), "none")
	}
	if d.Err != nil {
		return nil, fmt.Errorf("desc: %w", d.Err)
	}
	return desc, nil
}

package wire

import (
	"encoding/binary"

	"tpsh/comm"
)

// HashDesc returns a hash of the fields that members compare of a Desc: all but Flags and
// the size along Free. Every bit of the result depends on all of it.
func HashDesc(d *comm.Desc) uint64 {
	h := hasher(0x9e3779b97f4a7c15)
	h.text(d.Op)
	h.text(d.DType)
	h.text(d.Reduce)
	h.text(d.Detail)
	for _, x := range [...]int{d.Free, d.Root, d.Dims[0], d.Dims[1], ListLen(d.Shape)} {
		h.number(uint64(x))
	}
	for i, x := range d.Shape {
		if i == d.Free {
			x = 0
		}
		h.number(uint64(x))
	}
	if d.Exact {
		h.text("exact")
	}
	h.number(uint64(len(d.Pairs)))
	for _, p := range d.Pairs {
		h.number(uint64(p[0]))
		h.number(uint64(p[1]))
	}
	return h.mixed()
}

// A hasher is the hash of the numbers and texts it was given. Each step is a
// bijection of the hash before it.
type hasher uint64

func (h *hasher) number(n uint64) {
	x := (uint64(*h) + 0x9e3779b97f4a7c15 ^ n) * 0xff51afd7ed558ccd
	*h = hasher(x ^ x>>32)
}

// mixed returns the hash, mixed as MurmurHash3's 64-bit finalizer does.
func (h *hasher) mixed() uint64 {
	x := uint64(*h)
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

func (h *hasher) text(s string) {
	h.number(uint64(len(s)))
	for len(s) > 0 {
		var word [8]byte
		n := copy(word[:], s)
		h.number(binary.LittleEndian.Uint64(word[:]))
		s = s[n:]
	}
}

package wire

import (
	"bytes"
	"encoding/binary"
)

// listedHead is how many bytes stand before a contract in a list: of how many members it is, one after
// the other, and its length, 4 bytes each.
const listedHead = 8

// AppendListed appends the encoding of a contract of so many members to a list of such.
func AppendListed(list []byte, repeats int, c *Contract) []byte {
	at := len(list)
	list = AppendContract(append(list, 0, 0, 0, 0, 0, 0, 0, 0), c)
	SetRepeats(list[at:], repeats)
	binary.LittleEndian.PutUint32(list[at+4:], uint32(len(list)-at-listedHead))
	return list
}

// SetRepeats says of how many members the first contract of a list is.
func SetRepeats(list []byte, repeats int) { binary.LittleEndian.PutUint32(list, uint32(repeats)) }

// SameListed reports whether two lists of one contract each have the same, of however many members.
func SameListed(a, b []byte) bool { return bytes.Equal(a[4:], b[4:]) }

// Listed returns the contract of a list of one, as AppendContract encodes it.
func Listed(list []byte) []byte { return list[listedHead:] }

// NextListed decodes the first contract of a list to c, and returns of how many members it is, and the
// rest of the list. Meta and Data of c are parts of the list.
func NextListed(list []byte, c *Contract) (repeats int, rest []byte, err error) {
	d := Decoder{Rest: list}
	repeats = int(d.uint32())
	b := d.Take(int(d.uint32()))
	if d.Err != nil {
		return 0, nil, d.Err
	}
	return repeats, d.Rest, c.Decode(b)
}

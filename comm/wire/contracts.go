package wire

import "encoding/binary"

// AppendListed appends the encoding of a contract to a list of such, behind its length in
// 4 bytes.
func AppendListed(list []byte, c *Contract) []byte {
	at := len(list)
	list = AppendContract(append(list, 0, 0, 0, 0), c)
	binary.LittleEndian.PutUint32(list[at:], uint32(len(list)-at-4))
	return list
}

// NextListed decodes the first contract of a list to c, and returns the rest of the list. Meta and
// Data of c are parts of it.
func NextListed(list []byte, c *Contract) (rest []byte, err error) {
	d := Decoder{Rest: list}
	b := d.Take(int(d.uint32()))
	if d.Err != nil {
		return nil, d.Err
	}
	return d.Rest, c.Decode(b)
}

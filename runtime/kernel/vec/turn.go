package vec

import "encoding/binary"

// Side is how many rows and columns of elements of 4 bytes a square has that Turn takes.
const Side = 32

// Turn stores in dst, in order, the columns of a square whose rows are row bytes apart in src. The
// bytes of an element keep their order whatever it is. It panics if one lies outside its slice.
func Turn(dst, src []byte, row int) {
	dst, src = dst[:4*Side*Side], src[:(Side-1)*row+4*Side]
	if active == Portable {
		turnGo(dst, src, row)
		return
	}
	turn(dst, src, row)
}

// turnGo is Turn: two rows and two columns at a time.
func turnGo(dst, src []byte, row int) {
	const low = 1<<32 - 1
	for c := 0; c < Side; c += 2 {
		x, y, to := src[c*row:][:4*Side], src[(c+1)*row:][:4*Side], dst[4*c:4*(Side*Side-Side)+4*c+8]
		for r := 0; r < Side; r += 2 {
			a, b := binary.LittleEndian.Uint64(x[4*r:4*r+8]), binary.LittleEndian.Uint64(y[4*r:4*r+8])
			binary.LittleEndian.PutUint64(to[4*Side*r:4*Side*r+8], a&low|b<<32)
			binary.LittleEndian.PutUint64(to[4*Side*(r+1):4*Side*(r+1)+8], a>>32|b&^low)
		}
	}
}

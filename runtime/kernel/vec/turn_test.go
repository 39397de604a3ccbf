package vec

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// On every set a square is turned, whatever the distance of its rows, and nothing around the
// result is written.
func TestTurn(t *testing.T) {
	defer Use(best)
	for _, row := range []int{4 * Side, 4*Side + 4, 4*Side + 3, 1 << 12} {
		src := make([]byte, (Side-1)*row+4*Side)
		for i := range src {
			src[i] = byte(i * 7 >> 3)
		}
		for _, s := range Sets() {
			Use(s)
			dst := make([]byte, 4*Side*Side+2)
			Turn(dst[1:], src, row)
			for r := range Side {
				for c := range Side {
					got, want := dst[1+4*(r*Side+c):][:4], src[c*row+4*r:][:4]
					if !bytes.Equal(got, want) {
						t.Fatalf("%v, rows %d bytes apart: element (%d, %d) is %#x, want %#x", s, row, r, c, got, want)
					}
				}
			}
			if around := binary.LittleEndian.Uint16([]byte{dst[0], dst[len(dst)-1]}); around != 0 {
				t.Fatalf("%v: what is around the result is %#x", s, around)
			}
		}
	}
}

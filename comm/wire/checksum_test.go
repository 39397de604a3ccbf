package wire

import (
	"fmt"
	"hash/crc32"
	"testing"

	"pgregory.net/rapid"
)

// A checksum is that of the standard library.
func TestChecksum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		length := rapid.IntRange(0, 20000).Draw(t, "length")
		seed := rapid.Uint32().Draw(t, "seed")
		sum := rapid.Uint32().Draw(t, "sum")
		at := rapid.IntRange(0, min(70, length)).Draw(t, "at")
		b := make([]byte, length)
		for i := range b {
			seed = seed*1664525 + 1013904223
			b[i] = byte(seed >> 24)
		}
		b = b[at:]
		if got, want := crc(sum, b), crc32.Update(sum, castagnoli, b); got != want {
			t.Fatalf("crc(%08x, %d bytes) = %08x, want %08x", sum, len(b), got, want)
		}
	})
}

func BenchmarkChecksum(b *testing.B) {
	for _, length := range []int{1 << 10, 16 << 10, 256 << 10} {
		data := make([]byte, length)
		for name, f := range map[string]func(uint32, []byte) uint32{
			"crc":     crc,
			"library": func(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli, b) },
		} {
			b.Run(fmt.Sprintf("%s/%d", name, length), func(b *testing.B) {
				b.SetBytes(int64(length))
				for b.Loop() {
					f(0, data)
				}
			})
		}
	}
}

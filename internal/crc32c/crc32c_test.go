package crc32c

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
		if got, want := Update(sum, b), crc32.Update(sum, castagnoli(), b); got != want {
			t.Fatalf("Update(%08x, %d bytes) = %08x, want %08x", sum, len(b), got, want)
		}
	})
}

// Every length up to more than is short, at every alignment.
func TestShortChecksum(t *testing.T) {
	b := make([]byte, mostShort+24)
	for i := range b {
		b[i] = byte(i*i>>3 + i)
	}
	for n := range mostShort + 16 {
		part := b[n%8:][:n]
		if got, want := update(uint32(n)<<20, part), crc32.Update(uint32(n)<<20, castagnoli(), part); got != want {
			t.Fatalf("update of %d bytes = %08x, want %08x", n, got, want)
		}
	}
}

// The first bytes of a process are summed without the tables, and what comes later with them.
func TestEarlyChecksum(t *testing.T) {
	early.Store(0)
	defer early.Store(mostEarly)
	b := make([]byte, mostEarly/4+3)
	for i := range b {
		b[i] = byte(i*i>>5 + i)
	}
	want := crc32.Update(7, castagnoli(), b)
	for i := range 6 {
		if got, is := update(7, b), early.Load() < mostEarly; got != want || is != (i < 3) {
			t.Errorf("update, call %d, = %08x, and the next is early: %v, want %08x and %v", i, got, is, want, i < 3)
		}
	}
	if got := early.Load(); got > 2*mostEarly {
		t.Errorf("counted %d bytes, want it to have stopped", got)
	}
}

func BenchmarkChecksum(b *testing.B) {
	for _, length := range []int{64, 512, 1 << 10, 16 << 10, 256 << 10} {
		data := make([]byte, length)
		for name, f := range map[string]func(uint32, []byte) uint32{
			"crc32c":  Update,
			"library": func(sum uint32, b []byte) uint32 { return crc32.Update(sum, castagnoli(), b) },
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

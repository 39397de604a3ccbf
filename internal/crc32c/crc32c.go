// Package crc32c makes checksums: CRC-32C, of the polynomial of Castagnoli, as file systems have
// it. Frames between processes have one, as have messages of a control connection, the parts of
// checkpoints and what ranks compare.
//
// It is package hash/crc32 with two differences. Long bytes are folded, where the processor
// multiplies vectors of polynomials, which is several times as fast; and of short ones, and of the first
// of a process, the sum is made by the processor's instruction alone, without the tables of that
// package, which take 0.3 ms of a process that starts. Elsewhere it is that package. For example, of a message in two parts:
//
//	sum := crc32c.Update(crc32c.Checksum(length), message)
package crc32c

import (
	"hash/crc32"
	"sync"
	"sync/atomic"
)

// castagnoli is made when it is needed: that takes longer than all checksums of a short program.
var castagnoli = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })

// Checksum returns the checksum of b.
func Checksum(b []byte) uint32 { return Update(0, b) }

// Update returns the checksum of bytes of which sum is that of the first, and b the rest.
//
// A block of b is congruent to one of 64 bytes, modulo the polynomial, which is
// found by folding. Gopal et al., "Fast CRC computation for generic polynomials
// using PCLMULQDQ instruction", Intel 2009.
func Update(sum uint32, b []byte) uint32 {
	if whole := len(b) / foldBytes * foldBytes; folds && whole >= leastFold {
		var rest [64]byte
		fold(&rest, b[:whole], ^sum, &foldBy)
		sum, b = update(^uint32(0), rest[:]), b[whole:]
	}
	return update(sum, b)
}

// update is Update without folding. The library interleaves what is long.
func update(sum uint32, b []byte) uint32 {
	if hasCRC && (len(b) < mostShort || isEarly(len(b))) {
		return shortCRC(sum, b)
	}
	return crc32.Update(sum, castagnoli(), b)
}

// isEarly reports whether the process has made checksums of so few bytes, with these n, that
// castagnoli would take longer than it saves.
func isEarly(n int) bool { return early.Load() < mostEarly && early.Add(int64(n)) < mostEarly }

// early is of how many bytes isEarly was told, at the most mostEarly and some more.
var early atomic.Int64

const (
	foldBytes = 256     // that are folded at a time
	leastFold = 4096    // bytes that are worth it
	mostShort = 512     // bytes below which the library does not interleave
	mostEarly = 2 << 20 // bytes that take 0.2 ms longer without the library
)

// foldBy holds the factors by which the halves of 128 bits are folded into those that
// come 2048 bits later, and those for 512 bits.
var foldBy = [4]uint64{power(2048 + 32), power(2048 - 32), power(512 + 32), power(512 - 32)}

// power returns x to the n modulo the polynomial, with the bits reversed and in
// the place where a product of two reversed factors needs it.
func power(n int) uint64 {
	v := uint32(1) << 31
	for range n {
		v = v>>1 ^ crc32.Castagnoli&-(v&1)
	}
	return uint64(v) << 1
}

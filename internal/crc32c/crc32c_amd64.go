package crc32c

import "golang.org/x/sys/cpu"

// hasCRC says whether shortCRC can be called.
var hasCRC = cpu.X86.HasSSE42

// shortCRC returns what crc32.Update does with castagnoli, by the processor's instruction for
// it, which takes 8 bytes at a time.
//
//go:noescape
func shortCRC(sum uint32, b []byte) uint32

// folds says whether fold can be called.
var folds = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ

// fold sets dst to bytes that, behind a checksum register of zero, give the sum that b
// gives behind the register sum. The length of b is a multiple of foldBytes, and
// not 0. by is foldBy.
//
//go:noescape
func fold(dst *[64]byte, b []byte, sum uint32, by *[4]uint64)

package wire

import "golang.org/x/sys/cpu"

// folds says whether fold can be called.
var folds = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ

// fold sets dst to bytes that, behind a checksum register of zero, give the sum that b
// gives behind the register sum. The length of b is a multiple of foldBytes, and
// not 0. by is foldBy.
//
//go:noescape
func fold(dst *[64]byte, b []byte, sum uint32, by *[4]uint64)

//go:build !amd64

package crc32c

// folds says that fold cannot be called.
const folds = false

func fold(*[64]byte, []byte, uint32, *[4]uint64) {}

// hasCRC says that shortCRC cannot be called.
const hasCRC = false

func shortCRC(uint32, []byte) uint32 { panic("crc32c: no instruction for checksums") }

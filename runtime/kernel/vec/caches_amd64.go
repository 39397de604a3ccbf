package vec

import "encoding/binary"

// cpuid returns what the instruction of this name says.
//
//go:noescape
func cpuid(leaf, index uint32) (eax, ebx, ecx, edx uint32)

// The leaves of cpuid that are of use here: Intel, "Intel 64 and IA-32
// Architectures Software Developer's Manual", volume 2A, CPUID.
const (
	leafVendor = 0
	leafCaches = 4 // of Intel: index after index a cache
)

// The leaves of AMD: "AMD64 Architecture Programmer's Manual", volume 3, appendix E.
const (
	leafMostAMD   = 0x80000000
	leafCachesAMD = 0x8000001d // as leafCaches
)

// SecondLevel returns the bytes of a core's second-level cache where cpuid tells them, as
// on Intel's processors, and 0 elsewhere.
func SecondLevel() int {
	most, vendor := vendor()
	if most < leafCaches || vendor != "GenuineIntel" {
		return 0
	}
	return cacheBytes(leafCaches, 2)
}

// secondLevelAMD is SecondLevel on AMD's processors.
func secondLevelAMD() int {
	if _, vendor := vendor(); vendor != "AuthenticAMD" {
		return 0
	}
	if most, _, _, _ := cpuid(leafMostAMD, 0); most < leafCachesAMD {
		return 0
	}
	return cacheBytes(leafCachesAMD, 2)
}

// vendor returns the greatest leaf and who made the processor.
func vendor() (most uint32, name string) {
	most, b, c, d := cpuid(leafVendor, 0)
	var text [12]byte
	binary.LittleEndian.PutUint32(text[:], b)
	binary.LittleEndian.PutUint32(text[4:], d)
	binary.LittleEndian.PutUint32(text[8:], c)
	return most, string(text[:])
}

// cacheBytes returns the bytes of the unified cache of a level, 0 if leaf tells of none.
func cacheBytes(leaf, level uint32) int {
	for index := range uint32(16) {
		kind, sizes, sets, _ := cpuid(leaf, index)
		if kind&31 == 0 { // no more caches
			break
		}
		const unified = 3
		if kind&31 == unified && kind>>5&7 == level {
			ways, parts, line := sizes>>22+1, sizes>>12&1023+1, sizes&4095+1
			return int(ways * parts * line * (sets + 1))
		}
	}
	return 0
}

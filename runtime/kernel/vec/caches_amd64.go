package gemm

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

// nearBytes is the size of an operand up to which its rows are read where they
// lie, in this family of processors. On Intel's, whose second-level cache serves a
// tile's loads beside its multiply-adds, it is three eighths of that cache: on one of
// 2 MiB products of 96 to 400 cubed take 0.82 to 0.92 of the time with packing, and
// those of 64 by 1024 by 64 take 0.74, but with half of the cache one of 500 cubed
// takes 1.04. On others it is what the first-level cache holds, as was measured on
// AMD's Zen.
func nearBytes() int {
	most, b, c, d := cpuid(leafVendor, 0)
	if most < leafCaches || b != 'G'|'e'<<8|'n'<<16|'u'<<24 || d != 'i'|'n'<<8|'e'<<16|'I'<<24 || c != 'n'|'t'<<8|'e'<<16|'l'<<24 {
		return firstLevel
	}
	for index := range uint32(16) {
		kind, sizes, sets, _ := cpuid(leafCaches, index)
		if kind&31 == 0 { // no more caches
			break
		}
		const unified, second = 3, 2 << 5
		if kind&31 == unified && kind&0xe0 == second {
			ways, parts, line := sizes>>22+1, sizes>>12&1023+1, sizes&4095+1
			return max(firstLevel, int(ways*parts*line*(sets+1))/8*3)
		}
	}
	return firstLevel
}

package vec

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

// SecondLevel returns the bytes of a core's second-level cache where cpuid tells them, as
// on Intel's processors, and 0 elsewhere.
func SecondLevel() int {
	most, b, c, d := cpuid(leafVendor, 0)
	if most < leafCaches || b != 'G'|'e'<<8|'n'<<16|'u'<<24 || d != 'i'|'n'<<8|'e'<<16|'I'<<24 || c != 'n'|'t'<<8|'e'<<16|'l'<<24 {
		return 0
	}
	for index := range uint32(16) {
		kind, sizes, sets, _ := cpuid(leafCaches, index)
		if kind&31 == 0 { // no more caches
			break
		}
		const unified, second = 3, 2 << 5
		if kind&31 == unified && kind&0xe0 == second {
			ways, parts, line := sizes>>22+1, sizes>>12&1023+1, sizes&4095+1
			return int(ways * parts * line * (sets + 1))
		}
	}
	return 0
}

package vec

import "slices"

// A Set is a set of instructions that kernels are written in.
type Set uint8

// The sets of instructions.
const (
	Portable Set = iota // Go
	AVX2                // AVX2, FMA, F16C and BMI2
	AVX512              // AVX-512 F, BW, CD, DQ and VL
	AMX                 // AVX-512 and tiles of bfloat16, which are for products alone
	NEON                // Advanced SIMD, which every arm64 has
)

// Known returns all sets.
func Known() []Set { return []Set{Portable, AVX2, AVX512, AMX, NEON} }

// String returns the name of s.
func (s Set) String() string { return [...]string{"portable", "avx2", "avx512", "amx", "neon"}[s] }

// Sets returns the sets that this machine and its operating system have, each of
// which includes those before it: Portable first, the best last.
func Sets() []Set { return slices.Clone(here) }

// Best returns the last of Sets.
func Best() Set { return here[len(here)-1] }

// here are the sets of this machine.
var here = find()

// chosen is the set in use, and active what functions of vectors run in. Only Use
// sets them.
var (
	chosen = Best()
	active = chosen.vectors()
)

// Active returns the set that kernels run in: the best one, unless Use chose
// another.
func Active() Set { return chosen }

// vectors returns the set of the vectors of s.
func (s Set) vectors() Set {
	if s == AMX {
		return AVX512
	}
	return s
}

// Use makes kernels run in s for as long as the process lives. A program calls
// it at most once, before it runs a kernel: no lock guards the choice. It
// panics if this machine does not have s.
func Use(s Set) {
	if !slices.Contains(here, s) {
		panic("vec: instruction set " + s.String() + " is not of this machine")
	}
	chosen, active = s, s.vectors()
}

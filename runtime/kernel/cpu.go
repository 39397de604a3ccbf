package kernel

import (
	"fmt"
	"slices"

	"tpsh/runtime/kernel/vec"
)

// A Set is a set of instructions that kernels are written in. Every kernel
// gives the same bits in each of them; only its speed differs.
type Set = vec.Set

// The sets of instructions.
const (
	Portable = vec.Portable
	AVX2     = vec.AVX2
	AVX512   = vec.AVX512
	AMX      = vec.AMX
	NEON     = vec.NEON
)

// Known returns all sets.
func Known() []Set { return vec.Known() }

// Sets returns the sets that this machine has, each of which includes those
// before it.
func Sets() []Set { return vec.Sets() }

// Best returns the last of Sets.
func Best() Set { return vec.Best() }

// Active returns the set that kernels run in: the best one, unless Use chose
// another.
func Active() Set { return vec.Active() }

// Use makes kernels run in s for as long as the process lives. A program calls
// it at most once, before it runs a kernel: no lock guards the choice. It
// panics if this machine does not have s.
func Use(s Set) { vec.Use(s) }

// Choose returns the set called name, "auto" for the best. It refuses a name
// that is unknown and a set that this machine does not have.
func Choose(name string) (Set, error) {
	if name == "auto" {
		return Best(), nil
	}
	for _, s := range Known() {
		if s.String() != name {
			continue
		}
		if !slices.Contains(Sets(), s) {
			return 0, fmt.Errorf("instruction set %q: this machine has %s at best", name, Best())
		}
		return s, nil
	}
	return 0, fmt.Errorf("instruction set %q: want auto, %s, %s, %s, %s or %s", name, Portable, AVX2, AVX512, AMX, NEON)
}

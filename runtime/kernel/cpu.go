package kernel

import (
	"fmt"
	"strings"
)

// A Set is a set of instructions that kernels are written in. Every kernel
// gives the same bits in each of them; only its speed differs.
type Set uint8

// The sets of instructions, each of which includes those before it.
const (
	Portable Set = iota // Go
	AVX2                // AVX2, FMA, F16C and BMI2
	AVX512              // AVX-512 F, BW, CD, DQ and VL
)

// setNames are the names of the sets, as Choose takes them.
var setNames = [...]string{"portable", "avx2", "avx512"}

// String returns the name of s.
func (s Set) String() string { return setNames[s] }

// Best returns the greatest set that this machine has.
func Best() Set { return best }

// Choose returns the set called name, "auto" for the best. It refuses a name
// that is unknown and a set that this machine does not have.
func Choose(name string) (Set, error) {
	if name == "auto" {
		return best, nil
	}
	for i, n := range setNames {
		if n != name {
			continue
		}
		if s := Set(i); s <= best {
			return s, nil
		}
		return 0, fmt.Errorf("instruction set %q: this machine has not got it; it has %s", name, strings.Join(setNames[:best+1], ", "))
	}
	return 0, fmt.Errorf("instruction set %q: want auto, %s", name, strings.Join(setNames[:], ", "))
}

// active is the set in use. Only Use sets it.
var active = best

// Active returns the set that kernels run in: the best one, unless Use chose
// another.
func Active() Set { return active }

// Use makes kernels run in s for as long as the process lives. A program calls
// it at most once, before it runs a kernel: no lock guards the choice. It
// panics if this machine does not have s.
func Use(s Set) {
	if s > best {
		panic("kernel: instruction set " + s.String() + " is not of this machine")
	}
	active = s
}

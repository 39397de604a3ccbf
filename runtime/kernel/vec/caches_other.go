//go:build !amd64

package vec

// SecondLevel returns the bytes of a core's second-level cache where cpuid tells them,
// and 0 elsewhere.
func SecondLevel() int { return 0 }

// secondLevelAMD is SecondLevel of AMD's processors.
func secondLevelAMD() int { return 0 }

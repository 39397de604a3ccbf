//go:build !amd64

package vec

// SecondLevel returns the bytes of a core's second-level cache where cpuid tells them,
// and 0 elsewhere.
func SecondLevel() int { return 0 }

// thirdLevel returns the bytes of the third-level cache where that is of use, and 0 elsewhere.
func thirdLevel() int { return 0 }

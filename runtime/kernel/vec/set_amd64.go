package vec

import "golang.org/x/sys/cpu"

// Best returns the greatest set that this machine and its operating system
// have.
func Best() Set {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasF16C || !x.HasBMI2:
		return Portable
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512CD || !x.HasAVX512DQ || !x.HasAVX512VL:
		return AVX2
	}
	return AVX512
}

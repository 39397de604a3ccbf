package vec

import "golang.org/x/sys/cpu"

// find returns Sets.
func find() []Set {
	x := &cpu.X86
	switch {
	case !x.HasAVX2 || !x.HasFMA || !x.HasF16C || !x.HasBMI2:
		return []Set{Portable}
	case !x.HasAVX512F || !x.HasAVX512BW || !x.HasAVX512CD || !x.HasAVX512DQ || !x.HasAVX512VL:
		return []Set{Portable, AVX2}
	case !hasAMX():
		return []Set{Portable, AVX2, AVX512}
	}
	return []Set{Portable, AVX2, AVX512, AMX}
}

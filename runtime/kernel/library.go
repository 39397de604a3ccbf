package kernel

import (
	"fmt"
	"os"

	"tpsh/runtime/kernel/blas"
	"tpsh/runtime/kernel/gemm"
)

// ChooseBLAS returns the library called name that is to multiply matrices:
// "openblas" for the OpenBLAS that is installed, "own" for none, which leaves
// it to the kernels of tpsh. It refuses an unknown name, and says why there is
// no library that fits, by what was got and wanted.
func ChooseBLAS(name string) (*blas.Library, error) {
	switch name {
	case "own":
		return nil, nil
	case "openblas":
		l, err := blas.Find(os.LookupEnv)
		if err != nil {
			return nil, fmt.Errorf("got %q, want own: %w", name, err)
		}
		return l, nil
	}
	return nil, fmt.Errorf("got %q, want own or openblas", name)
}

// activeBLAS is the library in use. Only UseBLAS sets it.
var activeBLAS *blas.Library

// ActiveBLAS returns the library that multiplies matrices of floats, nil unless
// UseBLAS has chosen one.
func ActiveBLAS() *blas.Library { return activeBLAS }

// UseBLAS makes l multiply matrices of floats for as long as the process lives;
// see gemm.UseLibrary. Its sums have an order of their own, so that bits differ
// from those of the kernels of tpsh. A program calls it at most once, before it
// runs a kernel: no lock guards the choice.
func UseBLAS(l *blas.Library) {
	activeBLAS = l
	gemm.UseLibrary(l)
}

//go:build native && linux

package blas

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The library of this machine is found, says what it is, and multiplies.
func TestFind(t *testing.T) {
	l, err := Find(os.LookupEnv)
	if err != nil {
		t.Fatalf("%v (on Debian: apt-get install libopenblas0)", err)
	}
	if !filepath.IsAbs(l.Path) || l.Version == "unknown" || !strings.Contains(l.Config, "OpenBLAS") {
		t.Errorf("Find = %+v, want a path, a version and a description", l)
	}
	// [1 3; 2 4] by its transpose, by columns.
	a, c := []float64{1, 2, 3, 4}, make([]float64, 4)
	l.Dgemm(false, true, 2, 2, 2, &a[0], 2, &a[0], 2, &c[0], 2)
	if c[0] != 10 || c[1] != 14 || c[2] != 14 || c[3] != 20 {
		t.Errorf("Dgemm stored %v, want [10 14 14 20]", c)
	}
}

// What is no OpenBLAS is refused by name, though it can be opened.
func TestFindOfAnotherLibrary(t *testing.T) {
	_, err := Find(func(string) (string, bool) { return "libc.so.6", true })
	if err == nil || !strings.Contains(err.Error(), "libc.so.6: it is no OpenBLAS") {
		t.Errorf("Find = %v, want an error that says that libc.so.6 is no OpenBLAS", err)
	}
}

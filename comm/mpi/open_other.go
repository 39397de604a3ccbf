//go:build !native || !linux

package mpi

// Built says whether this binary can open an MPI library.
const Built = false

// Find fails: this binary opens no library.
func Find(func(string) (string, bool)) (*Library, error) { return nil, errNotBuilt }

// Join fails: this binary opens no library.
func Join(Options) (*World, error) { return nil, errNotBuilt }

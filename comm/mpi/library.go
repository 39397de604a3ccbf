package mpi

import (
	"errors"
	"fmt"
	"slices"
)

// A Library is an MPI that is installed here.
type Library struct {
	Path    string // of its file, or the name under which it was found
	Version string // "4.1.4"
	Family  string // "Open MPI", or "MPICH" for all that have its interface

	family *family
	handle uintptr // of the open library
}

// String returns something like "Open MPI 4.1.4 (/usr/lib/libmpi.so.40)".
func (l *Library) String() string { return fmt.Sprintf("%s %s (%s)", l.Family, l.Version, l.Path) }

// libraryVariable names the library to use.
const libraryVariable = "TPSH_MPI"

// find returns the first of the candidates that open opens and that is of the
// family that the launcher starts; or else, if only another is there, that.
func find(env func(string) (string, bool), open func(name string) (*Library, error)) (*Library, error) {
	if name, ok := env(libraryVariable); ok && name != "" {
		l, err := open(name)
		if err != nil {
			return nil, fmt.Errorf("mpi: for variable %q: got %q, want the file of an MPI library, like %s (%w)", libraryVariable, name, openMPI.files[0], err)
		}
		return l, nil
	}
	wanted := ""
	if launch, ok := Launched(env); ok {
		wanted = launch.family
	}
	var other *Library
	for _, name := range candidates(wanted) {
		l, err := open(name)
		switch {
		case err != nil:
		case wanted == "" || l.Family == wanted:
			return l, nil
		case other == nil:
			other = l
		}
	}
	if other == nil {
		return nil, errNone
	}
	return other, nil
}

var errNone = fmt.Errorf("mpi: got no MPI library, want one (neither %s nor %s is installed; %s may name the file of one)",
	openMPI.files[0], mpich.files[0], libraryVariable)

// candidates lists the names of libraries to try, those of the wanted family
// first.
func candidates(wanted string) []string {
	var names []string
	for _, first := range []bool{true, false} {
		for _, f := range families {
			if (f.name == wanted) == first {
				names = append(names, f.files...)
			}
		}
	}
	seen := map[string]bool{}
	names = slices.DeleteFunc(names, func(n string) bool {
		again := seen[n]
		seen[n] = true
		return again
	})
	return names
}

// errNotBuilt is why a binary without the tag opens no library.
var errNotBuilt = errors.New("mpi: this tpsh opens no MPI library; build one that does with CGO_ENABLED=0 go build -tags native ./cmd/tpsh (on Linux)")

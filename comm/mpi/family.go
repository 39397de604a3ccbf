package mpi

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// A family is the implementations of MPI that have the same binary interface.
type family struct {
	name    string
	starts  []string // how the text of MPI_Get_library_version may start
	files   []string // under which names the library is looked for
	handles int      // bytes of a handle

	world, bytes, noInfo, returnErrors constant

	anySource, anyTag int32
	sharedMemory      int32 // MPI_COMM_TYPE_SHARED

	status   int // bytes of an MPI_Status
	sourceAt int // in it
	tagAt    int
	count    func(status []byte) int // the bytes of the message, if it was one of MPI_BYTE
}

// A constant of MPI is a number in one family and the address of a symbol of
// the library in the other.
type constant struct {
	value  uintptr
	symbol string // "" for the value
}

// openMPI is the interface of Open MPI since 3.0: mpi.h of 4.1.4.
var openMPI = &family{
	name:         "Open MPI",
	starts:       []string{"Open MPI"},
	files:        []string{"libmpi.so.40", "libmpi.so"},
	handles:      8,
	world:        constant{symbol: "ompi_mpi_comm_world"},
	bytes:        constant{symbol: "ompi_mpi_byte"},
	noInfo:       constant{symbol: "ompi_mpi_info_null"},
	returnErrors: constant{symbol: "ompi_mpi_errors_return"},
	anySource:    -1,
	anyTag:       -1,
	sharedMemory: 0,

	// int MPI_SOURCE, MPI_TAG, MPI_ERROR, _cancelled; size_t _ucount
	status:   24,
	sourceAt: 0,
	tagAt:    4,
	count:    func(s []byte) int { return int(binary.NativeEndian.Uint64(s[16:])) },
}

// mpich is the common interface of MPICH, Intel MPI and MVAPICH
// (mpich.org/abi): mpi.h of MPICH 4.0.2.
var mpich = &family{
	name:         "MPICH",
	starts:       []string{"MPICH", "Intel", "MVAPICH", "CRAY MPICH"},
	files:        []string{"libmpich.so.12", "libmpi.so.12", "libmpich.so", "libmpi.so"},
	handles:      4,
	world:        constant{value: 0x44000000},
	bytes:        constant{value: 0x4c00010d},
	noInfo:       constant{value: 0x1c000000},
	returnErrors: constant{value: 0x54000001},
	anySource:    -2,
	anyTag:       -1,
	sharedMemory: 1,

	// int count_lo, count_hi_and_cancelled, MPI_SOURCE, MPI_TAG, MPI_ERROR
	status:   20,
	sourceAt: 8,
	tagAt:    12,
	count: func(s []byte) int {
		low, high := binary.NativeEndian.Uint32(s), binary.NativeEndian.Uint32(s[4:])
		return int(high>>1)<<32 | int(low)
	},
}

var families = []*family{openMPI, mpich}

// familyOf returns the family of the library that says text of itself.
func familyOf(text string) (*family, error) {
	for _, f := range families {
		for _, start := range f.starts {
			if strings.HasPrefix(text, start) {
				return f, nil
			}
		}
	}
	first, _, _ := strings.Cut(text, "\n")
	return nil, fmt.Errorf("got %q, want Open MPI, MPICH, Intel MPI or MVAPICH", first)
}

// versionOf returns the version number in the text of a library: its first
// word that has a digit first, or second after a "v".
func versionOf(text string) string {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\n\x00,", r) }) {
		word = strings.TrimPrefix(word, "v")
		if word != "" && '0' <= word[0] && word[0] <= '9' {
			return word
		}
	}
	return ""
}

// sourceOf returns the source of the message of a status.
func (f *family) sourceOf(status []byte) int {
	return int(int32(binary.NativeEndian.Uint32(status[f.sourceAt:])))
}

// tagOf returns the tag of the message of a status.
func (f *family) tagOf(status []byte) int {
	return int(int32(binary.NativeEndian.Uint32(status[f.tagAt:])))
}

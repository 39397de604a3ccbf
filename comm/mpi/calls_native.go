//go:build native && linux

package mpi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"
)

// calls is an engine that calls a library.
type calls struct {
	*Library
	functions functions

	all, bytes, noInfo, returnErrors uintptr // MPI_COMM_WORLD, MPI_BYTE, MPI_INFO_NULL, MPI_ERRORS_RETURN
	circles                          [circles]uintptr

	scratch *scratch
}

// functions are the addresses of the functions that are used.
type functions struct {
	initThread, finalize, abort, errorString   uintptr
	commRank, commSize, commDup, commSplitType uintptr
	commSetErrhandler, commFree                uintptr
	iprobe, isend, irecv, test, cancel         uintptr
	allgather, ibcast                          uintptr
}

// names are the functions with their names in MPI.
func (f *functions) names() map[string]*uintptr {
	return map[string]*uintptr{
		"MPI_Init_thread":         &f.initThread,
		"MPI_Finalize":            &f.finalize,
		"MPI_Abort":               &f.abort,
		"MPI_Error_string":        &f.errorString,
		"MPI_Comm_rank":           &f.commRank,
		"MPI_Comm_size":           &f.commSize,
		"MPI_Comm_dup":            &f.commDup,
		"MPI_Comm_split_type":     &f.commSplitType,
		"MPI_Comm_set_errhandler": &f.commSetErrhandler,
		"MPI_Comm_free":           &f.commFree,
		"MPI_Iprobe":              &f.iprobe,
		"MPI_Isend":               &f.isend,
		"MPI_Irecv":               &f.irecv,
		"MPI_Test":                &f.test,
		"MPI_Cancel":              &f.cancel,
		"MPI_Allgather":           &f.allgather,
		"MPI_Ibcast":              &f.ibcast,
	}
}

// A scratch is memory to which a call writes its results. It is on the heap,
// which does not move.
type scratch struct {
	handle  uint64
	number  int32
	status  [64]byte
	message [512]byte
}

// bind finds the functions and constants of a library.
func bind(l *Library) (*calls, error) {
	c := &calls{Library: l, scratch: new(scratch)}
	var missing []string
	for name, f := range c.functions.names() {
		var err error
		if *f, err = purego.Dlsym(l.handle, name); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("mpi: %v has no %s, want MPI 3.0 or later", l, missing[0])
	}
	var err error
	resolve := func(k constant) uintptr {
		if k.symbol == "" {
			return k.value
		}
		value, failed := purego.Dlsym(l.handle, k.symbol)
		err = errors.Join(err, failed)
		return value
	}
	f := l.family
	c.all, c.bytes, c.noInfo, c.returnErrors = resolve(f.world), resolve(f.bytes), resolve(f.noInfo), resolve(f.returnErrors)
	if err != nil {
		return nil, fmt.Errorf("mpi: %v is not what it says: %w", l, err)
	}
	return c, nil
}

// call calls a function of MPI.
func (c *calls) call(name string, f uintptr, args ...uintptr) error {
	code, _, _ := purego.SyscallN(f, args...)
	if int32(code) == 0 {
		return nil
	}
	return c.fault(name, int32(code))
}

// fault returns the error of a code.
func (c *calls) fault(name string, code int32) error {
	s := c.scratch
	purego.SyscallN(c.functions.errorString, uintptr(code), address(&s.message[0]), address(&s.number))
	text, _, _ := bytes.Cut(s.message[:], []byte{0})
	return fmt.Errorf("mpi: %s failed: %s (code %d)", name, text, code)
}

// address returns where a value is that stays there.
func address[T any](p *T) uintptr { return uintptr(unsafe.Pointer(p)) }

// start returns where b starts, 0 if it is empty.
func start(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// handle returns the handle that a call has put into scratch.
func (c *calls) handle() uintptr {
	if c.family.handles == 4 {
		return uintptr(binary.NativeEndian.Uint32(c.handleBytes()))
	}
	return uintptr(c.scratch.handle)
}

// setHandle puts a handle where a call looks for it.
func (c *calls) setHandle(h uintptr) {
	if c.family.handles == 4 {
		binary.NativeEndian.PutUint32(c.handleBytes(), uint32(h))
		return
	}
	c.scratch.handle = uint64(h)
}

// handleBytes returns the memory in which calls look for a handle: a short one is in the first bytes.
func (c *calls) handleBytes() []byte { return (*[8]byte)(unsafe.Pointer(&c.scratch.handle))[:] }

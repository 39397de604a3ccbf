//go:build native && linux

package mpi

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Built says whether this binary can open an MPI library.
const Built = true

// Find returns the MPI library that Join would use: the one that TPSH_MPI
// names; or else one of the family whose launcher has started this process; or
// else whatever there is. It opens the library, but does not initialise MPI.
func Find(env func(string) (string, bool)) (*Library, error) { return find(env, open) }

// open opens the library of a name, as dlopen(3) looks for it.
func open(name string) (*Library, error) {
	if strings.ContainsRune(name, 0) {
		return nil, errors.New("no file has such a name") // and C reads another
	}
	goruntime.LockOSThread() // the text of an error is the thread's
	defer goruntime.UnlockOSThread()
	settleUCX()
	// Parts that Open MPI loads later look for its symbols among the global.
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	l, err := identify(handle)
	if err != nil {
		purego.Dlclose(handle)
		return nil, err
	}
	if l.Path == "" {
		l.Path = name
	}
	return l, nil
}

// settleUCX keeps UCX, which may come with the library and looks at the
// environment when it is loaded, from handling signals, which are Go's, and from
// writing warnings on the output, which is the program's: that a message came
// too late for anyone, when MPI is finalised.
func settleUCX() {
	for _, v := range [][2]string{{"UCX_ERROR_SIGNALS", ""}, {"UCX_LOG_LEVEL", "error"}} {
		if _, ok := os.LookupEnv(v[0]); !ok {
			os.Setenv(v[0], v[1])
		}
	}
}

// identify returns the library of a handle by its own version text.
func identify(handle uintptr) (*Library, error) {
	const ask = "MPI_Get_library_version"
	symbol, err := purego.Dlsym(handle, ask)
	if err != nil {
		return nil, fmt.Errorf("it has no %s", ask)
	}
	text, length := make([]byte, versionBytes), new(int32)
	if code, _, _ := purego.SyscallN(symbol, uintptr(unsafe.Pointer(&text[0])), uintptr(unsafe.Pointer(length))); int32(code) != 0 {
		return nil, fmt.Errorf("its %s failed with code %d", ask, int32(code))
	}
	said := string(bytes.TrimRight(text[:min(max(*length, 0), versionBytes)], "\x00"))
	f, err := familyOf(said)
	if err != nil {
		return nil, err
	}
	return &Library{Path: fileOf(symbol), Version: versionOf(said), Family: f.name, family: f, handle: handle}, nil
}

// versionBytes is the longest text of MPI_Get_library_version:
// MPI_MAX_LIBRARY_VERSION_STRING of MPICH, which has the longer.
const versionBytes = 8192

// fileOf returns the file from which the memory at an address is mapped, "" if
// that cannot be found out.
func fileOf(address uintptr) string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(maps)) {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x", &lo, &hi); n == 2 && lo <= address && address < hi {
			if at := strings.IndexByte(line, '/'); at >= 0 {
				return strings.TrimSpace(line[at:])
			}
		}
	}
	return ""
}

// Join initialises MPI and returns the world of this process. It fails if the
// library sees another world than the launcher has started, and then says both.
//
// It raises GOMAXPROCS by one, for the thread that calls MPI: the event that this thread
// waits for is not known to Go, which would keep a rank of one processor from
// going on.
func Join(o Options) (*World, error) {
	if o.Library == nil {
		return nil, errors.New("mpi: join: got no library, want one of Find")
	}
	ready := make(chan error)
	var w *World
	go func() {
		goruntime.LockOSThread()
		defer goruntime.UnlockOSThread()
		var err error
		w, err = join(o)
		ready <- err
		if err == nil {
			sharpen()
			w.drive()
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(0) + 1)
	return w, nil
}

// join initialises MPI on this thread.
func join(o Options) (*World, error) {
	c, err := bind(o.Library)
	if err != nil {
		return nil, err
	}
	if err := c.initialise(); err != nil {
		return nil, err
	}
	w, err := c.join(o)
	if err != nil {
		return nil, errors.Join(err, c.finalize())
	}
	return w, nil
}

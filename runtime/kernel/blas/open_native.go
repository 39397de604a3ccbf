//go:build native && linux

package blas

import (
	"fmt"
	"os"
	goruntime "runtime"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Built reports whether this binary can open a library.
const Built = true

// open opens the library called name, and tells it to use one thread. A library
// that is refused stays open: OpenBLAS has threads that nobody can end safely.
func open(name string) (*Library, error) {
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, &missingError{err.Error()}
	}
	symbol := func(name string) uintptr {
		p, err := purego.Dlsym(handle, name)
		if err != nil {
			return 0
		}
		return p
	}
	l, err := use(symbol)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pathOf(name, symbol("sgemm_")), err)
	}
	l.Path = pathOf(name, l.sgemm)
	return l, nil
}

// pathOf returns the path of the file that the function at p is from, or else
// name.
func pathOf(name string, p uintptr) string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return name
	}
	if path := fileAt(string(maps), p); path != "" {
		return path
	}
	return name
}

// use returns the library of these symbols, all but its path, if its integers
// have 32 bits.
func use(symbol func(name string) uintptr) (*Library, error) {
	d, err := dialectOf(func(name string) bool { return symbol(name) != 0 })
	if err != nil {
		return nil, err
	}
	var (
		config     func() string
		setThreads func(n int32)
	)
	purego.RegisterFunc(&config, symbol(d.name("openblas_get_config")))
	purego.RegisterFunc(&setThreads, symbol(d.name("openblas_set_num_threads")))
	text := config()
	if err := checkConfig(text); err != nil {
		return nil, err
	}
	if !narrow(symbol(d.name("isamax_"))) {
		return nil, fmt.Errorf("its integers have 64 bits (so isamax_ reads them), want an OpenBLAS of 32-bit integers")
	}
	setThreads(1)
	return &Library{Version: versionOf(text), Config: text, sgemm: symbol(d.name("sgemm_")), dgemm: symbol(d.name("dgemm_"))}, nil
}

// narrow reports whether isamax, the address of isamax_, takes integers of 32
// bits. It asks for the index of the greatest of so many elements that the
// lower half of the number says 1 and the whole of it less than none: the answer
// is 1 or 0, and neither reads what is not there.
func narrow(isamax uintptr) bool {
	n, x, step := int64(-1<<32|1), float32(1), int64(1)
	index, _, _ := purego.SyscallN(isamax, uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&x)), uintptr(unsafe.Pointer(&step)))
	return int32(index) == 1
}

// invoke calls the product at fn. No more than pointers cross, so that no
// argument needs a conversion at run time.
func invoke[T float32 | float64](fn uintptr, p *arguments[T], a, b, c *T) {
	purego.SyscallN(fn,
		uintptr(unsafe.Pointer(&p.transA)), uintptr(unsafe.Pointer(&p.transB)),
		uintptr(unsafe.Pointer(&p.m)), uintptr(unsafe.Pointer(&p.n)), uintptr(unsafe.Pointer(&p.k)),
		uintptr(unsafe.Pointer(&p.alpha)),
		uintptr(unsafe.Pointer(a)), uintptr(unsafe.Pointer(&p.lda)),
		uintptr(unsafe.Pointer(b)), uintptr(unsafe.Pointer(&p.ldb)),
		uintptr(unsafe.Pointer(&p.beta)),
		uintptr(unsafe.Pointer(c)), uintptr(unsafe.Pointer(&p.ldc)),
		1, 1) // the lengths of the two texts, as Fortran passes them
	goruntime.KeepAlive(p)
}

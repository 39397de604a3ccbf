package blas

import (
	"errors"
	"fmt"
	"strings"
)

// Variable is the environment variable that names the library to open, as a
// path or as dlopen finds it.
const Variable = "TPSH_BLAS"

// A Library is an OpenBLAS that has been opened. It stays open for as long as
// the process lives. Its methods may be called by several goroutines at once.
type Library struct {
	Path    string // of the file
	Version string // as 0.3.21
	Config  string // what it says of how it was built, and for what processor
	sgemm   uintptr
	dgemm   uintptr
}

// String returns what a person wants to know of l.
func (l *Library) String() string { return fmt.Sprintf("%s (%s)", l.Path, l.Config) }

// Sgemm computes c = op(a) op(b) of matrices of m by k and k by n elements, as
// the function of that name in BLAS, with alpha 1 and beta 0: matrices lie by
// columns, ld elements apart, and op transposes where it is asked to. What c
// holds before is not read.
func (l *Library) Sgemm(transA, transB bool, m, n, k int, a *float32, lda int, b *float32, ldb int, c *float32, ldc int) {
	p := argumentsOf[float32](transA, transB, m, n, k, lda, ldb, ldc)
	invoke(l.sgemm, p, a, b, c)
}

// Dgemm is Sgemm of float64.
func (l *Library) Dgemm(transA, transB bool, m, n, k int, a *float64, lda int, b *float64, ldb int, c *float64, ldc int) {
	p := argumentsOf[float64](transA, transB, m, n, k, lda, ldb, ldc)
	invoke(l.dgemm, p, a, b, c)
}

// arguments are those of a product that BLAS takes by reference.
type arguments[T float32 | float64] struct {
	transA, transB byte
	m, n, k        int32
	lda, ldb, ldc  int32
	alpha, beta    T
}

func argumentsOf[T float32 | float64](transA, transB bool, m, n, k, lda, ldb, ldc int) *arguments[T] {
	return &arguments[T]{letter(transA), letter(transB), int32(m), int32(n), int32(k), int32(lda), int32(ldb), int32(ldc), 1, 0}
}

// letter returns the letter of BLAS for a matrix that is transposed or not.
func letter(trans bool) byte {
	if trans {
		return 'T'
	}
	return 'N'
}

// names are those under which systems install an OpenBLAS, the usual ones
// first. The last one has integers of 64 bits, which the error then says.
var names = []string{"libopenblas.so.0", "libopenblas.so", "libopenblasp.so.0", "libopenblaso.so.0", "libopenblas64.so.0"}

// Find opens the OpenBLAS that the variable of that name in env names, or else
// the first that is installed and fits. The error says of each library that
// was there why it does not fit.
func Find(env func(name string) (string, bool)) (*Library, error) {
	if !Built {
		return nil, errors.New("this binary opens no libraries: on Linux, CGO_ENABLED=0 go build -tags native ./cmd/tpsh makes one that does")
	}
	if name, ok := env(Variable); ok && name != "" {
		l, err := open(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Variable, err)
		}
		return l, nil
	}
	var refused []string
	for _, name := range names {
		l, err := open(name)
		if err == nil {
			return l, nil
		}
		if _, missing := errors.AsType[*missingError](err); !missing {
			refused = append(refused, err.Error())
		}
	}
	if len(refused) == 0 {
		return nil, fmt.Errorf("no OpenBLAS found (as %s); install one, or name its file in %s", names[0], Variable)
	}
	return nil, errors.New(strings.Join(refused, "; "))
}

// A missingError says that a library cannot be opened at all.
type missingError struct{ reason string }

func (e *missingError) Error() string { return e.reason }

// A dialect is how a build of OpenBLAS spells its functions: between a prefix
// and a suffix. The C library of NumPy and SciPy has a prefix; builds with
// integers of 64 bits often have a suffix.
type dialect struct{ prefix, suffix string }

// dialects lists those in use.
var dialects = []dialect{{"", ""}, {"scipy_", ""}, {"", "64_"}, {"scipy_", "64_"}}

// name returns how d spells the function called name.
func (d dialect) name(name string) string { return d.prefix + name + d.suffix }

// dialectOf returns the dialect of a library that has the functions for which
// has reports true. It refuses what is no OpenBLAS of 32-bit integers by its
// names.
func dialectOf(has func(name string) bool) (dialect, error) {
	for _, d := range dialects {
		if !has(d.name("openblas_get_config")) {
			continue
		}
		if d.suffix != "" {
			return d, fmt.Errorf("its integers have 64 bits (it has %s), want an OpenBLAS of 32-bit integers", d.name("sgemm_"))
		}
		for _, name := range []string{"openblas_set_num_threads", "isamax_", "sgemm_", "dgemm_"} {
			if !has(d.name(name)) {
				return d, fmt.Errorf("it lacks %s, want a whole OpenBLAS", d.name(name))
			}
		}
		return d, nil
	}
	return dialect{}, errors.New("it is no OpenBLAS: it lacks openblas_get_config")
}

// checkConfig refuses a library that says that its integers have 64 bits.
func checkConfig(config string) error {
	for _, word := range strings.Fields(config) {
		if word == "USE64BITINT" || word == "INTERFACE64" || word == "INTERFACE64=1" {
			return fmt.Errorf("its integers have 64 bits (it says %s), want an OpenBLAS of 32-bit integers", word)
		}
	}
	return nil
}

// versionOf returns the version in a library's description of itself, which
// begins as "OpenBLAS 0.3.21".
func versionOf(config string) string {
	if words := strings.Fields(config); len(words) > 1 && words[0] == "OpenBLAS" {
		return words[1]
	}
	return "unknown"
}

// fileAt returns the path of the file that is mapped at address p, according to
// a list of mappings as Linux gives it; "" if there is none.
func fileAt(maps string, p uintptr) string {
	for line := range strings.Lines(maps) {
		var lo, hi uintptr
		fields := strings.Fields(line)
		if len(fields) < 6 {
			continue
		}
		if n, _ := fmt.Sscanf(fields[0], "%x-%x", &lo, &hi); n == 2 && lo <= p && p < hi {
			return strings.Join(fields[5:], " ")
		}
	}
	return ""
}

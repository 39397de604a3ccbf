package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"tpsh/cmd/tpsh/launch"
	"tpsh/internal/allowance"
	"tpsh/lang"
	"tpsh/runtime"
)

// limits are the flags that commands which run programs have in common.
type limits struct {
	kernels
	timeout  time.Duration
	maxSteps uint64
	maxMem   byteSize
	seed     uint64
	allow    stringList
	lib      stringList
	quiet    bool
	verify   bool
	strict   bool
	types    bool

	exactSums bool // sums between ranks do not depend on their order
}

func (l *limits) declare(fs *flag.FlagSet) {
	l.kernels.declare(fs)
	fs.DurationVar(&l.timeout, "timeout", 0, "end the program after `D` (as 30s)")
	fs.Uint64Var(&l.maxSteps, "max-steps", 0, "end the program after `N` steps of the interpreter on a rank")
	fs.Var(&l.maxMem, "max-mem", "let programs and their tensors use `BYTES` at most (as 512M, default 80 % of what there is); of ranks that are processes, each has its share; a plan uses no more either")
	fs.Uint64Var(&l.seed, "seed", 0, "start random numbers from `N`")
	fs.Var(&l.allow, "allow", "let programs read and write in `DIR` too; may be repeated")
	fs.Var(&l.lib, "lib", "look in `DIR` for files to load, after the script's folder; may be repeated; those of TPSH_PATH come after")
	fs.BoolVar(&l.verify, "verify", false, "also run every operation on distributed tensors on the whole, and stop at the first difference")
	fs.BoolVar(&l.strict, "strict", false, "make implicit redistributions errors")
	fs.BoolVar(&l.types, "types", false, "hold the types of local tensors (spmd.assert_type gives them) in the whole script, and stop at the first mistake")
	fs.BoolVar(&l.exactSums, "exact-sums", false, "make all sums and means between ranks exact, rounded once: their bits do not depend on the order of ranks")
	fs.BoolVar(&l.quiet, "quiet", false, "say nothing about long waits")
}

// defaultRanks is the number of ranks without -n: one for each core that there is for them.
func defaultRanks() int { return max(2, allowance.Cores()) }

// maxRanks bounds -n: more goroutines than this are a slip of the keyboard.
const maxRanks = 1 << 14

// checkRanks returns a usage error unless ranks can be started.
func checkRanks(n int) error {
	if n < 1 || n > maxRanks {
		return usagef("for flag -n: got %d, want a number of ranks from 1 to %d", n, maxRanks)
	}
	return nil
}

// check returns a usage error if a limit makes no sense.
func (l *limits) check() error {
	if l.timeout < 0 {
		return usagef("for flag --timeout: got %v, want a duration that is not negative", l.timeout)
	}
	return nil
}

// checkHere returns a usage error if this machine lacks what is asked for.
func (l *limits) checkHere() error {
	if err := l.kernels.check(); err != nil {
		return err
	}
	if err := checkFolders("allow", l.allow); err != nil {
		return err
	}
	return checkFolders("lib", l.lib)
}

func checkFolders(flag string, dirs []string) error {
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return usagef("for flag --%s: got %q, want a folder", flag, dir)
		}
	}
	return nil
}

// pathVariable is the variable of the environment that lists folders to load
// files from.
const pathVariable = "TPSH_PATH"

// folders returns the folders that programs load files from.
func (l *limits) folders() lang.Folders {
	var f lang.Folders
	for _, dir := range append(slices.Clone([]string(l.lib)), filepath.SplitList(os.Getenv(pathVariable))...) {
		if abs, err := filepath.Abs(dir); err == nil && dir != "" {
			f.Lib = append(f.Lib, abs)
		}
	}
	for _, dir := range l.allow {
		if abs, err := filepath.Abs(dir); err == nil {
			f.Allow = append(f.Allow, abs)
		}
	}
	return f
}

// transports lists the names that --transport takes: those of ranks in this
// process, and those of processes.
func transports() []string { return slices.Concat(runtime.Transports, launch.Transports) }

// checkTransport returns a usage error unless there is such a transport. Some
// commands take more of them.
func checkTransport(name string, more ...string) error {
	if names := append(transports(), more...); !slices.Contains(names, name) {
		return usagef("for flag --transport: got %q, want one of %s", name, strings.Join(names, ", "))
	}
	return nil
}

// transportUsage explains --transport.
func transportUsage(more ...string) string {
	return "let ranks talk by `T`: " + orList(append(transports(), more...))
}

// A byteSize is a flag of a number of bytes with an optional suffix K, M or G.
type byteSize int

func (b *byteSize) String() string { return strconv.Itoa(int(*b)) }

func (b *byteSize) Set(s string) error {
	num, unit := strings.TrimRight(s, "KMGkmgiB"), 1
	switch strings.ToUpper(strings.TrimRight(s[len(num):], "iB")) {
	case "":
	case "K":
		unit = 1 << 10
	case "M":
		unit = 1 << 20
	case "G":
		unit = 1 << 30
	default:
		return fmt.Errorf("want a number of bytes, as 1000000 or 512M")
	}
	v, err := strconv.Atoi(num)
	if err != nil || v <= 0 || v > 1<<62/unit {
		return fmt.Errorf("want a number of bytes, as 1000000 or 512M")
	}
	*b = byteSize(v * unit)
	return nil
}

// A stringList is a flag that may be repeated.
type stringList []string

func (l *stringList) String() string { return strings.Join(*l, ",") }

func (l *stringList) Set(s string) error {
	*l = append(*l, s)
	return nil
}

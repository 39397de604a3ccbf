package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"text/tabwriter"
	"time"

	"tpsh/cmd/tpsh/launch"
	"tpsh/internal/allowance"
	"tpsh/internal/units"
	"tpsh/lang"
	"tpsh/runtime/kernel/blas"
)

var doctorCommand = &command{
	name:  "doctor",
	usage: "",
	short: "checks what a run needs on this machine",
	files: noFiles,
	setup: func(*flag.FlagSet) func(*stdio, []string) error { return doctor },
}

// A finding is what a check has found. The zero level is that all is well.
type finding struct {
	level level
	text  string
}

type level int

const (
	fine    level = iota
	absent        // something that is not needed is not there
	failing       // something that is needed does not work
)

func (l level) String() string { return [...]string{"ok", "none", "FAIL"}[l] }

func ok(format string, args ...any) finding   { return finding{fine, fmt.Sprintf(format, args...)} }
func none(format string, args ...any) finding { return finding{absent, fmt.Sprintf(format, args...)} }
func failure(format string, args ...any) finding {
	return finding{failing, fmt.Sprintf(format, args...)}
}

// A check looks at one thing that a run may need.
type check struct {
	name string
	look func() finding
}

// checks returns the checks of doctor in their order: of the machine, of its
// system, and of each transport.
func checks() []check {
	all := []check{{"build", lookAtBuild}, {"cores", lookAtCores}, {"kernels", lookAtKernels}}
	all = append(all, systemChecks()...)
	all = append(all,
		check{"temporary folder", lookAtScratch},
		check{"loopback", lookAtLoopback},
		check{"interfaces", lookAtInterfaces},
		check{"MPI", lookForMPI},
		check{"BLAS", lookForBLAS},
	)
	for _, name := range transports() {
		all = append(all, check{"transport " + name, func() finding { return tryTransport(name) }})
	}
	return append(all, check{"transport " + viaMPI, tryMPI})
}

func doctor(std *stdio, args []string) error {
	if len(args) > 0 {
		return usagef("doctor: got argument %q, want none", args[0])
	}
	if !firstHere(os.LookupEnv) {
		return nil // another process of this host tells
	}
	tw := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	failures := 0
	for _, c := range checks() {
		f := c.look()
		if f.level == failing {
			failures++
		}
		fmt.Fprintf(tw, "%v\t%s\t%s\n", f.level, c.name, f.text)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if failures > 0 {
		fmt.Fprintf(std.out, "%s failed\n", units.Count(failures, "check"))
		return status(lang.StatusFailed)
	}
	return nil
}

func lookAtCores() finding {
	return ok("%d of %s%s, %d in use; run starts %s unless -n says otherwise", goruntime.NumCPU(), goruntime.GOARCH,
		coresAllowed(allowance.ProcessorLimit()), allowance.Cores(), units.Count(defaultRanks(), "rank"))
}

// coresAllowed says which control group leaves less than the cores there are, if one does.
func coresAllowed(l allowance.Limit) string {
	if l.File == "" {
		return ""
	}
	return fmt.Sprintf(", but %s allows %d", l.File, l.N)
}

// memoryAllowed says which control group leaves less than the memory there is, if one does,
// and how much of that is left.
func memoryAllowed(l allowance.Limit, available int) string {
	if l.File == "" {
		return ""
	}
	return fmt.Sprintf(", but %s allows %s, of which %s are left", l.File, bytesText(uint64(l.N)), bytesText(uint64(available)))
}

// lookAtScratch makes a folder where tmpdir would.
func lookAtScratch() finding {
	dir := newScratch()
	if err := os.Mkdir(dir, 0o700); err != nil {
		return failure("tmpdir() would fail: %v", err)
	}
	defer os.Remove(dir)
	return ok("%s can be written to", os.TempDir())
}

// lookAtLoopback connects to itself.
func lookAtLoopback() finding {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return failure("tcp cannot listen: %v", err)
	}
	defer l.Close()
	c, err := net.DialTimeout("tcp", l.Addr().String(), time.Second)
	if err != nil {
		return failure("tcp cannot connect: %v", err)
	}
	c.Close()
	return ok("127.0.0.1 listens and connects")
}

// lookAtInterfaces lists the addresses by which other hosts reach this one.
func lookAtInterfaces() finding {
	list, err := net.Interfaces()
	if err != nil {
		return failure("%v", err)
	}
	var words []string
	for _, i := range list {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagLoopback != 0 {
			continue
		}
		addrs, _ := i.Addrs()
		for _, a := range addrs {
			if ip, isNet := a.(*net.IPNet); isNet && ip.IP.IsGlobalUnicast() {
				words = append(words, fmt.Sprintf("%s %v (MTU %d)", i.Name, ip.IP, i.MTU))
			}
		}
	}
	if len(words) == 0 {
		return none("no address but loopback: jobs on several hosts cannot include this one")
	}
	return ok("%s", strings.Join(words, ", "))
}

// lookForBLAS says which library --blas openblas would use, or why there is
// none. It opens those that it can.
func lookForBLAS() finding {
	const own = "matrices are multiplied by tpsh itself"
	if !blas.Built {
		found := libraries("libopenblas*.so*", "libmkl_rt.so*", "libblis.so*", "libblas.so*")
		if len(found) == 0 {
			found = []string{"no library found"}
		}
		return none("%s; this build opens none (on Linux one with -tags native does): %s", strings.Join(found, ", "), own)
	}
	l, err := blas.Find(os.LookupEnv)
	if err != nil {
		return none("%v; %s", err, own)
	}
	return ok("%v, for --blas openblas alone: else %s", l, own)
}

// maxLibraries is how many libraries a finding names.
const maxLibraries = 4

// libraries returns the files of these patterns where systems keep libraries,
// each once, links followed.
func libraries(patterns ...string) []string {
	dirs := append(filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")),
		"/usr/local/lib", "/usr/lib", "/usr/lib64", "/usr/lib/*-linux-gnu*", "/usr/lib/*-linux-gnu*/*/lib", "/usr/lib64/*/lib", "/opt/*/lib", "/opt/homebrew/lib")
	var found []string
	seen := map[string]bool{}
	for _, dir := range dirs {
		for _, pattern := range patterns {
			files, _ := filepath.Glob(filepath.Join(dir, pattern))
			for _, f := range files {
				real, err := filepath.EvalSymlinks(f)
				if err == nil && !seen[real] && len(found) < maxLibraries {
					seen[real] = true
					found = append(found, real)
				}
			}
		}
	}
	return found
}

// tryTransport has two ranks meet.
func tryTransport(name string) finding {
	since := time.Now()
	if err := meet(name); err != nil {
		return failure("%v", err)
	}
	return ok("%s; 2 ranks started, met and ended in %v", launch.Describe(name).Doc, time.Since(since).Round(100*time.Microsecond))
}

// meet starts two ranks, has them meet, and ends them.
func meet(transport string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	ranks, err := (&starter{limits: &limits{quiet: true}, ranks: 2, transport: transport}).start(ctx)
	if err != nil {
		return err
	}
	defer ranks.stop()
	return barrier(ctx, ranks)
}

// barrier runs a program in which all ranks meet.
func barrier(ctx context.Context, r *ranks) error {
	s := lang.NewSession(r.conns, lang.Options{Out: io.Discard})
	defer s.Close()
	o, err := s.Run(ctx, lang.Program{Path: "meet.star", Source: "barrier()"})
	if err == nil && !o.OK() {
		var report strings.Builder
		o.Report(&report)
		err = errors.New(strings.ReplaceAll(strings.TrimSpace(report.String()), "\n", "; "))
	}
	return err
}

// bytesText returns a number of bytes as people say it.
func bytesText(n uint64) string {
	const kibi = 1 << 10
	if n < kibi {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/kibi, 0
	for ; x >= kibi && unit < 4; unit++ {
		x /= kibi
	}
	return fmt.Sprintf("%.1f %ciB", x, "KMGTP"[unit])
}

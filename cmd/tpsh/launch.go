package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"tpsh/builtins"
	"tpsh/lang"
	"tpsh/runtime"
)

// limits are the flags that commands which run programs have in common.
type limits struct {
	timeout  time.Duration
	maxSteps uint64
	maxMem   byteSize
	seed     uint64
	allow    stringList
	quiet    bool
}

func (l *limits) declare(fs *flag.FlagSet) {
	fs.DurationVar(&l.timeout, "timeout", 0, "end the program after `D` (as 30s)")
	fs.Uint64Var(&l.maxSteps, "max-steps", 0, "end the program after `N` steps of the interpreter on a rank")
	fs.Var(&l.maxMem, "max-mem", "let tensors use `BYTES` at most (as 512M)")
	fs.Uint64Var(&l.seed, "seed", 0, "start random numbers from `N`")
	fs.Var(&l.allow, "allow", "let programs read and write in `DIR` too; may be repeated")
	fs.BoolVar(&l.quiet, "quiet", false, "say nothing about long waits")
}

// defaultRanks is the number of ranks without -n.
func defaultRanks() int { return max(2, goruntime.NumCPU()) }

// maxRanks bounds -n: more goroutines than this are a slip of the keyboard.
const maxRanks = 1 << 14

// checkRanks returns a usage error unless ranks can be started.
func checkRanks(n int) error {
	if n < 1 || n > maxRanks {
		return usagef("for flag -n: got %d, want a number of ranks from 1 to %d", n, maxRanks)
	}
	return nil
}

// checkTransport returns a usage error unless there is such a transport.
func checkTransport(name string) error {
	for _, t := range runtime.Transports {
		if t == name {
			return nil
		}
	}
	return usagef("for flag --transport: got %q, want one of %s", name, strings.Join(runtime.Transports, ", "))
}

// A ranks is a job under way, seen from the front end.
type ranks struct {
	conns   []lang.Conn
	job     *runtime.Job
	scratch string // the folder under which tmpdir makes its own
}

// start starts n ranks that serve a front end. notes gets lines about long
// waits; nil for nobody.
func start(n int, transport string, l *limits, args []string, notes io.Writer) (*ranks, error) {
	r := &ranks{scratch: filepath.Join(os.TempDir(), fmt.Sprintf("tpsh-%d-%d", os.Getpid(), time.Now().UnixNano()))}
	backs := make([]lang.Conn, n)
	for i := range n {
		front, back := lang.Pipe()
		r.conns = append(r.conns, front)
		backs[i] = back
	}
	cfg := runtime.Config{Size: n, Transport: transport, Seed: l.seed, MaxMem: int(l.maxMem)}
	if notes != nil && !l.quiet {
		var mu sync.Mutex
		cfg.NoticeAfter = 5 * time.Second
		cfg.Notice = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			fmt.Fprintln(notes, line)
		}
	}
	opts := builtins.Options{Args: args, Allow: l.allow, TmpDir: r.tmpDir, Scratch: r.scratch}
	job, err := runtime.Start(context.Background(), cfg, func(ctx context.Context, rank *runtime.Rank) {
		conn := backs[rank.ID()]
		lang.Serve(ctx, conn, builtins.New(rank, opts)) // how it ends, the connection shows
		conn.(*lang.PipeConn).Close()
	})
	if err != nil {
		return nil, err
	}
	r.job = job
	return r, nil
}

// tmpDir returns the folder of the ranks' n-th call of tmpdir.
func (r *ranks) tmpDir(n int) (string, error) {
	dir := filepath.Join(r.scratch, strconv.Itoa(n))
	return dir, os.MkdirAll(dir, 0o700)
}

// unreceived returns an error about the messages that nobody received, or
// nil. The programs have ended.
func (r *ranks) unreceived() error {
	left := r.job.Unreceived()
	if len(left) == 0 {
		return nil
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Error in send: %d messages were sent and never received:", len(left))
	if len(left) == 1 {
		b.Reset()
		b.WriteString("Error in send: a message was sent and never received:")
	}
	for _, m := range left {
		fmt.Fprintf(&b, "\n  from rank %d to rank %d with tag %d, sent at %s", m.Src, m.Dst, m.Tag, m.Where)
	}
	return fmt.Errorf("%s", b.String())
}

// stop ends the ranks and removes what they left in temporary folders.
func (r *ranks) stop() {
	for _, c := range r.conns {
		c.(*lang.PipeConn).Close()
	}
	r.job.Stop()
	os.RemoveAll(r.scratch)
}

// byteSize is a flag of a number of bytes with an optional suffix K, M or G.
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

// stringList is a flag that may be repeated.
type stringList []string

func (l *stringList) String() string { return strings.Join(*l, ",") }

func (l *stringList) Set(s string) error {
	*l = append(*l, s)
	return nil
}

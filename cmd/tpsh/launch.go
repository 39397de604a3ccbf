package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
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

// check returns a usage error if a limit makes no sense.
func (l *limits) check() error {
	if l.timeout < 0 {
		return usagef("for flag --timeout: got %v, want a duration that is not negative", l.timeout)
	}
	for _, dir := range l.allow {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return usagef("for flag --allow: got %q, want a folder", dir)
		}
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
	opts := builtins.Options{Args: args, Allow: l.allow, Scratch: r.scratch}
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

// maxUnreceived is how many places of sends without a receive are listed.
const maxUnreceived = 20

// unreceived returns an error about the messages that nobody received, or
// nil. What a killed rank sent or was sent is excused. The programs have ended.
func (r *ranks) unreceived(killed []int) error {
	all := r.job.Unreceived()
	left := all[:0]
	for _, m := range all {
		if !slices.Contains(killed, m.Src) && !slices.Contains(killed, m.Dst) {
			left = append(left, m)
		}
	}
	if len(left) == 0 {
		return nil
	}
	var b strings.Builder
	if len(left) == 1 {
		b.WriteString("Error in send: a message was sent and never received:")
	} else {
		fmt.Fprintf(&b, "Error in send: %d messages were sent and never received:", len(left))
	}
	for lines := 0; len(left) > 0; lines++ {
		if lines == maxUnreceived {
			fmt.Fprintf(&b, "\n  and %d more", len(left))
			break
		}
		m, times := left[0], 1
		for times < len(left) && left[times] == m {
			times++
		}
		left = left[times:]
		fmt.Fprintf(&b, "\n  from rank %d to rank %d with tag %d", m.Src, m.Dst, m.Tag)
		if m.Group != "world" {
			fmt.Fprintf(&b, " in %s", m.Group)
		}
		fmt.Fprintf(&b, ", sent at %s", m.Where)
		if times > 1 {
			fmt.Fprintf(&b, " (%d times)", times)
		}
	}
	return errors.New(b.String())
}

// patience is how long stop waits for ranks. Those that a session has told to
// stop have had their time already.
const patience = time.Second

// stop ends the ranks and removes what they left in temporary folders. A rank
// inside a step of the interpreter that nothing can interrupt is left to the
// end of the process.
func (r *ranks) stop() {
	for _, c := range r.conns {
		c.(*lang.PipeConn).Close()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.job.Stop()
	}()
	select {
	case <-ended:
	case <-time.After(patience):
	}
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

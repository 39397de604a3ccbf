package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"tpsh/builtins"
	"tpsh/cmd/tpsh/launch"
	"tpsh/lang"
	"tpsh/runtime"
	"tpsh/runtime/plan"
)

// A starter says what ranks a command starts.
type starter struct {
	limits    *limits
	tracing   *tracing
	ranks     int
	transport string
	args      []string            // of the script
	flags     []string            // that the script's source shows
	stops     bool                // the script may call should_stop
	parent    string              // of the folder for what survives restarts, "" for that of temporary files
	resume    string              // what survives restarts; "" for a folder that does not
	in        string              // the folder of inputs; "" for none
	out       string              // the folder of outputs; "" to print them
	pictures  string              // the folder of drawings; "" for none
	restarts  int                 // how often the job was started before
	cluster   *launch.Cluster     // of a world, whose ranks are there; nil elsewhere
	notes     io.Writer           // gets lines that are no output; nil for nobody
	plan      *plan.Program       // the ranks run on shapes, for it; nil if they do not
	watch     *lang.Watch         // holds the programs of this process to their memory; nil for one of its own
	seen      func(*runtime.Rank) // is called with each rank of this process; nil for nothing
}

// A ranks is a job under way, seen from the front end.
type ranks struct {
	transport string
	conns     []lang.Conn
	job       *launch.Job                 // nil if they are in this process
	left      func() []runtime.Unreceived // the messages that nobody received
	end       func()                      // ends the ranks
	scratch   string                      // the folder under which tmpdir makes its own
	parent    string                      // of scratch, if the ranks are processes
	stops     bool                        // starter.stops
}

// noticeAfter is how long a wait is before a line tells of it.
const noticeAfter = 5 * time.Second

// start starts ranks that serve a front end. ctx ends the waiting for them.
func (s *starter) start(ctx context.Context) (*ranks, error) {
	if ofOneProcess(s.transport) {
		return s.startHere()
	}
	if s.cluster != nil {
		return s.startOn(ctx, s.cluster)
	}
	c, err := launch.Gather(ctx, launch.Options{Transport: s.transport, Ranks: s.ranks, Args: s.limits.kernels.words(), Note: s.note()})
	if err != nil {
		return nil, err
	}
	r, err := s.startOn(ctx, c)
	if err != nil {
		c.Close(lang.StatusJob)
		return nil, err
	}
	end := r.end
	r.end = func() {
		end()
		c.Close(lang.StatusOK)
	}
	return r, nil
}

// ofOneProcess reports whether the ranks of a transport are goroutines of one
// process.
func ofOneProcess(transport string) bool { return slices.Contains(runtime.Transports, transport) }

// startHere starts ranks that are goroutines of this process.
func (s *starter) startHere() (*ranks, error) {
	s.limits.kernels.use()
	r := &ranks{transport: s.transport, stops: s.stops, scratch: newScratch()}
	backs := make([]*lang.PipeConn, s.ranks)
	for i := range backs {
		var front lang.Conn
		front, backs[i] = lang.Pipe()
		r.conns = append(r.conns, front)
	}
	cfg := runtime.Config{Size: s.ranks, Transport: s.transport, Seed: s.limits.seed, MaxMem: int(s.limits.maxMem), Cost: costOf(s.transport)}
	cfg.Notice, cfg.NoticeAfter = s.notice()
	opts := s.world(r.scratch)
	opts.Shared = builtins.NewShared()
	if s.plan != nil {
		cfg.Plan, cfg.Notice = s.plan, nil
	}
	watch, outside := s.watch, func(*runtime.Rank) {}
	if watch == nil {
		first := new(sync.Once)
		watch = watchMemory(cfg.MaxMem, 1)
		outside = func(rank *runtime.Rank) {
			first.Do(func() { watch.Outside, watch.GiveBack = rank.Memory, rank.GiveBack })
		}
	}
	job, err := runtime.Start(context.Background(), cfg, func(ctx context.Context, rank *runtime.Rank) {
		conn := backs[rank.ID()]
		if s.seen != nil {
			s.seen(rank)
		}
		outside(rank)
		lang.ServeWatched(ctx, conn, builtins.New(rank, opts), watch) // how it ends, the connection shows
		conn.Close()
	})
	if err != nil {
		return nil, err
	}
	r.left = job.Unreceived
	r.end = func() {
		for _, c := range r.conns {
			c.(*lang.PipeConn).Close()
		}
		await(job.Stop)
	}
	return r, nil
}

// startOn starts ranks that are processes.
func (s *starter) startOn(ctx context.Context, c *launch.Cluster) (*ranks, error) {
	r := &ranks{transport: s.transport, stops: s.stops, parent: cmp.Or(c.Scratch(), os.TempDir())}
	r.scratch = newScratchIn(r.parent)
	spec := launch.Spec{Config: s.config(r.scratch), Stops: s.stops}
	spec.Notice, spec.NoticeAfter = s.notice()
	if most := int(s.limits.maxMem); most > 0 {
		spec.Memory = watchMemory(most, c.Size()).Text
	}
	var err error
	if r.job, err = c.Start(ctx, spec); err != nil {
		return nil, err
	}
	r.conns, r.left, r.end = r.job.Conns(), r.job.Unreceived, r.job.Stop
	return r, nil
}

// startAgain starts ranks in the processes of r, whose front end has gone. It
// returns r or an error.
func (s *starter) startAgain(ctx context.Context, r *ranks) (*ranks, error) {
	r.scratch = newScratchIn(r.parent)
	return r, r.job.Again(ctx, s.config(r.scratch))
}

// config returns what the ranks are told that are processes.
func (s *starter) config(scratch string) []byte {
	config, err := json.Marshal(duty{Seed: s.limits.seed, MaxMem: int(s.limits.maxMem), Cost: costOf(s.transport), Stops: s.stops, World: s.world(scratch)})
	if err != nil {
		panic(fmt.Sprintf("duty of ranks: %v", err)) // all its types are encodable
	}
	return config
}

// world returns what the programs of the job may do.
func (s *starter) world(scratch string) builtins.Options {
	o := builtins.Options{Args: s.args, Flags: s.flags, Allow: s.limits.allow, Scratch: scratch, In: s.in, Out: s.out, Pictures: s.pictures, Resume: s.resume, Restarts: s.restarts, Verify: s.limits.verify, Strict: s.limits.strict, Types: s.limits.types, ExactSums: s.limits.exactSums, Timeline: s.tracing.options(s.ranks)}
	if o.Resume == "" {
		o.Resume = filepath.Join(scratch, "resume")
	}
	return o
}

// note returns what writes a line to s.notes; nil if nobody wants it.
func (s *starter) note() func(line string) {
	if s.notes == nil {
		return nil
	}
	var mu sync.Mutex
	return func(line string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(s.notes, line)
	}
}

// notice returns what writes lines about long waits, and how long those are.
func (s *starter) notice() (func(line string), time.Duration) {
	if s.limits.quiet {
		return nil, 0
	}
	return s.note(), noticeAfter
}

// tellTraffic writes a table of what the ranks have sent. The front end has
// closed its session.
func (r *ranks) tellTraffic(ctx context.Context, w io.Writer) error {
	sent, err := r.job.Traffic(ctx)
	if err != nil {
		return jobError{err}
	}
	table := func(head string, columns ...any) {
		if !r.job.OnHosts() {
			columns = columns[:2]
		}
		fmt.Fprintf(w, "%-12s%s\n", head, fmt.Sprintf(strings.Repeat("%16v", len(columns)), columns...))
	}
	table("bytes sent", "shared memory", "connections", "to other hosts")
	var all int64
	for rank, t := range sent {
		table(fmt.Sprint("rank ", rank), t.Memory, t.Streams, t.Across)
		all += t.Across
	}
	if r.job.OnHosts() {
		fmt.Fprintf(w, "%d bytes from host to host\n", all)
	}
	return nil
}

// maxUnreceived is how many places of sends without a receive are listed.
const maxUnreceived = 20

// unreceived returns an error about the messages that nobody received, or
// nil. What a killed rank sent or was sent is excused, and what a schedule left
// that failed. The programs have ended as o says, or well if it is nil; a rank of
// o that hangs may receive them yet, and is not waited for.
func (r *ranks) unreceived(o *lang.Outcome) error {
	if o.Hung() {
		return nil
	}
	all, killed := r.left(), o.Killed()
	left := all[:0]
	for _, m := range all {
		if !slices.Contains(killed, m.Src) && !slices.Contains(killed, m.Dst) && !runtime.OfSchedule(m) {
			left = append(left, m)
		}
	}
	if len(left) == 0 {
		return nil
	}
	return &unreceivedError{left}
}

// An unreceivedError says that messages were sent and never received.
type unreceivedError struct{ left []runtime.Unreceived }

func (e *unreceivedError) Error() string {
	return "Error in send: " + e.what() + ":" + messages(e.left)
}

// brief returns the error in one line, of the first message.
func (e *unreceivedError) brief() string { return e.left[0].Where + ": send: " + e.what() }

func (e *unreceivedError) what() string {
	if len(e.left) == 1 {
		return "a message was sent and never received"
	}
	return fmt.Sprintf("%d messages were sent and never received", len(e.left))
}

// waiting returns what there is to say of messages that wait for ranks of a deadlock,
// which receive others: of another tag, say, or in another group. It returns "" if
// there are none, or if a rank hangs and may receive them yet. The programs have ended.
func (r *ranks) waiting(o *lang.Outcome) string {
	if o.Hung() {
		return ""
	}
	var left []runtime.Unreceived
	for _, m := range r.left() {
		if f := o.Ranks[m.Dst].Failure; f != nil && f.Kind == "deadlock" && !runtime.OfSchedule(m) {
			left = append(left, m)
		}
	}
	if len(left) == 0 {
		return ""
	}
	return "What was sent to ranks that wait, and is not what they receive:" + messages(left) + "\n"
}

// messages returns a line for each place where messages were sent, with a line break
// before it.
func messages(left []runtime.Unreceived) string {
	var b strings.Builder
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
	return b.String()
}

// patience is how long the ranks of this process may take to end. Those that a
// session has told to stop have had their time already.
const patience = time.Second

// await calls f, and returns when f does or has taken longer than patience. A
// rank inside a step of the interpreter that nothing can interrupt is left to
// the end of the process.
func await(f func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		f()
	}()
	select {
	case <-ended:
	case <-time.After(patience):
	}
}

// stop ends the ranks and removes what they left in temporary folders.
func (r *ranks) stop() {
	r.end()
	os.RemoveAll(r.scratch)
}

package proc

import (
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Command says what to start.
type Command struct {
	Path string     // of the program
	Args []string   // its arguments, the first its name
	Env  []string   // its environment; nil for that of this process
	Dir  string     // its working folder; "" for that of this process
	Put  []*os.File // what it finds at descriptors 3, 4, ...
}

// A Group is a set of processes that end together.
type Group struct {
	starts chan func() // to the thread that starts processes
	late   time.Duration
	tasks  sync.WaitGroup

	mu        sync.Mutex
	processes []*Process
	closed    bool
}

var errClosed = errors.New("the group of processes is closed")

// NewGroup returns a group without processes. Their timers, where the system has a measure for
// that, may be late by so much, so that they wake less often; 0 for what is usual. Close ends it.
func NewGroup(late time.Duration) *Group {
	g := &Group{starts: make(chan func()), late: late}
	g.tasks.Go(g.serve)
	return g
}

// serve starts processes on a thread of its own. The kernel ends them when
// that thread ends, so it stays until Close.
func (g *Group) serve() {
	goruntime.LockOSThread()
	if g.late == 0 {
		defer goruntime.UnlockOSThread()
	} else {
		beLate(g.late) // the thread, which ends with this goroutine
	}
	for start := range g.starts {
		start()
	}
}

// Start starts a process. It reads nothing; what it writes is kept for
// Process.Output. c.Put can be closed afterwards.
func (g *Group) Start(c Command) (*Process, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, errClosed
	}
	p := &Process{stopped: make(chan struct{}), done: make(chan struct{}), drained: make(chan struct{})}
	ready := make(chan error)
	g.starts <- func() { ready <- p.start(c) }
	if err := <-ready; err != nil {
		return nil, err
	}
	g.processes = append(g.processes, p)
	g.tasks.Go(p.watch)
	g.tasks.Go(p.drain)
	return p, nil
}

// Close kills the processes that still run, and returns when all have ended,
// the last started first.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return
	}
	g.closed = true
	for _, p := range slices.Backward(g.processes) {
		p.Kill()
	}
	for _, p := range slices.Backward(g.processes) {
		<-p.done
	}
	close(g.starts)
	g.tasks.Wait()
}

// A Process is one that a Group has started.
type Process struct {
	os      *os.Process
	output  *os.File      // the reading end of what it writes to
	stopped chan struct{} // closed when it is stopped for the first time
	done    chan struct{} // closed when it has ended and been waited for
	drained chan struct{} // closed when text holds all that it wrote

	ok    bool // set before done is closed, as cause is
	cause string
	text  []byte // set before drained is closed
}

// start starts p; the calling thread becomes its parent.
func (p *Process) start(c Command) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer w.Close()
	p.os, err = os.StartProcess(c.Path, c.Args, &os.ProcAttr{
		Dir:   c.Dir,
		Env:   c.Env,
		Files: append([]*os.File{null, w, w}, c.Put...),
		Sys:   attributes(),
	})
	if err != nil {
		r.Close()
		return err
	}
	p.output = r
	return nil
}

// ID returns the number of the process.
func (p *Process) ID() int { return p.os.Pid }

// Stopped is closed when the process is stopped for the first time, as by
// SIGSTOP, where the kernel tells (on Linux).
func (p *Process) Stopped() <-chan struct{} { return p.stopped }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Cause says how the process ended, as in "was killed by signal 9 (killed)".
// Done is closed.
func (p *Process) Cause() string { return p.cause }

// OK reports whether the process ended with status 0. Done is closed.
func (p *Process) OK() bool { return p.ok }

// Kill ends the process, if it has not ended, without waiting for it.
func (p *Process) Kill() { p.os.Kill() }

// afterlife is how long what a process has written is waited for when it has
// ended: another may hold the other end of the pipe.
const afterlife = time.Second

// reap waits for the end of the process.
func (p *Process) reap() {
	defer close(p.done)
	state, err := p.os.Wait()
	p.output.SetReadDeadline(time.Now().Add(afterlife))
	if err != nil {
		p.cause = fmt.Sprintf("is gone (%v)", err)
		return
	}
	p.ok, p.cause = state.Success(), cause(state)
}

// cause says how a process ended.
func cause(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return fmt.Sprintf("was killed by signal %d (%v)", ws.Signal(), ws.Signal())
	}
	return fmt.Sprintf("exited with status %d", state.ExitCode())
}

// maxText is how much of what a process writes is kept.
const maxText = 64 << 10

// drain reads what the process writes until it has ended.
func (p *Process) drain() {
	defer close(p.drained)
	defer p.output.Close()
	buf := make([]byte, 4<<10)
	for {
		n, err := p.output.Read(buf)
		p.text = append(p.text, buf[:min(n, maxText-len(p.text))]...)
		if err != nil {
			return
		}
	}
}

// Output returns what the process has written to its standard output and
// error, or the beginning of it. It waits for the end of the process.
func (p *Process) Output() string {
	<-p.drained
	return string(p.text)
}

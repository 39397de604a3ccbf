package launch

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tpsh/cmd/tpsh/launch/proc"
	"tpsh/comm/process/shm"
)

// A host is the workers of a node as their launcher sees them.
type host struct {
	local       []int // their ranks
	group       *proc.Group
	processes   []*proc.Process // by index in local, as what follows
	controls    []net.Conn
	supervisors []net.Conn   // to the supervisor; nil if they find it themselves
	segment     *shm.Segment // what they share, if it was made here
	memory      *os.File     // the file of what they share, nil for nothing
	watchers    sync.WaitGroup
}

// hostOptions say how the workers of a node are started.
type hostOptions struct {
	share      int      // make memory that so many ranks share; 0 for none
	memory     string   // let them share the memory at this path; "" for none
	supervisor bool     // they inherit a connection to the supervisor
	args       []string // of their command lines
	secrets    secrets
}

// startHost starts a worker for each of the ranks in local.
func startHost(local []int, o hostOptions) (*host, error) {
	h := &host{local: local, group: proc.NewGroup(lateness(len(local)))}
	if err := h.start(o); err != nil {
		for _, c := range slices.Concat(h.controls, h.supervisors) {
			c.Close()
		}
		h.close()
		return nil, err
	}
	return h, nil
}

// lateness is by how much timers of so many workers may be late, 0 for the system's own. Go's
// runtime has a thread that looks after the others, and while they work sleeps for 20 µs at a
// time: where many share a core, that is more looking than work. What else sleeps there, sleeps
// for as many milliseconds as ranks share a core.
func lateness(workers int) time.Duration {
	if share := shm.Share(workers); share >= shm.Crowd {
		return time.Duration(share) * 20 * time.Microsecond
	}
	return 0
}

// environment returns the variables of each of so many workers. Where many share a core, Go's runtime
// runs one goroutine of each at a time, unless the user has said how many: a thread more would wait for the
// same core, and to wake it takes longer than what it does.
func environment(workers int) []string {
	env := append(withoutToken(os.Environ()), workerVariable+"=1")
	if shm.Share(workers) >= shm.Crowd && os.Getenv("GOMAXPROCS") == "" {
		env = append(env, "GOMAXPROCS=1")
	}
	return env
}

func (h *host) start(o hostOptions) error {
	if err := h.remember(o); err != nil {
		return err
	}
	path, err := program()
	if err != nil {
		return err
	}
	for _, rank := range h.local {
		if err := h.startWorker(path, rank, o); err != nil {
			return fmt.Errorf("rank %d: %w", rank, err)
		}
	}
	return nil
}

// remember makes the memory that the workers share, or opens it.
func (h *host) remember(o hostOptions) (err error) {
	switch {
	case o.memory != "":
		if h.memory, err = os.OpenFile(o.memory, os.O_RDWR, 0); err != nil {
			return missed{err}
		}
	case o.share > 0:
		if h.segment, err = shm.CreateSegment(o.share); err == nil {
			h.memory = h.segment.File()
		}
	}
	return err
}

// withoutToken returns the variables of an environment but for the job's token, which
// workers have from elsewhere: what they start in turn need not know it.
func withoutToken(env []string) []string {
	return slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, TokenVariable+"=") })
}

// file returns a file from which a worker reads the secrets, once. It has no name
// that anybody could open.
func (s *secrets) file() (*os.File, error) {
	known, err := json.Marshal(s)
	if err == nil && len(known) > mostSecrets {
		err = fmt.Errorf("secrets of a worker: got %d bytes, want at most %d (a token that long?)", len(known), mostSecrets)
	}
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer w.Close()
	if _, err := w.Write(known); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// startWorker starts the worker of a rank. It inherits its control connection and
// its secrets, then the connection to the supervisor and the shared memory, as far as
// it is to have them.
func (h *host) startWorker(path string, rank int, o hostOptions) error {
	control, put, err := socketPair()
	if err != nil {
		return err
	}
	defer put.Close()
	h.controls = append(h.controls, control)
	known, err := o.secrets.file()
	if err != nil {
		return err
	}
	defer known.Close()
	files := []*os.File{put, known}
	if o.supervisor {
		supervisor, put, err := socketPair()
		if err != nil {
			return err
		}
		defer put.Close()
		h.supervisors = append(h.supervisors, supervisor)
		files = append(files, put)
	}
	if h.memory != nil {
		files = append(files, h.memory)
	}
	p, err := h.group.Start(proc.Command{
		Path: path,
		Args: append([]string{os.Args[0], "worker", fmt.Sprintf("rank=%d", rank)}, o.args...), // the rank for ps
		Env:  environment(len(h.local)),
		Put:  files,
	})
	if err != nil {
		return err
	}
	h.processes = append(h.processes, p)
	return nil
}

// wasStopped is the cause of a worker that was stopped, as by SIGSTOP.
const wasStopped = "was stopped"

// A witness is told what becomes of workers, on any goroutine.
type witness interface {
	// gone says that a worker stopped or ended, and of what; "" if it ended in
	// good order. It is called once for each.
	gone(rank int, cause string)
	// wrote says what a worker wrote on its standard error, after its end.
	wrote(rank int, text string)
}

// watch begins to tell w what becomes of the workers.
func (h *host) watch(w witness) {
	for i, p := range h.processes {
		h.watchers.Go(func() {
			select {
			case <-p.Stopped():
				w.gone(h.local[i], wasStopped)
				p.Kill() // it is of no use to the job any more
				<-p.Done()
			case <-p.Done():
				w.gone(h.local[i], unlessOK(p))
			}
			if text := strings.TrimSpace(lastWords(p)); text != "" {
				w.wrote(h.local[i], text)
			}
		})
	}
}

func unlessOK(p *proc.Process) string {
	switch {
	case p.OK():
		return ""
	case wantsMemory(p.Output()):
		return outOfMemory
	}
	return p.Cause()
}

// outOfMemory is the cause of a worker that the system refused memory.
const outOfMemory = "ran out of memory"

// wantsMemory reports whether a process has written that the system refused its
// collector memory, in the words of Go's runtime.
func wantsMemory(text string) bool {
	for _, end := range []string{"fatal error: out of memory", "fatal error: runtime: out of memory", "fatal error: runtime: cannot allocate memory", "fatal error: out of memory allocating"} {
		if strings.Contains(text, end) {
			return true
		}
	}
	return false
}

// lastWords returns what the process has written, but for where its goroutines were
// when it ran out of memory.
func lastWords(p *proc.Process) string {
	text := p.Output()
	if wantsMemory(text) {
		text, _, _ = strings.Cut(text, "\n\n")
	}
	return text
}

// wait returns when all workers have ended, or after patience.
func (h *host) wait(patience time.Duration) {
	late := time.NewTimer(patience)
	defer late.Stop()
	for _, p := range h.processes {
		select {
		case <-p.Done():
		case <-late.C:
			return
		}
	}
}

// close ends the workers that have not ended, and what the launcher has for
// them but for the control connections.
func (h *host) close() error {
	h.group.Close()
	h.watchers.Wait()
	switch {
	case h.segment != nil:
		return h.segment.Close()
	case h.memory != nil:
		return h.memory.Close()
	}
	return nil
}

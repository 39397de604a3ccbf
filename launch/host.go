package launch

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"tpsh/comm"
	"tpsh/proc"
)

// A host is the workers of a node as their launcher sees them.
type host struct {
	local       []int // their ranks
	group       *proc.Group
	processes   []*proc.Process // by index in local, as what follows
	controls    []net.Conn
	supervisors []net.Conn    // to the supervisor; nil if they find it themselves
	segment     *comm.Segment // nil if they share no memory
	watchers    sync.WaitGroup
}

// hostOptions say how the workers of a node are started.
type hostOptions struct {
	segment    bool // they share memory
	supervisor bool // they inherit a connection to the supervisor
}

// startHost starts a worker for each of the ranks in local.
func startHost(local []int, o hostOptions) (*host, error) {
	h := &host{local: local, group: proc.NewGroup()}
	err := h.start(o)
	if err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *host) start(o hostOptions) error {
	if o.segment {
		var err error
		if h.segment, err = comm.CreateSegment(len(h.local)); err != nil {
			return err
		}
	}
	path, err := program()
	if err != nil {
		return err
	}
	for range h.local {
		if err := h.startWorker(path, o); err != nil {
			return err
		}
	}
	return nil
}

// startWorker starts the next worker. It inherits its control connection, then
// that to the supervisor and the shared memory, as far as it is to have them.
func (h *host) startWorker(path string, o hostOptions) error {
	control, put, err := socketPair()
	if err != nil {
		return err
	}
	defer put.Close()
	h.controls = append(h.controls, control)
	files := []*os.File{put}
	if o.supervisor {
		supervisor, put, err := socketPair()
		if err != nil {
			return err
		}
		defer put.Close()
		h.supervisors = append(h.supervisors, supervisor)
		files = append(files, put)
	}
	if h.segment != nil {
		files = append(files, h.segment.File())
	}
	p, err := h.group.Start(proc.Command{
		Path: path,
		Args: []string{os.Args[0], "worker", fmt.Sprintf("rank=%d", h.local[len(h.processes)])}, // for ps
		Env:  append(os.Environ(), workerVariable+"=1"),
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
			if text := strings.TrimSpace(p.Output()); text != "" {
				w.wrote(h.local[i], text)
			}
		})
	}
}

func unlessOK(p *proc.Process) string {
	if p.OK() {
		return ""
	}
	return p.Cause()
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
	var errs []error
	if h.segment != nil {
		errs = append(errs, h.segment.Close())
	}
	return errors.Join(errs...)
}

package launch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/comm/process"
	"tpsh/comm/process/shm"
	"tpsh/internal/allowance"
	"tpsh/lang"
)

// TokenVariable is the variable of the environment that has a job's token.
const TokenVariable = "TPSH_TOKEN"

// workerVariable says in the environment of a worker that it is one.
const workerVariable = "TPSH_WORKER"

// The descriptors that a worker inherits. What it has besides is behind them.
const (
	controlFile = 3 + iota
	secretsFile
	nextFile
)

// IsWorker reports whether the process is a worker.
func IsWorker() bool { return os.Getenv(workerVariable) != "" }

// A Seat is a worker's place in a job.
type Seat struct {
	Rank, Size int
	Local      int              // how many ranks there are on this host
	Config     []byte           // Spec.Config, or that of Job.Again
	Generation int              // of the fabric to begin with
	Links      *process.Links   // to the other ranks
	Conn       *lang.StreamConn // to the front end

	// Status is that with which to end, in a world when Next has returned false.
	// It is nil if the front end has been lost.
	Status *int

	// Kernels is the set of kernels that the rank computes with, which the
	// worker sets. A job starts only if it is the same on all ranks.
	Kernels string

	launcher int             // the process that has started this one
	ctx      context.Context // ends when that has gone
	left     context.CancelCauseFunc
}

// timeToMeet is how long workers, all of them started, may take to connect.
const timeToMeet = 30 * time.Second

// orphanage is how long a worker has to end when its launcher has gone.
const orphanage = 2 * time.Second

// exitOrphaned is the status with which it is ended then. Nobody waits for it.
const exitOrphaned = 3

// TakeSeat connects a worker as its launcher tells it to. After an error, the
// launcher has been told.
func TakeSeat() (*Seat, error) {
	stream, err := inherited(controlFile)
	if err != nil {
		return nil, fmt.Errorf("worker: no connection to a launcher: %w", err)
	}
	s := &Seat{launcher: os.Getppid()}
	s.ctx, s.left = context.WithCancelCause(context.Background())
	s.Conn = lang.Stream(stream, s.orphaned)
	if err := s.connect(); err != nil {
		s.Ready(err)
		s.Conn.Close()
		return nil, err
	}
	return s, nil
}

// orphaned sees to it that the process ends, whatever it does, when the
// connection to its launcher has ended.
func (s *Seat) orphaned(err error) error {
	s.left(errors.New("the launcher has gone"))
	time.AfterFunc(orphanage, func() { os.Exit(exitOrphaned) })
	return err
}

// deserted sees to it that the process ends when its supervisor is lost, and
// that its launcher does, which would have ended the process had it not been
// stopped itself.
func (s *Seat) deserted(cause error) {
	time.AfterFunc(orphanage, func() {
		fmt.Fprintf(os.Stderr, "its supervisor was lost (%v), and its launcher did not end it: was that stopped?\n", cause)
		wake(s.launcher)
		os.Exit(exitOrphaned)
	})
}

// connect receives the role and connects to the other ranks.
func (s *Seat) connect() error {
	var r role
	if err := recvJSON(s.ctx, s.Conn, &r); err != nil {
		return err
	}
	if r.Rank < 0 || r.Rank >= r.Size {
		return fmt.Errorf("worker: got rank %d of %d", r.Rank, r.Size)
	}
	if r.Machine != nil {
		allowance.Believe(r.Machine)
	}
	s.Rank, s.Size, s.Local, s.Config = r.Rank, r.Size, len(r.Local), r.Config
	o, err := r.links(s.ctx)
	if err != nil {
		return err
	}
	o.Hosts, o.Deserted = r.Hosts, s.deserted
	s.Links, err = process.Connect(o)
	return err
}

// links returns what connects the rank to the others. ctx ends the waiting for
// them.
func (r *role) links(ctx context.Context) (o process.LinkOptions, err error) {
	known := inheritedFile(secretsFile)
	defer known.Close()
	next := nextFile
	if r.Meet != nil {
		if o, err = r.Meet.links(ctx, known, r.Rank, r.Size); err != nil {
			return o, err
		}
	} else {
		o = process.LinkOptions{Rank: r.Rank, Size: r.Size}
		if o.Supervisor, err = inherited(next); err != nil {
			return o, err
		}
		next++
	}
	if !r.Segment {
		return o, nil
	}
	if o.Segment, err = shm.OpenSegment(os.NewFile(uintptr(next), "segment")); err != nil {
		return o, err
	}
	o.Local = r.Local
	return o, nil
}

// links connects rank to the others by sockets.
func (m *meet) links(ctx context.Context, file *os.File, rank, size int) (process.LinkOptions, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeToMeet, errors.New("the other ranks did not come"))
	defer cancel()
	c, err := m.credentials(file)
	if err != nil {
		return process.LinkOptions{}, fmt.Errorf("worker: %w", err)
	}
	connections, err := bootstrap.Meet(ctx, c, m.Address, rank, size)
	if err != nil {
		return process.LinkOptions{}, err
	}
	o := process.Through(connections)
	o.Heartbeat, o.PeerTimeout = m.Heartbeat, m.PeerTimeout
	if m.Heartbeat {
		o.Where = hostName()
	}
	return o, nil
}

// credentials returns what the ranks prove to each other, with the secrets that are
// in the file.
func (m *meet) credentials(file *os.File) (*bootstrap.Credentials, error) {
	var known secrets
	if err := json.NewDecoder(file).Decode(&known); err != nil {
		return nil, fmt.Errorf("its secrets: %w", err)
	}
	id, err := known.Identity.read()
	return &bootstrap.Credentials{Job: m.Job, Token: known.Token, TLS: m.TLS, Identity: id}, err
}

// Ready tells the launcher that the rank can begin, or why it cannot.
func (s *Seat) Ready(err error) {
	answer := ready{Kernels: s.Kernels, Host: hostName()}
	if err != nil {
		answer.Error = err.Error()
	}
	sendJSON(s.Conn, answer)
}

// Next is called when the front end has closed its session. It returns when it
// is known whether there will be another, with another Config and Generation.
// Meanwhile other ranks may still learn what became of messages.
func (s *Seat) Next() (more bool) {
	var next again
	for known := false; !known; { // the rest was for a front end that is gone
		next = again{}
		msg, err := s.Conn.Recv(context.Background())
		if err != nil {
			return false
		}
		known = decodeJSON(msg, &next) == nil
		if known && next.Traffic {
			traffic := s.Links.Traffic()
			sendJSON(s.Conn, ready{Done: true, Traffic: &traffic})
			known = false
		}
	}
	s.Config, s.Status = next.Config, next.Finish
	s.Generation++
	sendJSON(s.Conn, ready{Done: true})
	return s.Status == nil
}

// Close gives the seat up.
func (s *Seat) Close() {
	s.Links.Close()
	s.Conn.Close()
}

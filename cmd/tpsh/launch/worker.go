package launch

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"time"

	"tpsh/comm"
	"tpsh/lang"
)

// Variables in the environment of a worker, which no other user can read: that
// it is one, and the token with which it meets other ranks, in base64.
const (
	workerVariable = "TPSH_WORKER"
	tokenVariable  = "TPSH_WORKER_TOKEN"
)

// IsWorker reports whether the process is a worker.
func IsWorker() bool { return os.Getenv(workerVariable) != "" }

// A Seat is a worker's place in a job.
type Seat struct {
	Rank, Size int
	Local      int              // how many ranks there are on this host
	Config     []byte           // Spec.Config, or that of Job.Again
	Generation int              // of the fabric to begin with
	Links      *comm.Links      // to the other ranks
	Conn       *lang.StreamConn // to the front end
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
	stream, err := inherited(3)
	if err != nil {
		return nil, fmt.Errorf("worker: no connection to a launcher: %w", err)
	}
	s := &Seat{Conn: lang.Stream(stream, orphan)}
	if err := s.connect(); err != nil {
		s.Ready(err)
		s.Conn.Close()
		return nil, err
	}
	return s, nil
}

// orphan sees to it that the process ends, whatever it does, when the
// connection to its launcher has ended.
func orphan(err error) error {
	time.AfterFunc(orphanage, func() { os.Exit(exitOrphaned) })
	return err
}

// connect receives the role and connects to the other ranks.
func (s *Seat) connect() error {
	var r role
	if err := recvJSON(context.Background(), s.Conn, &r); err != nil {
		return err
	}
	if r.Rank < 0 || r.Rank >= r.Size {
		return fmt.Errorf("worker: got rank %d of %d", r.Rank, r.Size)
	}
	s.Rank, s.Size, s.Local, s.Config = r.Rank, r.Size, len(r.Local), r.Config
	o, err := r.links()
	if err != nil {
		return err
	}
	s.Links, err = comm.Connect(o)
	return err
}

// links returns what connects the rank to the others.
func (r *role) links() (o comm.LinkOptions, err error) {
	next := 4 // the descriptor behind the control connection's
	if r.Meet != nil {
		if o, err = r.Meet.links(r.Rank, r.Size); err != nil {
			return o, err
		}
	} else {
		o = comm.LinkOptions{Rank: r.Rank, Size: r.Size}
		if o.Supervisor, err = inherited(next); err != nil {
			return o, err
		}
		next++
	}
	if !r.Segment {
		return o, nil
	}
	if o.Segment, err = comm.OpenSegment(os.NewFile(uintptr(next), "segment")); err != nil {
		return o, err
	}
	o.Local = r.Local
	for _, rank := range r.Local { // whom the segment reaches
		if rank < len(o.Peers) && o.Peers[rank] != nil {
			o.Peers[rank].Close()
			o.Peers[rank] = nil
		}
	}
	return o, nil
}

// links connects rank to the others by sockets.
func (m *meet) links(rank, size int) (comm.LinkOptions, error) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeToMeet, errors.New("the other ranks did not come"))
	defer cancel()
	token, err := base64.StdEncoding.DecodeString(os.Getenv(tokenVariable))
	if err != nil {
		return comm.LinkOptions{}, fmt.Errorf("worker: its token: %w", err)
	}
	c := &comm.Credentials{Job: m.Job, TLS: m.TLS}
	if len(token) > 0 {
		c.Token = token
	}
	mesh, err := comm.Meet(ctx, c, m.Address, rank, size)
	if err != nil {
		return comm.LinkOptions{}, err
	}
	o := mesh.Options()
	o.Heartbeat, o.PeerTimeout = m.Heartbeat, m.PeerTimeout
	return o, nil
}

// Ready tells the launcher that the rank can begin, or why it cannot.
func (s *Seat) Ready(err error) {
	var answer ready
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
	if err := recvJSON(context.Background(), s.Conn, &next); err != nil {
		return false
	}
	s.Config = next.Config
	s.Generation++
	sendJSON(s.Conn, ready{Done: true})
	return true
}

// Close gives the seat up.
func (s *Seat) Close() {
	s.Links.Close()
	s.Conn.Close()
}

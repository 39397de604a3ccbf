package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"tpsh/comm/process"
	"tpsh/lang"
)

// A World is processes that a launcher of another kind has started together,
// as mpirun does, seen from one of them. Each is one rank; that of rank 0 holds
// the front end as well. If it is a process.Carrier, it carries out collectives.
type World interface {
	Rank() int
	Size() int
	// Local returns the ranks of this machine, ascending.
	Local() []int
	// Hosts says by rank on which machine it is, whatever the numbers; nil if all are on one.
	Hosts() []int
	// Stream returns this end of the stream of bytes between this rank and
	// another on a channel. Closing an end ends what reads from it and writes to
	// it, and is the end of the other's stream.
	Stream(peer, channel int) io.ReadWriteCloser
}

// Channels of the streams of a World.
const (
	dataChannel        = iota // between any two ranks
	supervisionChannel        // between a rank and the supervisor, which is where rank 0 is
	controlChannel            // between a rank and the front end, which is there, too
)

// A front is what the process of rank 0 has besides its rank.
type front struct {
	world    World
	controls []*lang.StreamConn   // to every rank
	watched  []io.ReadWriteCloser // the supervisor's streams, likewise; nil once there was a job
	hosts    []string             // likewise; "" where it is not known yet
	broken   error                // why there cannot be another job

	// The other ends of what leads to rank 0 itself, for its Seat.
	ownControl, ownWatched io.ReadWriteCloser
}

// GatherIn makes a cluster of the ranks of a world, for one job. It is called in
// the process of rank 0, which also takes the Seat of its rank, on another
// goroutine than what uses the cluster.
func GatherIn(w World, o Options) (*Cluster, error) {
	f := &front{world: w, hosts: make([]string, w.Size())}
	control, ownControl, err := ends()
	if err != nil {
		return nil, err
	}
	watched, ownWatched, err := ends()
	if err != nil {
		control.Close()
		ownControl.Close()
		return nil, err
	}
	f.ownControl, f.ownWatched = ownControl, ownWatched
	f.controls, f.watched = append(f.controls, lang.Stream(control, nil)), append(f.watched, watched)
	for rank := 1; rank < w.Size(); rank++ {
		f.controls = append(f.controls, lang.Stream(w.Stream(rank, controlChannel), nil))
		f.watched = append(f.watched, w.Stream(rank, supervisionChannel))
	}
	return &Cluster{opts: o, size: w.Size(), front: f}, nil
}

// TakeSeat takes the seat of rank 0 in a cluster that GatherIn made. The first Next
// of any Seat in a world waits for the first Config.
func (c *Cluster) TakeSeat() (*Seat, error) {
	f := c.front
	return takeSeat(f.world, f.ownControl, f.ownWatched)
}

// TakeSeatIn takes the seat of another rank than 0 in a world.
func TakeSeatIn(w World) (*Seat, error) {
	return takeSeat(w, w.Stream(0, controlChannel), w.Stream(0, supervisionChannel))
}

func takeSeat(w World, control, watched io.ReadWriteCloser) (*Seat, error) {
	s := &Seat{Rank: w.Rank(), Size: w.Size(), Local: len(w.Local()), Generation: -1, Conn: lang.Stream(control, nil)}
	o := process.LinkOptions{Rank: s.Rank, Size: s.Size, Hosts: w.Hosts(), Supervisor: watched, Peers: make([]io.ReadWriteCloser, s.Size)}
	for peer := range o.Peers {
		if peer != s.Rank {
			o.Peers[peer] = w.Stream(peer, dataChannel)
		}
	}
	o.Carrier, _ = w.(process.Carrier)
	if s.Local < s.Size {
		o.Where = hostName()
	}
	var err error
	if s.Links, err = process.Connect(o); err != nil {
		s.Conn.Close()
		return nil, err
	}
	return s, nil
}

// How long the ranks of a world may take to begin, which some of them may reach
// long after others, and those of any job to be done with what they did.
const (
	timeToBegin = 30 * time.Second
	timeToEnd   = 10 * time.Second
)

// begin is what Job.Start is in a world.
func (f *front) begin(ctx context.Context, j *Job, spec Spec) error {
	if f.watched == nil {
		return fmt.Errorf("the ranks that another launcher has started cannot be started again (%w)", f.broken)
	}
	copy(j.conns, f.controls)
	j.supervise(f.watched, spec)
	f.watched = nil
	j.generation, f.broken = -1, errStopped
	if err := j.again(ctx, spec.Config, timeToBegin); err != nil {
		return err
	}
	if err := j.alike(); err != nil {
		f.abandon(err)
		return err
	}
	return nil
}

var errStopped = errors.New("their job was stopped")

// abandon notes why the ranks are of no more use, and tells those that wait for
// a front end that none comes.
func (f *front) abandon(why error) {
	f.broken = why
	conns := make([]lang.Conn, len(f.controls))
	for rank, c := range f.controls {
		conns[rank] = c
	}
	lang.NewSession(conns, lang.Options{}).Close()
}

// finish tells the ranks of a world that there is no more to do, and with which
// status all end. It fails if one does not answer.
func (f *front) finish(status int) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), timeToEnd, errBusy)
	defer cancel()
	for _, c := range f.controls {
		sendJSON(c, again{Finish: &status})
	}
	var first error
	for rank, c := range f.controls {
		switch _, err := done(ctx, c); {
		case err == nil || first != nil:
		case errors.Is(err, errBusy):
			first = fmt.Errorf("rank %d does not come to an end", rank)
		default:
			first = fmt.Errorf("rank %d is lost: %w", rank, err)
		}
		c.Close()
	}
	for _, stream := range f.watched { // of a job that has not been
		stream.Close()
	}
	return first
}

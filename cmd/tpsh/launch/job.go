package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"tpsh/comm"
	"tpsh/comm/bootstrap"
	"tpsh/comm/process"
	"tpsh/lang"
)

// A Job is ranks under way, as the first launcher sees them.
type Job struct {
	cluster     *Cluster
	host        *host               // the workers of this node
	listener    *bootstrap.Listener // nil without sockets
	ownListener bool                // and not the cluster's
	fates       []fate              // by rank
	tasks       sync.WaitGroup
	stopping    sync.Once
	stops       bool   // Spec.Stops
	memory      string // Spec.Memory
	generation  int    // how often the ranks have begun again
	outgrown    chan struct{}
	stopGrowing context.CancelFunc // nil if jobs are not elastic

	mu          sync.Mutex
	conns       []*lang.StreamConn   // to every rank; nil where it has not come
	kernels     []string             // by rank: what it computes with; "" where it has not said
	greeting    []bool               // by rank: its first message is waited for
	supervision *process.Supervision // nil until all ranks are connected
	fail        func(error)          // ends the start of the job
	ending      chan struct{}        // closed when whoever goes goes in good order
}

// A fate is what has become of a rank.
type fate struct {
	once  sync.Once
	known chan struct{} // closed when the rank has gone
	cause string        // of its death, "" if it left in good order; set before known is closed
}

// Start starts the ranks of a job, and returns when they are connected; Stop
// ends it. ctx ends the waiting alone. No other job of the cluster is under way.
// When a node has been lost with the one before, there cannot be another, unless jobs are
// elastic.
func (c *Cluster) Start(ctx context.Context, spec Spec) (*Job, error) {
	if err := c.ready(ctx); err != nil {
		return nil, err
	}
	j := &Job{cluster: c, stops: spec.Stops, memory: spec.Memory, conns: make([]*lang.StreamConn, c.size), kernels: make([]string, c.size), greeting: make([]bool, c.size), fates: make([]fate, c.size), ending: make(chan struct{}), outgrown: make(chan struct{})}
	for r := range j.fates {
		j.fates[r].known = make(chan struct{})
	}
	s := &start{Job: j, spec: spec, machines: c.machines()}
	s.ctx, s.fail = context.WithCancelCause(ctx)
	j.fail = s.fail
	begin := s.run
	if c.front != nil {
		begin = func() error { return c.front.begin(s.ctx, j, spec) }
	}
	if err := begin(); err != nil {
		j.stop(0)
		return nil, err
	}
	if c.opts.Elastic != nil {
		j.startGrowing()
	}
	return j, nil
}

// Conns returns the control connections, by rank. When a rank dies, receiving
// from its connection ends in a *lang.DeathError.
func (j *Job) Conns() []lang.Conn {
	conns := make([]lang.Conn, len(j.conns))
	for r, c := range j.conns {
		conns[r] = c
	}
	return conns
}

// Unreceived returns the messages of the program that ran last that were sent
// and never received. It has ended on all ranks.
func (j *Job) Unreceived() []comm.Unreceived { return j.supervision.Unreceived(j.generation) }

// Again lets the ranks begin again, with another configuration. The front end
// has closed its session, in which no more than one program was run. After an
// error the job is of no more use.
func (j *Job) Again(ctx context.Context, config []byte) error {
	limit := patience
	if j.cluster.front != nil {
		limit = timeToEnd // for there are no others to be started
	}
	return j.again(ctx, config, limit)
}

func (j *Job) again(ctx context.Context, config []byte, limit time.Duration) (err error) {
	if f := j.cluster.front; f != nil {
		defer func() {
			if err != nil {
				f.abandon(err)
			}
		}()
	}
	j.generation++
	for _, c := range j.conns {
		sendJSON(c, again{Config: config})
	}
	if err := j.done(ctx, limit); err != nil {
		return err
	}
	for r := range j.conns {
		if err := j.greet(ctx, r); err != nil {
			return fmt.Errorf("rank %d: %w", r, err)
		}
	}
	return nil
}

// OnHosts reports whether the ranks are on several machines, as far as launchers know.
func (j *Job) OnHosts() bool { return j.cluster.machines() != nil }

// Traffic returns, by rank, what the ranks have sent. The front end has closed
// its session, in which their program has ended.
func (j *Job) Traffic(ctx context.Context) ([]process.Traffic, error) {
	for _, c := range j.conns {
		sendJSON(c, again{Traffic: true})
	}
	// A job that has done its work is not to fail since the machine is busy.
	ctx, cancel := context.WithTimeoutCause(ctx, timeToEnd, errBusy)
	defer cancel()
	sent := make([]process.Traffic, len(j.conns))
	for rank, c := range j.conns {
		r, err := done(ctx, c)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", rank, err)
		}
		if r.Traffic != nil {
			sent[rank] = *r.Traffic
		}
	}
	return sent, nil
}

// done returns when all ranks have said that they are done with what was before.
// One that is not within limit will not be.
func (j *Job) done(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errBusy)
	defer cancel()
	for _, c := range j.conns {
		if _, err := done(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

var errBusy = errors.New("a rank does not come to an end")

// done returns when a rank has said that it is done. What else it has said was
// for the front end, which has gone.
func done(ctx context.Context, c lang.Conn) (*ready, error) {
	for {
		msg, err := c.Recv(ctx)
		if err != nil {
			return nil, err
		}
		var r ready
		if decodeJSON(msg, &r) == nil && r.Done {
			return &r, nil
		}
	}
}

// How long the kernel's word is waited for when a connection of a rank has
// ended: that of this host, and that of another.
const (
	reasonHere  = time.Second
	reasonThere = 3 * time.Second
)

// supervise begins to watch what the ranks wait for.
func (j *Job) supervise(streams []io.ReadWriteCloser, s Spec) {
	o := process.SuperviseOptions{
		Grace:       reasonHere,
		Streams:     streams,
		Notice:      s.Notice,
		NoticeAfter: s.NoticeAfter,
	}
	if j.cluster.opts.severalNodes() {
		o.Grace, o.Heartbeat, o.PeerTimeout = reasonThere, true, j.cluster.opts.peerTimeout()
		o.Hosts = j.cluster.hosts()
		o.Silent = func(rank int, silence time.Duration) {
			j.cluster.note(fmt.Sprintf("rank %d%s has not been heard of for %v", rank, j.cluster.on(rank), silence.Round(100*time.Millisecond)))
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.supervision = process.Supervise(o)
	for r := range j.fates { // of those who have gone since they connected
		select {
		case <-j.fates[r].known:
			j.tell(r)
		default:
		}
	}
}

// gone notes that a worker stopped or ended. If it was to end, that is all.
func (j *Job) gone(rank int, cause string) { j.went(rank, cause, cause == wasStopped) }

// went is gone, of a worker whose control connection is to be ended here if
// nothing else does.
func (j *Job) went(rank int, cause string, silently bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.isEnding() {
		return
	}
	f := &j.fates[rank]
	f.once.Do(func() {
		if cause == outOfMemory && j.memory != "" {
			cause += ": " + j.memory
		}
		if f.cause = cause; cause != "" {
			f.cause += j.cluster.on(rank)
		}
		close(f.known)
		j.tell(rank)
		if conn := j.conns[rank]; conn != nil && silently {
			conn.Fail(f.err())
		}
	})
}

// tell tells the supervisor the fate of a rank. The caller holds mu.
func (j *Job) tell(rank int) {
	switch f := &j.fates[rank]; {
	case j.greeting[rank]: // it may have said why; else its connection ends
	case j.supervision == nil:
		j.fail(fmt.Errorf("rank %d: %w", rank, f.err()))
	case f.cause == "":
		j.supervision.Exits(rank)
	default:
		j.supervision.Lose(rank, errors.New(f.cause))
	}
}

// err returns the error in which the connection to a rank ends that has gone.
func (f *fate) err() error {
	if f.cause == "" {
		return io.EOF
	}
	return &lang.DeathError{Cause: f.cause}
}

func (j *Job) isEnding() bool {
	select {
	case <-j.ending:
		return true
	default:
		return false
	}
}

// ended says why the control connection of a rank has ended: because the rank
// has, as the kernel will tell in a moment.
func (j *Job) ended(rank int, err error) error {
	late := time.NewTimer(reasonThere)
	defer late.Stop()
	select {
	case <-j.fates[rank].known:
	case <-j.ending:
	case <-late.C:
		j.gone(rank, cutOff(err))
	}
	switch f := &j.fates[rank]; {
	case j.isEnding():
		return err
	case f.cause == "": // it has left because of that
		return &lang.DeathError{Cause: cutOff(err) + j.cluster.on(rank)}
	default:
		return f.err()
	}
}

// cutOff is the cause of a rank's loss that has lost the front end.
func cutOff(err error) string { return fmt.Sprintf("lost its connection to the launcher (%v)", err) }

// wrote passes on what a worker wrote on its own, as the Go runtime does before
// it ends a process.
func (j *Job) wrote(rank int, text string) {
	j.cluster.note(fmt.Sprintf("rank %d wrote before it ended:\n%s", rank, text))
}

// attend listens to another node until its workers have ended.
func (j *Job) attend(n *node) {
	for {
		var note nodeNote
		if err := recvJSON(context.Background(), n.conn, &note); err != nil {
			n.lost = err
			for _, r := range n.ranks {
				j.went(r, fmt.Sprintf("was lost with its host (%v)", err), err != io.EOF)
			}
			return
		}
		switch {
		case note.Memory != "":
			j.share(n, note.Memory)
		case note.Lost != nil && n.has(note.Lost.Rank):
			j.gone(note.Lost.Rank, note.Lost.Cause)
		case note.Wrote != nil && n.has(note.Wrote.Rank):
			j.wrote(note.Wrote.Rank, note.Wrote.Text)
		case note.Asked:
			j.cluster.asked()
		case note.Stopped:
			return
		}
	}
}

// share has the other nodes on the machine of n start their workers, with the
// memory that n has made.
func (j *Job) share(n *node, path string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.isEnding() { // and they have been told
		return
	}
	for _, other := range j.cluster.neighbours(n) {
		if other != n {
			other.begin(begin{Memory: path, Stops: j.stops})
		}
	}
}

package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"tpsh/comm/bootstrap"
	"tpsh/internal/allowance"
	"tpsh/lang"
)

// A start is a job whose ranks are connecting.
type start struct {
	*Job
	ctx      context.Context // ends when one of them fails
	fail     context.CancelCauseFunc
	meeting  *meet  // nil if ranks need no sockets
	token    []byte // with which they meet
	spec     Spec
	machines []int // Cluster.machines
	here     *allowance.Known
	greeted  sync.WaitGroup // until every rank that is attached is ready
}

// run starts the workers, and returns when all ranks are connected.
func (s *start) run() (err error) {
	defer func() {
		s.fail(err)
		s.greeted.Wait()
	}()
	if err := s.listen(); err != nil {
		return err
	}
	o := hostOptions{share: s.sharers(nil), supervisor: s.meeting == nil, args: s.cluster.opts.Args, secrets: s.cluster.opts.secrets(s.token)}
	if s.host, err = startHost(s.cluster.local(), o); err != nil {
		return err
	}
	s.here = allowance.Here()
	for i, rank := range s.host.local {
		s.attach(rank, s.host.controls[i])
	}
	s.host.watch(s)
	streams := s.host.supervisors
	if s.meeting != nil {
		s.orderNodes()
		if streams, err = bootstrap.Rendezvous(s.ctx, s.listener, s.cluster.size, s.welcome); err != nil {
			return cmp.Or(context.Cause(s.ctx), err)
		}
	}
	s.supervise(wide(streams), s.spec)
	s.greeted.Wait()
	if err := context.Cause(s.ctx); err != nil {
		return err
	}
	return s.alike()
}

// wide returns connections as what they are as well.
func wide(conns []net.Conn) []io.ReadWriteCloser {
	streams := make([]io.ReadWriteCloser, len(conns))
	for i, c := range conns {
		streams[i] = c
	}
	return streams
}

// sharers returns how many ranks share memory on the machine of n, or of this
// node if n is nil; 0 if they do not.
func (s *start) sharers(n *node) int {
	if s.cluster.opts.Transport == Sockets {
		return 0
	}
	return len(s.cluster.together(n))
}

// listen makes the rendezvous, if there is to be one.
func (s *start) listen() (err error) {
	o := &s.cluster.opts
	switch {
	case o.severalNodes():
		s.listener = s.cluster.listener
		s.meeting = &meet{Address: o.Rendezvous, Job: jobName, TLS: o.TLS, Heartbeat: true, PeerTimeout: o.peerTimeout()}
		s.token = o.Token
	case o.Transport == Sockets:
		c := o.credentials()
		c.Token = newToken()
		if s.listener, err = c.Listen("127.0.0.1:0"); err != nil {
			return err
		}
		s.ownListener = true
		s.meeting = &meet{Address: s.listener.Addr().String(), Job: c.Job, TLS: c.TLS, PeerTimeout: o.peerTimeout()}
		s.token = c.Token
	}
	return nil
}

// attach makes stream the control connection of a rank, and tells it its role.
func (s *start) attach(rank int, stream net.Conn) {
	conn := lang.Stream(stream, func(err error) error { return s.ended(rank, err) })
	s.mu.Lock()
	s.conns[rank] = conn
	s.greeting[rank] = true
	s.mu.Unlock()
	n := s.cluster.nodeOf(rank)
	r := role{Rank: rank, Size: s.cluster.size, Local: s.cluster.together(n), Hosts: s.machines, Segment: s.sharers(n) > 0, Config: s.spec.Config}
	if n == nil {
		r.Machine = s.here
	}
	if s.meeting != nil {
		m := *s.meeting
		if n != nil {
			m.Address = n.address
		}
		r.Meet = &m
	}
	sendJSON(conn, r)
	s.greeted.Go(func() {
		if err := s.greet(s.ctx, rank); err != nil {
			s.excuse(err)
			s.fail(fmt.Errorf("rank %d: %w", rank, err))
		}
		s.hasGreeted(rank)
	})
}

// hasGreeted notes that the first message of a rank is not waited for any more. If it has
// gone meanwhile, that counts now.
func (s *start) hasGreeted(rank int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.greeting[rank] = false
	select {
	case <-s.fates[rank].known:
		s.tell(rank)
	default:
	}
}

// complaint is how long the kernel's word of a death is waited for when a rank complains.
const complaint = 200 * time.Millisecond

// excuse gives the death of another rank, of which a rank may complain before
// the kernel does, the time to come first.
func (s *start) excuse(err error) {
	if errors.As(err, new(*lang.DeathError)) {
		return
	}
	late := time.NewTimer(complaint)
	defer late.Stop()
	select {
	case <-s.ctx.Done():
	case <-late.C:
	}
}

// greet waits until a rank is ready.
func (j *Job) greet(ctx context.Context, rank int) error {
	var r ready
	if err := recvJSON(ctx, j.conns[rank], &r); err != nil {
		return err
	}
	if r.Error != "" {
		return errors.New(r.Error)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.kernels[rank] = r.Kernels
	if f := j.cluster.front; f != nil {
		f.hosts[rank] = r.Host
	}
	return nil
}

// alike returns an error unless all ranks compute with the same kernels.
func (j *Job) alike() error {
	for rank, set := range j.kernels {
		if first := j.kernels[0]; set != first {
			return fmt.Errorf("ranks compute with different kernels: rank 0%s with %s, rank %d%s with %s; start all on machines of one architecture with --kernels portable, or another set that they have",
				j.cluster.on(0), first, rank, j.cluster.on(rank), set)
		}
	}
	return nil
}

// orderNodes has the other nodes start their workers, and listens to them. Of
// those on one other machine the first makes the memory that they share; the
// rest wait for its path.
func (s *start) orderNodes() {
	for _, n := range s.cluster.nodes {
		sharers, first := s.sharers(n), s.cluster.neighbours(n)[0] == n
		switch {
		case sharers == 0:
			n.begin(begin{Stops: s.stops})
		case s.cluster.isHere(n):
			n.begin(begin{Memory: pathOf(s.host.memory), Stops: s.stops})
		case first:
			n.begin(begin{Share: sharers, Stops: s.stops})
		}
		s.tasks.Go(func() { s.attend(n) })
	}
}

// begin has the node start its workers.
func (n *node) begin(b begin) {
	b.Ranks, b.Scratch = n.ranks, n.scratch
	sendJSON(n.conn, order{Start: &b})
}

// welcome takes a connection that came to the rendezvous for another reason
// than that.
func (s *start) welcome(stream net.Conn, hello bootstrap.Hello) {
	if hello.Purpose == purposeNode {
		s.tasks.Go(func() { s.cluster.beside(stream, hello) })
		return
	}
	s.mu.Lock()
	ok := hello.Purpose == purposeControl && hello.Rank >= s.cluster.opts.Ranks && hello.Rank < s.cluster.size && s.conns[hello.Rank] == nil
	s.mu.Unlock()
	if !ok {
		stream.Close()
		return
	}
	keepAlive(stream, s.cluster.opts.peerTimeout())
	s.attach(hello.Rank, stream)
}

package comm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"
)

// LinkOptions say how one rank, in a process of its own, reaches the others.
type LinkOptions struct {
	Rank, Size int

	// Supervisor is the other end of one of SuperviseOptions.Streams.
	Supervisor io.ReadWriteCloser

	// Peers are the streams to the other ranks, by rank. They are nil at Rank,
	// and at ranks that Segment reaches.
	Peers []io.ReadWriteCloser

	// Segment is memory that the ranks of Local share, which are ascending and
	// hold Rank. It is nil if there is none.
	Segment *Segment
	Local   []int

	// Carrier, if it is set, carries out whole collectives of all ranks. Either
	// all ranks have one or none.
	Carrier Carrier

	// Heartbeat says that Peers and Supervisor carry heartbeats: one on which
	// nothing comes for PeerTimeout, or if that is 0 for ten seconds, is taken
	// to be lost.
	Heartbeat   bool
	PeerTimeout time.Duration

	// Where says on which host the rank is, for reports; "" if that is no matter.
	Where string

	// Deserted, if set, is called when the Supervisor is lost, and why: nobody
	// will end the rank. It must not block.
	Deserted func(cause error)

	naps naps // in place of usualNaps, in tests
}

// Links are what connects one rank, in a process of its own, to the others and
// to the Supervision. They outlive fabrics: each generation of fabrics uses
// the same. What comes for a generation that this rank has left is dropped;
// what comes for one that it has not come to waits.
type Links struct {
	rank, size int
	outlets    []sender    // by rank, nil at the own; to the supervisor at the end
	streams    []io.Closer // that Close closes
	segment    *segmentLinks
	cables     cables
	carrier    Carrier
	sockets    []*socket // by rank, nil where a stream is none
	polled     polled
	where      string
	deserted   func(error)
	naps       naps
	pool       bufferPool
	meter      meter
	ctx        context.Context
	cancel     context.CancelCauseFunc
	tasks      sync.WaitGroup

	mu      sync.Mutex
	fabric  *Fabric
	station *station      // of the latest generation, nil before the first
	turned  chan struct{} // closed when station is another
	broken  []error       // by participant: why nothing comes any more
}

// errLinksClosed ends what is under way when Links are closed.
var errLinksClosed = errors.New("the connections are closed")

// Connect takes the streams and the segment of o over, and begins to listen.
// It fails if o does not reach every rank.
func Connect(o LinkOptions) (*Links, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	l := &Links{
		rank:     o.Rank,
		size:     o.Size,
		outlets:  make([]sender, o.Size+1),
		sockets:  make([]*socket, o.Size),
		where:    o.Where,
		carrier:  o.Carrier,
		deserted: o.Deserted,
		naps:     cmp.Or(o.naps, usualNaps),
		turned:   make(chan struct{}),
		broken:   make([]error, o.Size+1),
	}
	l.cables.links, l.cables.by = l, make([]*cable, o.Size)
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	if o.Segment != nil {
		l.segment = newSegmentLinks(l, o.Segment, o.Local)
	}
	var err error
	for peer, stream := range append(o.peers(), o.Supervisor) {
		if stream != nil {
			err = errors.Join(err, l.attach(peer, stream, o.pulse()))
		}
	}
	if err == nil {
		err = l.cables.start()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// peers returns o.Peers with one for each rank.
func (o *LinkOptions) peers() []io.ReadWriteCloser {
	return append(slices.Clone(o.Peers), make([]io.ReadWriteCloser, o.Size-len(o.Peers))...)
}

// check checks that o reaches every rank.
func (o *LinkOptions) check() error {
	switch {
	case o.Size < 1 || o.Rank < 0 || o.Rank >= o.Size:
		return fmt.Errorf("connect: got rank %d of %d, want one of them", o.Rank, o.Size)
	case o.Supervisor == nil:
		return errors.New("connect: got no stream to the supervisor, want one")
	case len(o.Peers) > o.Size:
		return fmt.Errorf("connect: got %d streams for %d ranks, want at most as many", len(o.Peers), o.Size)
	case o.Segment != nil && (!slices.IsSorted(o.Local) || !slices.Contains(o.Local, o.Rank) || len(o.Local) != o.Segment.Size()):
		return fmt.Errorf("connect: got memory of %d ranks for %s, want as many, and rank %d among them", o.Segment.Size(), rankList(o.Local), o.Rank)
	}
	for r, stream := range o.peers() {
		shared := o.Segment != nil && slices.Contains(o.Local, r)
		if r != o.Rank && stream == nil && !shared {
			return fmt.Errorf("connect: got no way to rank %d, want a stream or shared memory", r)
		}
	}
	return nil
}

// attach uses a stream for what goes to and comes from a participant.
func (l *Links) attach(peer int, stream io.ReadWriteCloser, p *Pulse) error {
	reader := NewHeardReader(stream)
	out, err := l.plug(peer, stream, reader)
	if err != nil {
		return err
	}
	l.outlets[peer] = out
	if p != nil {
		l.tasks.Go(func() { p.beatOn(l.ctx, out) })
		l.tasks.Go(func() {
			p.Guard(l.ctx, reader, nil, func(err error) { l.lose(peer, err) })
		})
	}
	return nil
}

// plug begins to listen to a stream, and returns what sends to it.
func (l *Links) plug(peer int, stream io.ReadWriteCloser, reader *HeardReader) (sender, error) {
	if conn, ok := stream.(*net.TCPConn); ok && polls && peer < l.size {
		c, err := newCable(l, peer, conn, reader)
		if err != nil {
			l.streams = append(l.streams, stream)
			return nil, fmt.Errorf("connect: to rank %d: %w", peer, err)
		}
		l.cables.add(c)
		l.streams = append(l.streams, c)
		return c, nil
	}
	out := &outlet{source: l.rank, stream: stream}
	l.streams = append(l.streams, stream)
	if p, ok := stream.(PollStream); ok && peer < l.size {
		s := newSocket(l, peer, p, reader)
		l.sockets[peer], out.beside = s, p
		l.tasks.Go(s.listen)
	} else {
		in := &inlet{frames: frameReader{stream: reader}, source: peer, spare: &l.pool}
		l.tasks.Go(func() { l.listen(peer, in, reader) })
	}
	return out, nil
}

// listen gives what a participant sends to the station of its generation.
func (l *Links) listen(peer int, in *inlet, heard *HeardReader) {
	for {
		f, err := in.next()
		if err == nil {
			heard.pause()
			st := l.turn(f.generation)
			heard.resume()
			if st != nil {
				err = st.accept(peer, f)
			}
		}
		if l.ctx.Err() != nil {
			return
		}
		if err != nil {
			l.lose(peer, err)
			return
		}
	}
}

// now returns the station of a generation, nil if that is past or the links are
// closed, and whether the generation has come.
func (l *Links) now(generation uint32) (st *station, come bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.station == nil || l.station.number < generation:
		return nil, l.ctx.Err() != nil
	case l.station.number > generation:
		return nil, true
	}
	return l.station, true
}

// turn returns the station of a generation, for which it waits if need be. It
// is nil if the generation is past, or the links are closed.
func (l *Links) turn(generation uint32) *station {
	for {
		l.mu.Lock()
		turned := l.turned
		l.mu.Unlock()
		if st, come := l.now(generation); come {
			return st
		}
		select {
		case <-turned:
		case <-l.ctx.Done():
			return nil
		}
	}
}

// lose notes that nothing sensible comes from a participant any more.
func (l *Links) lose(peer int, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken[peer] == nil {
		l.broken[peer] = cause
		if l.station != nil {
			l.station.lose(peer, cause)
		}
		if peer == l.size && l.deserted != nil {
			l.deserted(cause)
		}
	}
}

// Fabric returns the fabric of a generation, which is above that of the last
// call; the fabric of that call is closed. Every rank makes the same
// generations. Of its endpoints only that of this rank is there. Notices come
// from the Supervision alone.
func (l *Links) Fabric(generation int) *Fabric {
	l.mu.Lock()
	before := l.fabric
	l.mu.Unlock()
	if before != nil {
		before.Close()
	}
	f := newFabric(l.size)
	st := newStation(f, l.rank, l.size)
	st.number, st.apart, st.where, st.naps = uint32(generation), true, l.where, l.naps
	st.meter = &l.meter
	copy(st.outlets, l.outlets)
	st.sockets, st.pool, st.carrier = l.sockets, &l.pool, l.carrier
	if len(l.cables.all) > 0 {
		st.cables = &l.cables
	}
	if len(l.polled.all) > 0 {
		st.polled = &l.polled
	}
	f.attachOne(&joined{st}, l.rank, l.size)
	if l.segment != nil {
		l.segment.join(st)
	}
	l.begin(f, st)
	l.cables.turn()
	return f
}

// begin makes f the fabric that what comes is for.
func (l *Links) begin(f *Fabric, st *station) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fabric, l.station = f, st
	close(l.turned)
	l.turned = make(chan struct{})
	for peer, cause := range l.broken {
		if cause != nil {
			st.lose(peer, cause)
		}
	}
}

// place returns memory for a long message of which the first frame comes from a
// participant: where a call wants it, or such as nobody uses.
func (l *Links) place(peer int, f *frame) []byte {
	if st, _ := l.now(f.generation); st != nil && f.typ == frameData {
		if memory := st.berth(peer, f); memory != nil {
			return memory
		}
	}
	if f.rest > maxPayload || f.typ != frameData && f.typ != frameMessage {
		return nil // it may be less than it says, or is not kept
	}
	return l.pool.get(f.rest)[:f.rest]
}

// room returns memory for what comes behind the head of a message, all of which f
// holds, if a receive waits for it that says where; otherwise nil.
func (l *Links) room(peer int, f *frame) []byte {
	if st, _ := l.now(f.generation); st != nil {
		return st.room(peer, f)
	}
	return nil
}

// Close closes the fabric, the streams and the segment, and returns when all
// goroutines that l has started have ended.
func (l *Links) Close() error {
	l.mu.Lock()
	f := l.fabric
	l.mu.Unlock()
	if f != nil {
		f.cancel(errClosed) // so that what is under way fails of that
	}
	l.cancel(errLinksClosed)
	var err error
	for _, s := range l.streams {
		err = errors.Join(err, s.Close())
	}
	if f != nil {
		f.Close()
	}
	l.tasks.Wait()
	l.cables.close()
	if l.segment != nil {
		err = errors.Join(err, l.segment.close())
	}
	return err
}

// joined is the transport of a fabric of which one rank is in this process.
type joined struct{ station *station }

func (t *joined) port(e *Endpoint) port {
	t.station.endpoint = e
	return t.station
}

func (t *joined) unreceived() []Unreceived {
	select {
	case <-t.station.quiet:
	case <-t.station.fabric.ctx.Done():
	}
	return t.station.box.unreceived()
}

func (t *joined) notice(time.Duration, func(string)) {
	panic("comm: notices come from the Supervision")
}

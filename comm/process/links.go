package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"tpsh/comm"
	"tpsh/comm/bootstrap"
	"tpsh/comm/process/stream"
	"tpsh/comm/process/tcp"
	"tpsh/comm/wire"
)

// Links connect one rank, in a process of its own, to the others and
// to the Supervision. They outlive fabrics: each generation of fabrics uses
// the same. A message for a generation that this rank has left is dropped;
// one for a generation that it has not come to waits.
type Links struct {
	rank, size int
	writers    []messageWriter // by rank, nil at the own; to the supervisor at the end
	streams    []io.Closer     // that Close closes
	segment    *segmentLinks
	tcp        *tcp.Set
	pollGroup  stream.Group
	carrier    Carrier
	where      string
	hosts      []int // LinkOptions.Hosts
	deserted   func(error)
	backoff    backoff
	pool       wire.BufferPool
	meter      meter
	relaysFrom int
	partners   *bootstrap.Peers     // makes connections when they are first used, nil if all are there
	heartbeat  *bootstrap.Heartbeat // of those
	onFirstUse []*firstUseWriter    // by rank, nil where there was a way at the start
	beating    sync.Once            // starts the heartbeats of beaters
	connecting sync.Mutex           // held to add to streams and tasks, until ctx ends
	ctx        context.Context
	cancel     context.CancelCauseFunc
	tasks      sync.WaitGroup

	mu                sync.Mutex
	fabric            *comm.Fabric
	wireRank          *wireRank     // of the latest generation, nil before the first
	generationChanged chan struct{} // closed when wireRank is another
	broken            []error       // by participant: why nothing comes any more
	beaters           []beater
}

// errLinksClosed ends the calls under way when Links are closed.
var errLinksClosed = errors.New("the connections are closed")

// Connect takes the streams and the segment of o over, and begins to listen.
// It fails if o does not reach every rank.
func Connect(o LinkOptions) (*Links, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	l := &Links{
		rank:              o.Rank,
		size:              o.Size,
		writers:           make([]messageWriter, o.Size+1),
		where:             o.Where,
		hosts:             o.Hosts,
		carrier:           o.Carrier,
		deserted:          o.Deserted,
		backoff:           cmp.Or(o.backoff, usualBackoff),
		relaysFrom:        cmp.Or(o.relaysFrom, relaysFrom),
		generationChanged: make(chan struct{}),
		broken:            make([]error, o.Size+1),
	}
	l.tcp = tcp.NewSet(streamHost{l}, o.Rank, o.Size, l.backoff.long)
	l.ctx, l.cancel = context.WithCancelCause(context.Background())
	if o.Segment != nil {
		l.backoff = cmp.Or(o.backoff, backoffOf(o.Segment.Size()))
		l.segment = newSegmentLinks(l, o.Segment, o.Local)
	}
	var err error
	for peer, s := range append(o.peers(), o.Supervisor) {
		if s == nil {
			continue
		}
		out, failed := l.attach(peer, s, o.heartbeat())
		l.writers[peer], err = out, errors.Join(err, failed)
	}
	if o.Partners != nil {
		l.expect(&o)
	}
	if err == nil {
		err = l.tcp.Start()
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if l.partners != nil {
		l.tasks.Go(func() { l.partners.Serve(l.ctx, l.meet) })
	}
	return l, nil
}

// writeHeartbeats sends heartbeats to a participant until ctx ends.
func writeHeartbeats(ctx context.Context, p *bootstrap.Heartbeat, out messageWriter) {
	p.Beat(ctx, func() { out.Send(wire.Frame{Type: wire.FrameHeartbeat}, nil, nil) })
}

// listInbounds returns the ways on which messages come to the rank of a generation
// that somebody must look at, the fastest first.
func (l *Links) listInbounds(wr *wireRank) (list []inbound) {
	if l.segment != nil {
		list = append(list, sharedInbound{l.segment, wr})
	}
	if !l.tcp.Empty() {
		list = append(list, l.tcp)
	}
	if !l.pollGroup.Empty() {
		list = append(list, &l.pollGroup)
	}
	return list
}

// pump takes in messages that have come on all ways, for a writer that finds no room, and
// reports whether there was something.
func (l *Links) pump() (came bool) {
	came = l.tcp.Pump()
	return l.segment.pumpWaiting() || came
}

// attach uses a stream for the messages to and from a participant, and returns its writer.
func (l *Links) attach(peer int, s io.ReadWriteCloser, p *bootstrap.Heartbeat) (messageWriter, error) {
	reader := bootstrap.NewHeardReader(s)
	out, err := l.plug(peer, s, reader)
	if err != nil {
		return nil, err
	}
	if p != nil {
		l.beat(p, out)
		l.tasks.Go(func() {
			p.Guard(l.ctx, reader, nil, func(err error) { l.lose(peer, err) })
		})
	}
	return out, nil
}

// expectConn says that the rank will have a polled connection to another, if it polls those
// that are made on first use.
func (l *Links) expectConn(peer int) {
	if tcp.Polls && !l.partners.TLS() {
		l.tcp.Expect(peer)
	}
}

// plug begins to listen to a stream, and returns its writer.
func (l *Links) plug(peer int, s io.ReadWriteCloser, heard *bootstrap.HeardReader) (messageWriter, error) {
	if conn, ok := s.(*net.TCPConn); ok && tcp.Polls && peer < l.size {
		c, err := l.tcp.Add(peer, conn, heard, l.newReader(peer, nil))
		if err != nil {
			l.streams = append(l.streams, s)
			return nil, fmt.Errorf("connect: to rank %d: %w", peer, err)
		}
		l.streams = append(l.streams, c)
		return c, nil
	}
	out := &stream.Writer{Source: l.rank, Stream: s}
	l.streams = append(l.streams, s)
	if p, ok := s.(stream.PollStream); ok && peer < l.size {
		out.Beside = p
		l.pollGroup.Listen(stream.NewReader(streamHost{l}, peer, p, heard, l.newReader(peer, p.BeginBlock)), p)
	} else {
		in := wire.NewReader(wire.ReaderOptions{Stream: heard, Source: peer, Spare: &l.pool})
		l.tasks.Go(func() { l.readFrames(peer, in, heard) })
	}
	return out, nil
}

// readFrames gives a participant's frames to the rank of their generation.
func (l *Links) readFrames(peer int, in *wire.Reader, heard *bootstrap.HeardReader) {
	for {
		f, err := in.Next()
		if err == nil {
			heard.Pause()
			wr := l.awaitGeneration(f.Generation)
			heard.Resume()
			if wr != nil {
				err = wr.acceptFrame(peer, f)
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

// rankIn returns the rank of a generation, nil if that is past or the links are
// closed, and whether the generation has come.
func (l *Links) rankIn(generation uint32) (wr *wireRank, come bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.wireRank == nil || l.wireRank.number < generation:
		return nil, l.ctx.Err() != nil
	case l.wireRank.number > generation:
		return nil, true
	}
	return l.wireRank, true
}

// awaitGeneration returns the rank of a generation, for which it waits if need be. It
// is nil if the generation is past, or the links are closed.
func (l *Links) awaitGeneration(generation uint32) *wireRank {
	for {
		l.mu.Lock()
		turned := l.generationChanged
		l.mu.Unlock()
		if wr, come := l.rankIn(generation); come {
			return wr
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
		if l.wireRank != nil {
			l.wireRank.lose(peer, cause)
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
func (l *Links) Fabric(generation int) *comm.Fabric {
	l.mu.Lock()
	before := l.fabric
	l.mu.Unlock()
	if before != nil {
		before.Close()
	}
	f := comm.NewFabric(l.size)
	wr := newWireRank(f, l.rank, l.size)
	wr.number, wr.remoteSupervisor, wr.where, wr.backoff = uint32(generation), true, l.where, l.backoff
	wr.meter, wr.hosts, wr.relaysFrom = &l.meter, l.hosts, l.relaysFrom
	copy(wr.writers, l.writers)
	wr.inbounds, wr.pool, wr.carrier = l.listInbounds(wr), &l.pool, l.carrier
	f.AttachRank(&singleRank{wr}, l.rank, l.size)
	if l.segment != nil {
		l.segment.beginGeneration(wr)
	}
	l.begin(f, wr)
	l.tcp.TakeHeld()
	return f
}

// begin makes f the fabric that messages are for.
func (l *Links) begin(f *comm.Fabric, wr *wireRank) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fabric, l.wireRank = f, wr
	close(l.generationChanged)
	l.generationChanged = make(chan struct{})
	for peer, cause := range l.broken {
		if cause != nil {
			wr.lose(peer, cause)
		}
	}
}

// newReader returns a reader of a participant's messages, which reads them to where
// calls and receives want them. begin is that of wire.ReaderOptions.
func (l *Links) newReader(peer int, begin func([]byte) func() (bool, error)) *wire.Reader {
	return wire.NewReader(wire.ReaderOptions{
		Source:     peer,
		Spare:      &l.pool,
		BufferFor:  func(f *wire.Frame) []byte { return l.frameBuffer(peer, f) },
		DataBuffer: func(f *wire.Frame) []byte { return l.messageBuffer(peer, f) },
		Begin:      begin,
	})
}

// frameBuffer returns memory for a long message of which the first frame comes from a
// participant: where a call wants it, or such as nobody uses.
func (l *Links) frameBuffer(peer int, f *wire.Frame) []byte {
	if wr, _ := l.rankIn(f.Generation); wr != nil && f.Type == wire.FrameData {
		if memory := wr.recvBufferFor(peer, f); memory != nil {
			return memory
		}
	}
	if f.Rest > wire.MaxPayload || f.Type != wire.FrameData && f.Type != wire.FrameMessage {
		return nil // it may be less than it says, or is not kept
	}
	return l.pool.Get(f.Rest)[:f.Rest]
}

// messageBuffer returns memory for the bytes behind the head of a message, all of which f
// holds, if a receive waits for it that says where; otherwise nil.
func (l *Links) messageBuffer(peer int, f *wire.Frame) []byte {
	if wr, _ := l.rankIn(f.Generation); wr != nil {
		return wr.messageBufferFor(peer, f)
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
		f.Abort() // so that calls under way fail of that
	}
	l.cancel(errLinksClosed)
	err := l.closeStreams()
	if f != nil {
		f.Close()
	}
	l.tasks.Wait()
	l.tcp.Close(errLinksClosed)
	if l.segment != nil {
		err = errors.Join(err, l.segment.close())
	}
	return err
}

// closeStreams closes the streams, after which there are no more: ctx has ended.
func (l *Links) closeStreams() (err error) {
	l.connecting.Lock()
	defer l.connecting.Unlock()
	for _, s := range l.streams {
		err = errors.Join(err, s.Close())
	}
	if l.partners != nil {
		err = errors.Join(err, l.partners.Close())
	}
	return err
}

// singleRank is the transport of a fabric of which one rank is in this process.
type singleRank struct{ wireRank *wireRank }

func (t *singleRank) JoinRank(e *comm.Endpoint) comm.RankTransport {
	t.wireRank.endpoint = e
	return t.wireRank
}

func (t *singleRank) Unreceived() []comm.Unreceived { return t.wireRank.unreceived() }

func (t *singleRank) Notice(time.Duration, func(string)) {
	panic("comm: notices come from the Supervision")
}

// Traffic returns how many bytes the rank has sent so far.
func (l *Links) Traffic() Traffic {
	return Traffic{Memory: l.meter.memory.Load(), Streams: l.meter.streams.Load(), Across: l.meter.across.Load()}
}

package process

import (
	"context"
	"fmt"
	"hash/fnv"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"

	"tpsh/comm"
	"tpsh/comm/mailbox"
	"tpsh/comm/schedule"
	"tpsh/comm/wire"
)

// A wireGroup is a member's side of a group on frames. On the wire a group is
// known by a hash of its key.
type wireGroup struct {
	wireRank  *wireRank
	endpoint  *comm.Endpoint
	hash      uint64 // of the group's ranks and instance
	name      string
	ranks     []int
	others    []int // the ranks of the other members
	rank      int   // in the group
	scheduler schedule.Scheduler
	tagsEach  int            // how many messages there may be from one member to another in a piece
	calls     uint64         // collectives that were called; guarded by wireRank.mu
	local     bool           // whether all members share memory
	tried     atomic.Bool    // whether it is known whose memory can be read of them
	relays    bool           // whether contracts are relayed
	inbounds  []inbound      // at which to look for messages of the others; none if they are goroutines here
	carrier   Carrier        // of its collectives, nil if there is none
	detached  sync.WaitGroup // calls that go on without their callers
	scratch   callScratch
	spareCall *wireCall // to be used again, nil if there is none
}

func (wr *wireRank) JoinGroup(g *comm.Group) comm.GroupTransport {
	h := fnv.New64a()
	h.Write([]byte(g.Key()))
	wg := &wireGroup{
		wireRank:  wr,
		endpoint:  g.Endpoint(),
		hash:      h.Sum64(),
		name:      g.String(),
		ranks:     g.Members(),
		others:    slices.DeleteFunc(slices.Clone(g.Members()), func(r int) bool { return r == wr.rank }),
		rank:      g.Rank(),
		scheduler: schedule.Scheduler{Rank: g.Rank(), Size: g.Size(), Hosts: wr.hostsOf(g.Members())},
		tagsEach:  max(2, g.Size()+1),
		local:     wr.sharesMemory(g.Members()),
		inbounds:  wr.inboundsOf(g.Members()),
		carrier:   wr.carrierOf(g.Members()),
	}
	wr.mu.Lock()
	defer wr.mu.Unlock()
	if wr.groups[wg.hash] != nil {
		panic("comm: two groups have one hash")
	}
	wr.groups[wg.hash] = wg
	from := wr.relaysFrom
	if wg.local {
		from = relaysFromShared
	}
	if wg.relays = wr.carrier == nil && g.Size() >= from; wg.relays {
		wr.relaying = append(wr.relaying, wg)
	}
	return wg
}

// sharesMemory reports whether all the ranks share memory with this one.
func (wr *wireRank) sharesMemory(ranks []int) bool {
	return !slices.ContainsFunc(ranks, func(r int) bool { return !wr.shared.reaches(r) })
}

// try finds out of which members the memory can be read, in a group that may stage.
func (g *wireGroup) try() {
	if g.local && len(g.ranks) <= mostStaged && !g.tried.Load() {
		g.tried.Store(g.wireRank.shared.try(g.others))
	}
}

// hostsOf returns where the members of a group are, nil if schedules gain nothing by it.
func (wr *wireRank) hostsOf(ranks []int) *schedule.Hosts {
	if wr.hosts == nil {
		return nil
	}
	of := make([]int, len(ranks))
	for m, r := range ranks {
		of[m] = wr.hosts[r]
	}
	return schedule.NewHosts(of)
}

func (g *wireGroup) Run(ctx context.Context, op *comm.Op) (comm.Result, error) {
	c := g.start(op, true)
	var err error
	if !c.spinForContracts() {
		w := c.newWait()
		w.program = true
		err = g.wireRank.waitUntilOver(ctx, w)
		if w.left {
			c.abandon()
			return comm.Result{}, err
		}
	}
	c.again = true // nobody else knows of it
	result, err := c.finish(err, true)
	c.reset() // so that nothing stays in memory for it
	g.spareCall = c
	return result, err
}

func (g *wireGroup) Issue(op *comm.Op) comm.Work {
	c := g.start(op, false)
	w := comm.NewWork(g.endpoint, c.block)
	g.wireRank.fabric.Go(func() {
		err := g.wireRank.waitUntilOver(context.Background(), c.newWait())
		w.End(c.finish(err, true))
		g.wireRank.wakeFor(c.key)
	})
	return w
}

func (g *wireGroup) Send(dst, tag int, m comm.Message, where string) error {
	wr, to := g.wireRank, g.ranks[dst]
	wr.mu.Lock()
	err := wr.failedMember(g.ranks, comm.SendName, func(f lasting) bool {
		return f.rank == to || f.rank == wr.rank || g.endpoint.HasFailed(f.rank)
	})
	wr.mu.Unlock()
	if err != nil {
		return err
	}
	sent := &mailbox.Envelope{Message: m, Where: where, Group: g.name}
	if to == wr.rank {
		sent.Src, sent.Dst = to, to
		wr.box.Put(mailbox.Key{Group: g.hash, Src: to, Tag: tag}, *sent)
		return nil
	}
	wr.sent[to]++
	f, head := wire.Frame{Type: wire.FrameMessage, Group: g.hash, Tag: tag}, g.scratch.envelopeHead(sent)
	if !wr.expose(to, f, head, m) {
		wr.writeParts(to, f, head, m.Data)
		goruntime.KeepAlive(m.Keep)
		m.Finish()
	}
	return nil
}

func (g *wireGroup) Recv(ctx context.Context, src, tag int, where func() string, allocate comm.Allocate) (comm.Message, error) {
	wr := g.wireRank
	wr.shared.try(g.ranks[src : src+1])
	key := mailbox.Key{Group: g.hash, Src: g.ranks[src], Tag: tag}
	wr.postRecv(key, allocate)
	e, ok := wr.spinForMessage(key)
	if !ok {
		if err := wr.waitUntilOver(ctx, g.recvWait(key, where)); err != nil {
			wr.withdrawRecv()
			return comm.Message{}, err
		}
		e, _ = wr.box.TakeMessage(key)
	}
	m := e.Message
	var err error
	if b := wr.box.TakePosted(); b.Asked {
		err = b.Err // Data are there
	} else if e.Remote != nil {
		err = g.readRemote(ctx, &m, e.Remote.(*remoteData), allocate)
	} else {
		err = m.MoveTo(allocate)
	}
	if err != nil {
		m.Release()
		return comm.Message{}, err
	}
	return m, nil
}

// recvWait returns a wireWait for a message.
func (g *wireGroup) recvWait(key mailbox.Key, where func() string) *wireWait {
	wr := g.wireRank
	w := &wireWait{program: true, all: g.ranks}
	w.missing = func() []int { return []int{key.Src} }
	w.site = func() callSite {
		src := slices.Index(g.ranks, key.Src)
		return callSite{comm.RecvName, comm.RecvText(src, key.Tag) + comm.InGroup(g.name), g.endpoint.SourceLine(where)}
	}
	w.outcome = func() (bool, error) {
		if w.verdict != nil {
			return true, w.verdict
		}
		if wr.box.Has(key) {
			return true, nil
		}
		err := wr.failedMember(g.ranks, comm.RecvName, anyFailure)
		return err != nil, err
	}
	return w
}

// readRemote reads the Data of m, which are exposed. If they cannot be read, their owner
// is as good as dead: it returns the failure that this makes of a member.
func (g *wireGroup) readRemote(ctx context.Context, m *comm.Message, remote *remoteData, allocate comm.Allocate) (err error) {
	defer remote.release()
	var buffer []byte
	if allocate == nil {
		buffer = g.wireRank.pool.Get(remote.length)[:remote.length]
		m.Own(g.wireRank.pool, buffer)
	} else if buffer, err = allocate.Memory(m.Meta, remote.length); err != nil {
		return err
	}
	if err := remote.read(buffer); err != nil {
		g.wireRank.reportUnreadable(remote.from, fmt.Errorf("its memory cannot be read: %w", err))
		return g.wireRank.waitUntilOver(ctx, g.peerFailureWait())
	}
	m.Data = buffer
	return nil
}

// peerFailureWait returns a wireWait for the failure of a member.
func (g *wireGroup) peerFailureWait() *wireWait {
	w := &wireWait{own: true, all: g.ranks}
	w.outcome = func() (bool, error) {
		err := g.wireRank.failedMember(g.ranks, comm.RecvName, anyFailure)
		return err != nil, err
	}
	return w
}

func anyFailure(lasting) bool { return true }

package process

import (
	"context"
	goruntime "runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"tpsh/comm/mailbox"
	"tpsh/comm/process/shm"
	"tpsh/comm/process/spin"
	"tpsh/comm/wire"
	"tpsh/internal/allowance"
)

// segmentLinks connect a rank to others through a Segment.
//
// Nobody reads a ring all the time. A goroutine that waits takes in the records that have
// come for any of them; while the rank computes, the listener does if a writer
// has no room, or if there are calls that go on beside the rank.
type segmentLinks struct {
	links   *Links
	segment *shm.Segment
	indexes []int     // by rank, -1 where one does not share the memory
	futex   shm.Futex // of this rank
	policy  sharedSpinPolicy
	waits   atomic.Int32 // waits of calls that go on beside the rank
	staging shm.StagingPool
	local   []int       // the ranks that share the memory
	tried   atomic.Bool // whether it is known of all whose memory can be read

	arrivals shm.Arrivals // of this rank, nil where few share the memory

	mu       sync.Mutex
	ins      []shm.RingReader  // where there are no arrivals; else
	readers  []*shm.RingReader // by index, nil until something comes
	later    []int             // indexes in whose rings there is something for a generation to come
	wireRank *wireRank         // of the latest generation
}

// A sharedSpinPolicy says how long a wait goes on before its thread sleeps.
type sharedSpinPolicy struct {
	spins  int // looks without a pause
	yields int // looks after letting other processes run
}

// sharedSpinPolicyFor returns the policy of one of size ranks on this host.
// While every rank has a core, a look costs nobody anything.
func sharedSpinPolicyFor(size int) sharedSpinPolicy {
	switch {
	case shm.Share(size) >= shm.Crowd:
		return sharedSpinPolicy{spins: 1}
	case size > allowance.Processors():
		return sharedSpinPolicy{spins: 2, yields: 300}
	}
	return sharedSpinPolicy{spins: 1000, yields: 200}
}

// pause pauses a wait after look i: nothing at first, and then it lets
// others run.
func (p sharedSpinPolicy) pause(i int) {
	if i >= p.spins {
		spin.Yield(i)
	}
}

func newSegmentLinks(l *Links, s *shm.Segment, local []int) *segmentLinks {
	sl := &segmentLinks{links: l, segment: s, local: local, indexes: slices.Repeat([]int{-1}, l.size), policy: sharedSpinPolicyFor(s.Size())}
	for index, r := range local {
		sl.indexes[r] = index
	}
	own := sl.indexes[l.rank]
	sl.futex, sl.arrivals = s.Futex(own), s.Arrivals(own)
	if sl.arrivals != nil {
		sl.readers = make([]*shm.RingReader, len(local))
	}
	for index, r := range local {
		if index == own {
			continue
		}
		l.writers[r] = shm.NewRingWriter(s, own, index, sl.pump)
		if sl.arrivals == nil {
			sl.ins = append(sl.ins, shm.NewRingReader(s, index, own, r, &l.pool))
		}
	}
	s.Introduce(own)
	l.tasks.Go(sl.listenRings)
	return sl
}

// try finds out whose memory can be read of ranks, and reports whether all is known of them. Where
// many share memory it is not asked of all: groups of so many stage nothing. sl may be nil.
func (sl *segmentLinks) try(ranks []int) bool {
	if sl == nil || sl.tried.Load() {
		return true
	}
	if all := len(sl.local) <= mostStaged; all {
		ranks = sl.local
	}
	var others []int
	for _, r := range ranks {
		if sl.reaches(r) {
			others = append(others, sl.indexes[r])
		}
	}
	known := sl.segment.Try(sl.indexes[sl.links.rank], others)
	if known && len(others) == len(sl.local) {
		sl.tried.Store(true)
	}
	return known
}

// beginGeneration makes wr the rank that records are for.
func (sl *segmentLinks) beginGeneration(wr *wireRank) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.endExposures(shm.ExposureGeneration(wr.number))
	sl.wireRank, wr.shared = wr, sl
	if len(sl.local) <= mostStaged {
		sl.try(nil)
	}
	sl.staging.Init(sl.segment, sl.indexes[wr.rank])
	for _, index := range sl.later {
		sl.arrivals.Add(index)
	}
	sl.later = sl.later[:0]
}

func (sl *segmentLinks) close() error {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.endExposures(0)
	return sl.segment.Close()
}

// endExposures ends the exposures of the rank, which exposes in another generation
// from now on, or if that is 0 in none.
func (sl *segmentLinks) endExposures(now uint64) {
	sl.segment.ExposesIn(sl.indexes[sl.links.rank]).Store(now)
	if sl.wireRank != nil {
		sl.wireRank.exposures.endAll()
	}
}

// reaches reports whether a rank shares the memory. sl may be nil.
func (sl *segmentLinks) reaches(rank int) bool { return sl != nil && sl.indexes[rank] >= 0 }

// drain takes in the records that have come for wr, unless its generation is past.
func (sl *segmentLinks) drain(wr *wireRank) {
	if sl == nil { // then nothing has
		return
	}
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.wireRank == wr {
		sl.takeAll()
	}
}

// drain takes in the records that have come through shared memory.
func (wr *wireRank) drain() { wr.shared.drain(wr) }

// pump takes in the records that have come, for whatever generation is there.
func (sl *segmentLinks) pump() {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.wireRank != nil {
		sl.takeAll()
		sl.wireRank.signalPieces()
	}
}

// pumpWaiting is pump if something has come, and reports whether it has. sl may be
// nil.
func (sl *segmentLinks) pumpWaiting() bool {
	if !sl.waiting() {
		return false
	}
	sl.pump()
	return true
}

// takeAll takes in the records that have come. The caller holds mu.
func (sl *segmentLinks) takeAll() {
	for i := range sl.ins {
		sl.takeFrom(&sl.ins[i])
	}
	sl.arrivals.Take(func(index int) {
		if index >= len(sl.readers) { // the bit of nobody
			return
		}
		in := sl.readers[index]
		if in == nil {
			reader := shm.NewRingReader(sl.segment, index, sl.indexes[sl.links.rank], sl.local[index], &sl.links.pool)
			in, sl.readers[index] = &reader, &reader
		}
		if sl.takeFrom(in); in.Later && !slices.Contains(sl.later, index) {
			sl.later = append(sl.later, index)
		}
	})
}

// takeFrom takes in the records that have come from one rank.
func (sl *segmentLinks) takeFrom(in *shm.RingReader) {
	if in.Broken || !in.Waiting() {
		return
	}
	if err := sl.takeRecords(in); err != nil {
		in.Broken = true
		sl.links.lose(in.Source, err)
	}
}

func (sl *segmentLinks) takeRecords(in *shm.RingReader) error {
	wr := sl.wireRank
	wr.mu.Lock()
	defer wr.mu.Unlock()
	return in.Each(wr.number, func(f *wire.Frame) error { return wr.takeFrame(in.Source, f) })
}

// waiting reports whether something has come. sl may be nil.
func (sl *segmentLinks) waiting() bool {
	if sl == nil {
		return false
	}
	if sl.arrivals != nil {
		return sl.arrivals.Any()
	}
	for i := range sl.ins {
		if sl.ins[i].Waiting() {
			return true
		}
	}
	return false
}

// spinForMessage waits for a moment for a message, and removes it if there is one.
func (wr *wireRank) spinForMessage(key mailbox.Key) (e mailbox.Envelope, ok bool) {
	ranks := wr.ranks[key.Src : key.Src+1]
	wr.spin(wr.inboundsOf(ranks), ranks, func() bool {
		e, ok = wr.box.TakeMessage(key)
		return ok
	})
	return e, ok
}

// listenRings takes in records while the rank does not wait for anything: for writers without
// room, which rouse it, and for calls that go on beside the rank, whose first does
// (Background). It reads the bell before it looks whether there are such calls and how much has come: what it
// does not see of that yet rings the bell later, and then it does not doze. In between it
// is not disturbed by what the rank itself waits for.
func (sl *segmentLinks) listenRings() {
	stop := context.AfterFunc(sl.links.ctx, func() { sl.futex.Rouse(); sl.futex.WakeAll() })
	defer stop()
	for sl.links.ctx.Err() == nil {
		rung := sl.futex.Bell.Load()
		if sl.waits.Load() > 0 {
			sl.heed()
			continue
		}
		sl.pump()
		if sl.links.ctx.Err() == nil {
			sl.futex.Doze(rung, sl.links.backoff.long)
		}
	}
}

// heed takes in what has come for calls that go on beside the rank, and sleeps until more may have.
func (sl *segmentLinks) heed() {
	ticket := sl.futex.BeginWait()
	defer sl.futex.CancelWait()
	sl.pump()
	goruntime.Gosched() // those that have been woken run here, without a thread of their own
	if sl.links.ctx.Err() == nil {
		sl.futex.Wait(ticket, sl.links.backoff.long)
	}
}

// A sharedInbound is the inbound of shared memory for the rank of a generation.
type sharedInbound struct {
	*segmentLinks
	wr *wireRank
}

func (in sharedInbound) Reaches(rank int) bool { return in.reaches(rank) }

func (in sharedInbound) Eager() int      { return ringCarries }
func (in sharedInbound) SpinRounds() int { return in.policy.spins + in.policy.yields }
func (in sharedInbound) Pause(i int)     { in.policy.pause(i) }

func (in sharedInbound) PollFrom([]int) (anew bool) {
	if in.waiting() {
		in.drain(in.wr)
	}
	return false
}

func (in sharedInbound) WaitRounds() int { return in.policy.yields }
func (in sharedInbound) Poll()           { in.drain(in.wr) }

func (in sharedInbound) Sleeper() func(time.Duration, func() bool) bool {
	return func(nap time.Duration, ends func() bool) bool {
		if in.arrivals != nil {
			// What the rank takes in here, before it says that it sleeps, need not wake it: of many ranks
			// that is much, and each time a call of the system.
			if in.drain(in.wr); ends() {
				return true
			}
		}
		ticket := in.futex.BeginWait()
		defer in.futex.CancelWait()
		switch {
		case in.arrivals == nil:
			in.drain(in.wr)
		case in.arrivals.Any(): // what comes after this look wakes
			return true
		}
		if in.waits.Load() > 0 {
			goruntime.Gosched() // as in heed
		}
		if !ends() {
			in.futex.Wait(ticket, nap)
		}
		return true
	}
}

func (in sharedInbound) Wake()    { in.futex.Wake() }
func (in sharedInbound) WakeAll() { in.futex.WakeAll() }

func (in sharedInbound) Background(n int32) {
	if in.waits.Add(n) == 1 && n > 0 {
		in.futex.Rouse() // for the listener to heed it
	}
}

// Records are taken from a ring as they come, and none is read to where it belongs.
func (in sharedInbound) Posts(int) bool       { return false }
func (in sharedInbound) Withdraw(int, []byte) {}

package comm

import (
	"context"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"
)

// segmentLinks are what connects a rank to others through a Segment.
//
// Nobody reads a ring all the time. A goroutine that waits takes in what has
// come for any of them; while the rank computes, the listener does if a writer
// has no room, or if there are calls that go on beside the rank.
type segmentLinks struct {
	links    *Links
	segment  *Segment
	places   map[int]int // by rank
	bell     bell        // of this rank
	patience sharedPatience
	aside    atomic.Int32 // waits of calls that go on beside the rank
	lanes    lanes
	tried    atomic.Bool // whether it is known whose memory can be read

	mu      sync.Mutex
	ins     []ringIn
	station *station // of the latest generation
}

// A sharedPatience says how long a wait goes on before its thread sleeps.
type sharedPatience struct {
	spins  int // looks without a pause
	yields int // looks after letting other processes run
}

// sharedPatienceFor returns the patience of one of size ranks on this host.
// While every rank has a core, a look costs nobody anything.
func sharedPatienceFor(size int) sharedPatience {
	if size > goruntime.NumCPU() {
		return sharedPatience{spins: 2, yields: 300}
	}
	return sharedPatience{spins: 1000, yields: 200}
}

// pause is what a wait does after look i: nothing at first, and then it lets
// others run.
func (p sharedPatience) pause(i int) {
	if i >= p.spins {
		yield(i)
	}
}

func newSegmentLinks(l *Links, s *Segment, local []int) *segmentLinks {
	sl := &segmentLinks{links: l, segment: s, places: map[int]int{}, patience: sharedPatienceFor(s.size)}
	for place, r := range local {
		sl.places[r] = place
	}
	own := sl.places[l.rank]
	sl.bell = s.bell(own)
	for place, r := range local {
		if place == own {
			continue
		}
		l.outlets[r] = &ringOut{ring: s.ring(own, place), bell: s.bell(place), pump: sl.pump}
		sl.ins = append(sl.ins, ringIn{ring: s.ring(place, own), source: r, pool: &l.pool})
	}
	s.introduce(own)
	l.tasks.Go(sl.listen)
	return sl
}

// try finds out whose memory can be read.
func (sl *segmentLinks) try() {
	if !sl.tried.Load() && sl.segment.try(sl.places[sl.links.rank]) {
		sl.tried.Store(true)
	}
}

// join makes st the station that what comes is for.
func (sl *segmentLinks) join(st *station) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.segment.recall(sl.places[st.rank], lendsIn(st.number), sl.station)
	sl.station, st.shared = st, sl
	sl.try()
	sl.lanes.init(sl.segment, sl.places[st.rank])
}

func (sl *segmentLinks) close() error {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	sl.segment.recall(sl.places[sl.links.rank], 0, sl.station)
	return sl.segment.Close()
}

// reaches reports whether all the ranks share memory. sl may be nil.
func (sl *segmentLinks) reaches(ranks []int) bool {
	if sl == nil {
		return false
	}
	for _, r := range ranks {
		if _, ok := sl.places[r]; !ok {
			return false
		}
	}
	return true
}

// drain takes in what has come for st, unless its generation is past.
func (sl *segmentLinks) drain(st *station) {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.station == st {
		sl.takeAll()
	}
}

// pump takes in what has come for whatever generation is there.
func (sl *segmentLinks) pump() {
	sl.mu.Lock()
	defer sl.mu.Unlock()
	if sl.station != nil {
		sl.takeAll()
		sl.station.signalPieces()
	}
}

// takeAll takes in what has come. The caller holds mu.
func (sl *segmentLinks) takeAll() {
	for i := range sl.ins {
		if in := &sl.ins[i]; !in.broken && in.waiting() {
			if err := sl.take(in); err != nil {
				in.broken = true
				sl.links.lose(in.source, err)
			}
		}
	}
}

// take takes in what has come from one rank.
func (sl *segmentLinks) take(in *ringIn) error {
	st := sl.station
	st.mu.Lock()
	defer st.mu.Unlock()
	return in.each(st.number, func(f *frame) error { return st.take(in.source, f) })
}

// waiting reports whether something has come.
func (sl *segmentLinks) waiting() bool {
	for i := range sl.ins {
		if sl.ins[i].waiting() {
			return true
		}
	}
	return false
}

// linger waits for a moment for the contracts of a call, and reports whether
// all are there.
func (sl *segmentLinks) linger(c *messageCall) bool {
	st, want := c.line.station, int32(len(c.line.others))
	for i := range sl.patience.spins + sl.patience.yields {
		if sl.waiting() {
			sl.drain(st)
		}
		if c.call.count.Load() == want {
			return true
		}
		sl.patience.pause(i)
	}
	return false
}

// lingerFor waits for a moment for a message, and removes it if there is one.
func (st *station) lingerFor(key mailKey) (m Message, ok bool) {
	if st.shared.reaches([]int{key.src}) {
		return st.shared.lingerFor(st, key)
	}
	st.linger([]int{key.src}, func() bool {
		m, ok = st.box.take(key)
		return ok
	})
	return m, ok
}

func (sl *segmentLinks) lingerFor(st *station, key mailKey) (Message, bool) {
	for i := range sl.patience.spins + sl.patience.yields {
		if sl.waiting() {
			sl.drain(st)
		}
		if i%8 == 0 || i >= sl.patience.spins {
			if m, ok := st.box.take(key); ok {
				return m, true
			}
		}
		sl.patience.pause(i)
	}
	return Message{}, false
}

// listen takes in what comes while the rank does not wait for anything.
func (sl *segmentLinks) listen() {
	stop := context.AfterFunc(sl.links.ctx, sl.bell.alarm)
	defer stop()
	for sl.links.ctx.Err() == nil {
		ticket := sl.bell.rung.Load()
		heeds := sl.aside.Load() > 0
		if heeds {
			ticket = sl.bell.watch()
		}
		sl.pump()
		if sl.links.ctx.Err() == nil {
			sl.bell.sleep(ticket, sl.links.naps.long)
		}
		if heeds {
			sl.bell.leave()
		}
	}
}

// await is station.await for a goroutine that sleeps until the bell rings.
func (sl *segmentLinks) await(ctx context.Context, st *station, w *watcher) error {
	for i := range sl.patience.yields {
		if over, err := st.look(w, false); over {
			return err
		}
		yield(i)
		sl.drain(st)
	}
	return st.nap(ctx, sl.bell.alarm, func(nap time.Duration, tell bool) (bool, error) { return sl.awaitRing(ctx, st, w, nap, tell) })
}

// awaitRing looks once whether w is over, and sleeps if it is not.
func (sl *segmentLinks) awaitRing(ctx context.Context, st *station, w *watcher, nap time.Duration, tell bool) (bool, error) {
	ticket := sl.bell.watch()
	defer sl.bell.leave()
	sl.drain(st)
	if over, err := st.ends(ctx, w, tell); over {
		return true, err
	}
	sl.bell.sleep(ticket, nap)
	return false, nil
}

// yield lets other processes run, and in one of some calls, which are numbered,
// other goroutines: that may wake a thread for them, which costs more.
func yield(i int) {
	if i%goYields == goYields-1 {
		goruntime.Gosched()
	}
	yieldCore()
}

// goYields is how many times other processes may run for one time that other
// goroutines may.
const goYields = 32

package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"tpsh/comm"
)

// stallNap is how long who waits sleeps here unless it is woken: a wake-up that
// is lost is a wait of that length. It is far longer than any machine computes here,
// so that a busy one is not taken for a loss.
const stallNap = 10 * time.Minute

// Whoever waits is woken by what it waits for, and not by the end of its sleep: in
// calls, for messages, for calls that go on beside the rank, for failures, and for
// the end of a generation.
func TestWakeUps(t *testing.T) {
	for name, options := range map[string]func(int) ([]LinkOptions, SuperviseOptions){
		"shm": sharedOptions, "tcp": wiredOptions, "mixed": func(size int) ([]LinkOptions, SuperviseOptions) {
			return hostOptions(size, func(r int) int { return r % 2 })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rounds := wakeUpRounds
			if testing.Short() {
				rounds /= 4
			}
			for size := 2; size <= 5; size++ {
				testWakeUps(t, size, rounds, options)
			}
		})
	}
}

// So it is where many ranks share memory, who hear by arrivals from whom something has come, and in
// a crowd that neither spins nor yields.
func TestWakeUpsOfMany(t *testing.T) {
	t.Parallel()
	for _, size := range []int{26, 40} {
		if testing.Short() && size > 26 {
			continue
		}
		testWakeUps(t, size, 2, sharedOptions)
	}
}

// What comes for a generation that a rank has not come to waits for it where many share memory, and
// does not keep the rank from sleeping meanwhile.
func TestManyKeepLaterRecords(t *testing.T) {
	const size = 26
	options, so := sharedOptions(size)
	s := Supervise(so)
	defer s.Close()
	links := make([]*Links, 2)
	for r := range links {
		o := options[r]
		o.backoff = backoff{stallNap, stallNap}
		var err error
		if links[r], err = Connect(o); err != nil {
			t.Fatal(err)
		}
		defer links[r].Close()
	}
	worlds := func(generation, rank int) *comm.Group {
		g, err := links[rank].Fabric(generation).Endpoint(rank).Group(comm.FirstRanks(size), "")
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	early, late := worlds(0, 0), worlds(1, 1)
	if err := late.Send(0, 7, comm.Message{Data: []byte("hi")}, "a line"); err != nil {
		t.Fatal(err)
	}
	links[0].segment.pump()
	if links[0].segment.waiting() {
		t.Error("what comes for a later generation keeps the rank from sleeping")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if m, err := early.Recv(ctx, 1, 7, nil); err == nil {
		t.Errorf("got %q of a later generation", m.Data)
	}
	m, err := worlds(1, 0).Recv(t.Context(), 1, 7, nil)
	if err != nil || string(m.Data) != "hi" {
		t.Errorf("got %q and %v, want what was sent for this generation", m.Data, err)
	}
}

// wakeUpRounds is how many generations are tried of each number of ranks.
const wakeUpRounds = 25

// wiredOptions are those of ranks that are joined by connections alone.
func wiredOptions(size int) ([]LinkOptions, SuperviseOptions) {
	options := make([]LinkOptions, size)
	for x := range options {
		options[x] = LinkOptions{Rank: x, Size: size, Peers: make([]io.ReadWriteCloser, size)}
		for y := range x {
			options[x].Peers[y], options[y].Peers[x] = Loopback()
		}
	}
	return supervised(options, SuperviseOptions{})
}

// The listener of the polled connections is told of what the rank has read ahead and left,
// though the system woke it for nothing: when it looked, all had been read.
func TestListenerIsToldOfTheRest(t *testing.T) {
	options, so := wiredOptions(2)
	s := Supervise(so)
	defer s.Close()
	var links [2]*Links
	for r, o := range options {
		o.backoff = backoff{stallNap, stallNap}
		var err error
		if links[r], err = Connect(o); err != nil {
			t.Fatal(err)
		}
		defer links[r].Close()
	}
	world, err := links[0].Fabric(0).Endpoint(0).Group([]int{0, 1}, "")
	if err != nil {
		t.Fatal(err)
	}
	station := links[1].Fabric(0).Transport().(*singleRank).wireRank
	received := func() int {
		station.mu.Lock()
		defer station.mu.Unlock()
		return station.received[0]
	}
	for n := 0; n < 600; n += 3 {
		time.Sleep(time.Millisecond) // until the listener sleeps
		for range 3 {
			world.Issue(barrierOp)
		}
		for received() == n {
			links[1].tcp.PollFrom([]int{0})
		}
		for begun := time.Now(); received() < n+3; time.Sleep(50 * time.Microsecond) {
			if time.Since(begun) > stallNap/2 {
				t.Fatalf("of %d contracts the last were not taken in for %v", n+3, stallNap/2)
			}
		}
	}
}

func testWakeUps(t *testing.T, size, rounds int, open func(int) ([]LinkOptions, SuperviseOptions)) {
	options, so := open(size)
	s := Supervise(so)
	defer s.Close()
	links := make([]*Links, size)
	for r, o := range options {
		o.backoff = backoff{stallNap, stallNap}
		var err error
		if links[r], err = Connect(o); err != nil {
			t.Fatal(err)
		}
		defer links[r].Close()
		if r%2 == 1 && links[r].segment != nil {
			links[r].segment.policy = sharedSpinPolicy{spins: 1, yields: 1}
		}
	}
	for generation := range rounds {
		var ranks sync.WaitGroup
		for r := range links {
			ranks.Go(func() {
				w := newWaker(t, links[r].Fabric(generation), r, size, uint64(generation))
				w.live()
			})
		}
		ranks.Wait()
		begun := time.Now()
		s.Unreceived(generation)
		if d := time.Since(begun); d > stallNap/2 {
			t.Errorf("%d ranks, generation %d: the supervisor waited %v", size, generation, d)
		}
		if t.Failed() {
			return
		}
	}
}

// A waker is a rank that does what all do alike, at times of its own.
type waker struct {
	t      *testing.T
	fabric *comm.Fabric
	rank   int
	size   int
	world  *comm.Group
	most   *comm.Group // all but the last
	deeds  *rand.Rand  // alike on all ranks
	times  *rand.Rand  // of this rank
	works  []comm.Work // that were not waited for
	failed error
	text   string
}

func newWaker(t *testing.T, f *comm.Fabric, rank, size int, seed uint64) *waker {
	w := &waker{t: t, fabric: f, rank: rank, size: size}
	w.deeds = rand.New(rand.NewPCG(seed, uint64(size)))
	w.times = rand.New(rand.NewPCG(seed, uint64(1000+rank)))
	e := f.Endpoint(rank)
	w.text = fmt.Sprintf("%d ranks, generation %d, rank %d", size, seed, rank)
	w.world, _ = e.Group(comm.FirstRanks(size), "")
	if rank < size-1 {
		w.most, _ = e.Group(comm.FirstRanks(size-1), "")
	}
	return w
}

// live does some deeds, and ends the rank.
func (w *waker) live() {
	deeds := 4 + w.deeds.IntN(12)
	fails, leaves := w.deeds.IntN(3*w.size), w.deeds.IntN(deeds) // who fails, and when
	for i := range deeds {
		if i == leaves && w.rank == fails {
			w.failed = errors.New("a mistake")
			break
		}
		w.pause()
		w.deed(i)
		if w.failed != nil {
			break
		}
	}
	for _, work := range w.works {
		w.wait(work)
	}
	w.pause()
	e := w.fabric.Endpoint(w.rank)
	e.End(w.failed)
	if w.times.IntN(2) == 0 {
		w.timed("unreceived", func() error { w.fabric.Unreceived(); return nil })
	} else {
		w.timed("unreceived and close", func() error { w.fabric.Unreceived(); w.fabric.Close(); return nil })
	}
}

// pause lets the others be ahead, by nothing or so much that they sleep.
func (w *waker) pause() {
	switch w.times.IntN(4) {
	case 0:
		time.Sleep(time.Duration(w.times.IntN(3000)) * time.Microsecond)
	case 1:
		time.Sleep(time.Duration(w.times.IntN(300)) * time.Microsecond)
	}
}

// timed does what must not take as long as a sleep.
func (w *waker) timed(what string, f func() error) {
	begun := time.Now()
	err := f()
	if d := time.Since(begun); d > stallNap/2 {
		w.t.Errorf("%s: %s waited %v", w.text, what, d)
	}
	if err != nil && w.failed == nil {
		w.failed = err
		if !errors.As(err, new(*comm.PeerError)) {
			w.t.Errorf("%s: %s: %v", w.text, what, err)
		}
	}
}

// deed does the next of what all do alike.
func (w *waker) deed(i int) {
	kind, length := w.deeds.IntN(7), []int{8, 1024, 5000, 40000, 300000}[w.deeds.IntN(5)]
	if w.size > 5 { // whose blocks are many
		length = min(length, 10000)
	}
	shift, late := 1+w.deeds.IntN(max(1, w.size-1)), w.deeds.IntN(2) == 0
	switch kind {
	case 0:
		w.run(w.world, barrierOp)
	case 1, 2:
		w.run(w.world, wakerOp(comm.AllReduce, w.size, length))
	case 3:
		w.run(w.world, wakerOp(comm.AllToAll, w.size, length))
	case 4:
		if w.most != nil {
			w.run(w.most, wakerOp(comm.AllReduce, w.size-1, length))
		}
	case 5:
		w.message(shift, i, length)
	case 6:
		w.works = append(w.works, w.world.Issue(wakerOp(comm.AllReduce, w.size, length)))
		if late {
			return
		}
		work := w.works[0]
		w.works = w.works[1:]
		w.wait(work)
	}
}

// wait waits for a call that goes on beside the rank, or lets it go on while the
// rank is in no call.
func (w *waker) wait(work comm.Work) {
	if w.times.IntN(2) == 0 {
		w.timed("done", func() error {
			for begun := time.Now(); !work.Done() && time.Since(begun) < 2*stallNap; {
				time.Sleep(100 * time.Microsecond)
			}
			return nil
		})
	}
	w.timed("wait", func() error { _, err := work.Wait(context.Background()); return err })
}

func (w *waker) run(g *comm.Group, op *comm.Op) {
	w.timed(op.Desc.Op, func() error { _, err := g.Run(context.Background(), op); return err })
}

// message sends one to the rank so many behind this one, and receives one.
func (w *waker) message(shift, tag, length int) {
	to, from := (w.rank+shift)%w.size, (w.rank+w.size-shift)%w.size
	w.timed("send", func() error { return w.world.Send(to, tag, comm.Message{Data: make([]byte, length)}, "a line") })
	if w.failed != nil {
		return
	}
	w.timed("recv", func() error {
		_, err := w.world.Recv(context.Background(), from, tag, nil)
		return err
	})
}

// wakerOp returns a call with blocks of so many bytes.
func wakerOp(k comm.Kind, size, length int) *comm.Op {
	op := &comm.Op{Kind: k, Align: 1, Desc: comm.Desc{Op: "all_reduce", DType: "uint8", Shape: []int{length}, Free: -1, Root: -1, Dims: [2]int{-1, -1}}}
	in, out := comm.Whole(make([]byte, length)), comm.Whole(make([]byte, length))
	op.In, op.Reduce = []comm.Block{in}, func(dst []byte, srcs [][]byte) { copy(dst, srcs[0]) }
	outs := []comm.Block{out}
	if k == comm.AllToAll {
		op.Desc.Op, op.In, outs = "all_to_all", nil, nil
		for range size {
			op.In, outs = append(op.In, in), append(outs, comm.Whole(make([]byte, length)))
		}
	}
	op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return outs, nil }
	return op
}

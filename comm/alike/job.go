package alike

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"tpsh/comm"
)

// A Job is ranks that are evaluated by kinds. It is the transport of its fabric.
type Job struct {
	fabric *comm.Fabric
	size   int
	start  func(rank int)

	mu      sync.Mutex
	kinds   []*Kind // in the order in which they were told apart
	of      []*Kind // by rank
	version int     // how often ranks were told apart
	running int     // stand-ins that neither wait nor have ended
	failure error   // why the job has ended, or nil
	lines   map[string]*Lines
	ways    map[derived]*Lines
	wave    *wave // that is under way, or nil

	assemblies map[assemblyKey]*assembly
}

// New returns a job of size ranks, which are one kind. start is called with each
// stand-in, and has it run; it must not wait for it. New panics unless size is
// positive.
func New(size int, start func(rank int)) *Job {
	f := comm.NewFabric(size)
	j := &Job{fabric: f, size: size, start: start, lines: map[string]*Lines{}, ways: map[derived]*Lines{}, assemblies: map[assemblyKey]*assembly{}}
	all := make([]int32, size)
	for r := range all {
		all[r] = int32(r)
	}
	k := &Kind{job: j, members: all, logs: map[logKey]*groupLog{}}
	k.wake = sync.NewCond(&j.mu)
	j.kinds, j.of, j.running = []*Kind{k}, slices.Repeat([]*Kind{k}, size), 1
	f.Attach(j, size)
	return j
}

// Begin starts the first stand-in.
func (j *Job) Begin() { j.start(0) }

// Fabric returns the fabric that the job is the transport of.
func (j *Job) Fabric() *comm.Fabric { return j.fabric }

// KindOf returns the kind that rank stands in for, or is stood in for in.
func (j *Job) KindOf(rank int) *Kind {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.of[rank]
}

// Kinds returns all kinds, by their first ranks. The job has ended.
func (j *Job) Kinds() []*Kind {
	j.mu.Lock()
	defer j.mu.Unlock()
	kinds := slices.Clone(j.kinds)
	slices.SortFunc(kinds, func(a, b *Kind) int { return cmp.Compare(a.members[0], b.members[0]) })
	return kinds
}

// Failure returns the error that has ended the job before its programs did, or nil.
func (j *Job) Failure() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.failure
}

// An UnlikeError says that ranks cannot be evaluated by kinds: a program has not
// done again what it did before.
type UnlikeError struct{ What string }

func (e *UnlikeError) Error() string {
	return e.What + ": ranks of one kind have not done the same"
}

// ErrEnded is the error of calls when another kind has ended the job.
var ErrEnded = errors.New("the evaluation has ended")

// A Kind is ranks that do the same, as far as is known. Its methods are for its
// stand-in's goroutine.
type Kind struct {
	job *Job

	// The job's mu is held to change what follows, which the stand-in alone does but for
	// waits and watchers. The stand-in reads members without it.
	members []int32 // in order; the first is the stand-in
	logs    map[logKey]*groupLog

	observed int // how often the stand-in has called Observe
	told     int // how often that was when the kind was told apart

	wake     *sync.Cond
	waits    *waiting // the call or message that the stand-in waits for, or nil
	watchers []func() // are called when the kind has made a call, or sent a message
	ended    bool
}

// Rank returns the stand-in.
func (k *Kind) Rank() int { return int(k.members[0]) }

// Members returns the ranks, in order and to be read only until the next Ask.
func (k *Kind) Members() []int32 { return k.members }

// Ask returns f of the stand-in of k. The ranks of which f says something else are
// told apart here. f is a pure function.
func Ask[T comparable](k *Kind, f func(rank int) T) T {
	own := f(k.Rank())
	if len(k.members) == 1 {
		return own
	}
	var stay []int32
	apart := map[T][]int32{}
	for i, rank := range k.members {
		v := own
		if i > 0 {
			v = f(int(rank))
		}
		switch {
		case v != own && len(apart) == 0:
			stay = slices.Clone(k.members[:i])
			apart[v] = []int32{rank}
		case v != own:
			apart[v] = append(apart[v], rank)
		case len(apart) > 0:
			stay = append(stay, rank)
		}
	}
	if len(apart) > 0 {
		parts := make([][]int32, 0, len(apart))
		for _, ranks := range apart {
			parts = append(parts, ranks)
		}
		k.split(stay, parts)
	}
	return own
}

// Observe is Ask in a place to which a program that runs again from the beginning comes again, in the same
// order: the ranks of a kind are not asked again about answers that they had in common when they were told apart.
func Observe[T comparable](k *Kind, f func(rank int) T) T {
	k.observed++
	if k.observed <= k.told {
		return f(k.Rank())
	}
	return Ask(k, f)
}

// Repeats reports whether the next Observe may be one that the kind has in common with those it was told apart from.
func (k *Kind) Repeats() bool { return k.observed < k.told }

// Apart makes every rank of the kind a kind of its own.
func (k *Kind) Apart() { Ask(k, func(rank int) int { return rank }) }

// split leaves stay in the kind, and makes kinds of the others, which begin.
func (k *Kind) split(stay []int32, parts [][]int32) {
	slices.SortFunc(parts, func(a, b []int32) int { return cmp.Compare(a[0], b[0]) })
	j := k.job
	j.mu.Lock()
	k.members = stay
	for _, s := range k.logs {
		if s.behind() {
			j.fail(&UnlikeError{"a rank was told apart by what it had done before"})
		}
	}
	for _, ranks := range parts {
		n := &Kind{job: j, members: ranks, logs: map[logKey]*groupLog{}, told: max(k.told, k.observed), wake: sync.NewCond(&j.mu)}
		for key, s := range k.logs {
			n.logs[key] = s.inherited(n)
		}
		j.kinds = append(j.kinds, n)
		for _, rank := range ranks {
			j.of[rank] = n
		}
	}
	for _, s := range k.logs {
		s.sends.leave(stay)
	}
	j.endWave()
	j.version++
	failed := j.failure != nil
	if !failed {
		j.running += len(parts)
	}
	j.mu.Unlock()
	if !failed {
		for _, ranks := range parts {
			j.start(int(ranks[0]))
		}
	}
}

// fail ends the job with err, unless it has ended. The caller holds mu.
func (j *Job) fail(err error) {
	if j.failure != nil {
		return
	}
	j.failure = err
	for _, k := range j.kinds {
		k.resume()
	}
}

// end notes that a stand-in has ended with cause.
func (j *Job) end(k *Kind, cause error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if k.ended {
		return
	}
	k.ended = true
	if cause != nil {
		j.fail(cause)
	}
	for _, s := range k.logs {
		if s.behind() || s.sends.promised() > 0 {
			j.fail(&UnlikeError{"a rank has ended where it went on before"})
		}
	}
	j.running--
	j.checkDeadlock()
}

// wait blocks the stand-in of k until it is resumed. The caller holds mu, and looks again.
// The error is that of a job that has ended. The end of ctx ends it.
func (k *Kind) wait(ctx context.Context, w *waiting) error {
	j := k.job
	if j.failure != nil {
		return ErrEnded
	}
	defer context.AfterFunc(ctx, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.fail(context.Cause(ctx))
	})()
	k.waits = w
	j.running--
	j.checkDeadlock()
	for k.waits != nil {
		k.wake.Wait()
	}
	if j.failure != nil {
		return ErrEnded
	}
	return nil
}

// resume has the stand-in of k look again. The caller holds mu.
func (k *Kind) resume() {
	if k.waits != nil {
		k.waits = nil
		k.job.running++
		k.wake.Signal()
	}
}

// moved tells those that wait for k that it has done something. The caller holds mu.
func (k *Kind) moved() {
	all := k.watchers
	k.watchers = nil // for those who watch again
	for _, tell := range all {
		tell()
	}
}

// of returns w as errors show it, for the stand-in of k or, where they wait for several members, for each rank.
func (w *waiting) of(k *Kind) []comm.Wait {
	one := comm.Wait{Rank: k.Rank(), Function: w.function, Text: w.text, Where: w.where()}
	if w.each == nil {
		one.For = []int{w.missing()}
		return []comm.Wait{one}
	}
	var all []comm.Wait
	for _, rank := range k.members {
		text, missing := w.each(int(rank))
		one.Rank, one.Text, one.For = int(rank), text, []int{missing}
		all = append(all, one)
	}
	return all
}

// A waiting is the call or message that a stand-in waits for.
type waiting struct {
	function, text string
	where          func() string
	missing        func() int // a rank, under mu

	each    func(rank int) (text string, missing int) // of a kind that does not wait for one member in common
	divided func() bool                               // whether some ranks of the kind need not wait, if nobody else goes on; under mu
	divides bool                                      // so it is
}

// checkDeadlock ends the job if nobody runs and somebody waits, unless some ranks of a kind can go on
// when they are told apart. The caller holds mu.
func (j *Job) checkDeadlock() {
	if j.running > 0 || j.failure != nil {
		return
	}
	for _, k := range j.kinds {
		if w := k.waits; w != nil && w.divided() {
			w.divides = true
			k.resume()
			return
		}
	}
	if j.wave != nil {
		j.fail(&UnlikeError{"ranks that wait in turn"})
		return
	}
	verdict := &comm.DeadlockError{}
	for _, k := range j.kinds {
		if w := k.waits; w != nil {
			verdict.Waits = append(verdict.Waits, w.of(k)...)
		} else {
			verdict.Ended = append(verdict.Ended, k.Rank())
		}
	}
	if len(verdict.Waits) > 0 {
		slices.SortFunc(verdict.Waits, func(a, b comm.Wait) int { return a.Rank - b.Rank })
		slices.Sort(verdict.Ended)
		j.fail(verdict)
	}
}

// Close ends the calls that are under way.
func (j *Job) Close() {
	j.mu.Lock()
	j.fail(comm.ErrClosed)
	j.mu.Unlock()
	j.fabric.Close()
}

// JoinRank implements comm.Transport.
func (j *Job) JoinRank(e *comm.Endpoint) comm.RankTransport { return &rankSide{j, e} }

// Notice implements comm.Transport: nothing here takes long.
func (j *Job) Notice(time.Duration, func(string)) {}

// A rankSide is a rank's side of a job.
type rankSide struct {
	job      *Job
	endpoint *comm.Endpoint
}

func (r *rankSide) JoinGroup(g *comm.Group) comm.GroupTransport {
	return &member{job: r.job, endpoint: r.endpoint, group: g}
}

func (r *rankSide) End(cause error) { r.job.end(r.job.KindOf(r.endpoint.Rank()), cause) }

// Idle implements comm.RankTransport: no stand-in has a shell.
func (r *rankSide) Idle() {}

// Resume implements comm.RankTransport.
func (r *rankSide) Resume() {}

// noHollow is the error of a call that moves elements.
func noHollow(op *comm.Op) error {
	return fmt.Errorf("%s: got elements, want shapes alone", op.Desc.Op)
}

package process

import (
	"context"
	"slices"
	"time"

	"tpsh/comm"
	"tpsh/comm/process/spin"
	"tpsh/comm/process/stream"
)

// An inbound is a way on which messages come to a rank that somebody must look at:
// shared memory, TCP connections that are polled, the streams of an MPI. A rank has a
// list of them, the fastest first; it is empty where goroutines read all streams.
//
// A goroutine that waits polls itself, which spares waking another
// thread, and sleeps at the first inbound of the list. While nobody waits, each
// inbound has a listener of its own.
type inbound interface {
	// Reaches reports whether messages of a rank come this way.
	Reaches(rank int) bool
	// Eager returns how many bytes of data may go with a contract to a rank.
	Eager() int

	// SpinRounds is how often a spin looks in vain, and Pause its pause after
	// its look i: it lets others run, for example.
	SpinRounds() int
	Pause(i int)
	// PollFrom takes in messages that have come from ranks, or those of them that are
	// quickly taken in, and reports whether the spin is to start anew for that.
	PollFrom(ranks []int) (anew bool)

	// WaitRounds is how often a wait looks before it sleeps.
	WaitRounds() int
	// Poll takes in all messages that have come.
	Poll()
	// Sleeper returns the function by which a wait sleeps. It takes in the messages that have come,
	// asks ends, and unless that says so sleeps until something may have come, at most
	// for nap. It returns false if the wait is to sleep elsewhere, since others look
	// here now.
	Sleeper() func(nap time.Duration, ends func() bool) (stay bool)
	// Wake wakes the waits that sleep here, and WakeAll also those that are about to.
	Wake()
	WakeAll()
	// Background counts the waits that do not look here: while there are any, the
	// listener does.
	Background(n int32)

	// Posts reports whether data that a rank sends can be read to where they belong.
	Posts(rank int) bool
	// Withdraw sees to it that nothing that a rank sends is read to memory any more.
	// The rank is one that posts.
	Withdraw(rank int, memory []byte)
}

// reachesAll reports whether the messages of the ranks, but for the rank's own, come on in.
func (wr *wireRank) reachesAll(in inbound, ranks []int) bool {
	return !slices.ContainsFunc(ranks, func(r int) bool { return r != wr.rank && !in.Reaches(r) })
}

// inboundsOf returns the inbounds at which to look for messages of ranks: the first
// that reaches all of them, or where they come on several ways all, and those before
// it. There are none if they are goroutines of this process, which a spin would keep
// from running.
func (wr *wireRank) inboundsOf(ranks []int) []inbound {
	for i, in := range wr.inbounds {
		if i == len(wr.inbounds)-1 || wr.reachesAll(in, ranks) {
			return wr.inbounds[:i+1]
		}
	}
	if wr.remoteSupervisor {
		return []inbound{noInbound{}}
	}
	return nil
}

// eager returns how long the data may be that go with a contract to a rank.
func (wr *wireRank) eager(rank int) int {
	for _, in := range wr.inbounds {
		if in.Reaches(rank) {
			return in.Eager()
		}
	}
	return stream.EagerBytes
}

// spin looks for a moment at the messages from ranks until come holds, and reports
// whether it does. ins are inboundsOf(ranks); the last says how long and how.
func (wr *wireRank) spin(ins []inbound, ranks []int, come func() bool) bool {
	if len(ins) == 0 {
		return come()
	}
	last := ins[len(ins)-1]
	var limit spin.Limit
	for i, n := 0, last.SpinRounds(); i < n && !limit.Passed(i); i++ {
		for _, in := range ins {
			if in.PollFrom(ranks) {
				i, limit = 0, spin.Limit{}
			}
		}
		if come() {
			return true
		}
		last.Pause(i)
	}
	return false
}

// waitAt is waitUntilOver for the rank's goroutine, which looks at an inbound and
// sleeps there. It returns not over if it is to go on elsewhere.
func (wr *wireRank) waitAt(ctx context.Context, in inbound, w *wireWait) (over bool, err error) {
	var limit spin.Limit
	for i, n := 0, in.WaitRounds(); i < n && !limit.Passed(i); i++ {
		if over, err := wr.look(w, false); over {
			return true, err
		}
		spin.Yield(i)
		in.Poll()
	}
	defer context.AfterFunc(ctx, in.WakeAll)()
	defer context.AfterFunc(wr.fabric.Context(), in.WakeAll)()
	sleep, start, nap := in.Sleeper(), time.Now(), wr.backoff.short
	ends := func() bool {
		over, err = wr.ends(ctx, w, nap == wr.backoff.long)
		return over
	}
	for {
		if stay := sleep(nap, ends); over || !stay {
			return over, err
		}
		if nap != wr.backoff.long && time.Since(start) >= nap {
			nap = wr.backoff.long
		}
	}
}

// ends looks whether w is over, or the wait for it ends for another reason. tell
// is that of look.
func (wr *wireRank) ends(ctx context.Context, w *wireWait, tell bool) (over bool, err error) {
	if over, err := wr.look(w, tell); over {
		return true, err
	}
	switch {
	case ctx.Err() != nil:
		w.left = true
		return true, context.Cause(ctx)
	case wr.fabric.Context().Err() != nil:
		return true, comm.ErrClosed
	}
	return false, nil
}

// posting returns the inbound on which data from a rank can be read to where they
// belong, nil if there is none.
func (wr *wireRank) posting(rank int) inbound {
	i := slices.IndexFunc(wr.inbounds, func(in inbound) bool { return in.Posts(rank) })
	if i < 0 {
		return nil
	}
	return wr.inbounds[i]
}

// noInbound stands for the goroutines that read streams: a spin lets them run.
type noInbound struct{}

func (noInbound) Reaches(int) bool     { return true }
func (noInbound) Eager() int           { return stream.EagerBytes }
func (noInbound) SpinRounds() int      { return spin.Rounds }
func (noInbound) Pause(i int)          { spin.YieldAfterFirst(i) }
func (noInbound) PollFrom([]int) bool  { return false }
func (noInbound) WaitRounds() int      { return 0 }
func (noInbound) Poll()                {}
func (noInbound) Wake()                {}
func (noInbound) WakeAll()             {}
func (noInbound) Background(int32)     {}
func (noInbound) Posts(int) bool       { return false }
func (noInbound) Withdraw(int, []byte) {}

func (noInbound) Sleeper() func(time.Duration, func() bool) bool {
	return func(time.Duration, func() bool) bool { return false }
}

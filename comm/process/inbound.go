package process

import (
	"context"
	"slices"
	"time"

	"tpsh/comm"
)

// An inbound is a way on which messages come to a rank that somebody must look at:
// shared memory, TCP connections that are polled, the streams of an MPI. A rank has a
// list of them, the fastest first; it is empty where goroutines read all streams.
//
// Who waits for something looks at what comes itself, which spares waking another
// thread, and sleeps at the first inbound of the list. While nobody waits, each
// inbound has a listener of its own.
type inbound interface {
	// reaches reports whether what a rank sends comes this way.
	reaches(rank int) bool
	// eager returns how long the data may be that go with a contract to a rank.
	eager() int

	// spinRounds is how often a spin looks in vain, and pause what it does after
	// its look i.
	spinRounds() int
	pause(i int)
	// pollFrom takes in what has come from ranks, or of it what is quickly taken in,
	// and reports whether the spin is to start anew for that.
	pollFrom(wr *wireRank, ranks []int) (anew bool)

	// waitRounds is how often a wait looks before it sleeps.
	waitRounds() int
	// poll takes in what has come.
	poll(wr *wireRank)
	// sleeper returns what a wait sleeps with. It takes in what has come, asks ends,
	// and unless that says so sleeps until something may have come, at most for nap.
	// It returns false if the wait is to sleep elsewhere, since others look here now.
	sleeper(wr *wireRank) func(nap time.Duration, ends func() bool) (stay bool)
	// wake wakes who sleeps, and wakeAll also who is about to.
	wake()
	wakeAll()
	// background counts the waits that do not look here: while there are any, the
	// listener does.
	background(n int32)

	// posts reports whether what a rank sends can be read to where it belongs.
	posts(rank int) bool
	// withdraw sees to it that nothing of what a rank sends is read to memory any
	// more. The rank is one that posts.
	withdraw(rank int, memory []byte)
}

// reachesAll reports whether what the ranks send, but for the rank's own, comes on in.
func (wr *wireRank) reachesAll(in inbound, ranks []int) bool {
	return !slices.ContainsFunc(ranks, func(r int) bool { return r != wr.rank && !in.reaches(r) })
}

// inboundOf returns the inbound at which to look for what ranks send: the first that
// reaches all, or where they come on several ways the last. It is nil if they are
// goroutines of this process, which a spin would keep from running.
func (wr *wireRank) inboundOf(ranks []int) inbound {
	for i, in := range wr.inbounds {
		if i == len(wr.inbounds)-1 || wr.reachesAll(in, ranks) {
			return in
		}
	}
	if wr.remoteSupervisor {
		return noInbound{}
	}
	return nil
}

// eager returns how long the data may be that go with a contract to a rank.
func (wr *wireRank) eager(rank int) int {
	for _, in := range wr.inbounds {
		if in.reaches(rank) {
			return in.eager()
		}
	}
	return streamCarries
}

// spin looks for a moment at what comes from ranks until come holds, and reports
// whether it does. in is inboundOf(ranks).
func (wr *wireRank) spin(in inbound, ranks []int, come func() bool) bool {
	if in == nil {
		return come()
	}
	for i, n := 0, in.spinRounds(); i < n; i++ {
		if in.pollFrom(wr, ranks) {
			i = 0
		}
		if come() {
			return true
		}
		in.pause(i)
	}
	return false
}

// waitAt is waitUntilOver for the rank's goroutine, which looks at an inbound and
// sleeps there. It returns not over if it is to go on elsewhere.
func (wr *wireRank) waitAt(ctx context.Context, in inbound, w *wireWait) (over bool, err error) {
	for i := range in.waitRounds() {
		if over, err := wr.look(w, false); over {
			return true, err
		}
		yield(i)
		in.poll(wr)
	}
	defer context.AfterFunc(ctx, in.wakeAll)()
	defer context.AfterFunc(wr.fabric.Context(), in.wakeAll)()
	sleep, start, nap := in.sleeper(wr), time.Now(), wr.backoff.short
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

// posting returns the inbound on which what a rank sends can be read to where it
// belongs, nil if there is none.
func (wr *wireRank) posting(rank int) inbound {
	i := slices.IndexFunc(wr.inbounds, func(in inbound) bool { return in.posts(rank) })
	if i < 0 {
		return nil
	}
	return wr.inbounds[i]
}

// noInbound stands for the goroutines that read streams: a spin lets them run.
type noInbound struct{}

func (noInbound) reaches(int) bool               { return true }
func (noInbound) eager() int                     { return streamCarries }
func (noInbound) spinRounds() int                { return pollRounds }
func (noInbound) pause(i int)                    { yieldAfter(i) }
func (noInbound) pollFrom(*wireRank, []int) bool { return false }
func (noInbound) waitRounds() int                { return 0 }
func (noInbound) poll(*wireRank)                 {}
func (noInbound) wake()                          {}
func (noInbound) wakeAll()                       {}
func (noInbound) background(int32)               {}
func (noInbound) posts(int) bool                 { return false }
func (noInbound) withdraw(int, []byte)           {}

func (noInbound) sleeper(*wireRank) func(time.Duration, func() bool) bool {
	return func(time.Duration, func() bool) bool { return false }
}

// yieldAfter yields after all looks but the first.
func yieldAfter(i int) {
	if i > 0 {
		yield(i)
	}
}

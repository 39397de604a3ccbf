package process

import (
	"slices"
	"time"

	"tpsh/comm"
	"tpsh/comm/deadlock"
	"tpsh/comm/process/stream"
	"tpsh/comm/wire"
)

// frames is the transport of ranks that share nothing: every byte crosses as
// frames through pipes, from each rank to each other, and between each rank
// and a supervisor, which finds deadlocks and passes failures on.
type frames struct {
	fabric     *comm.Fabric
	size       int
	wireRanks  []*wireRank // by rank
	supervisor *supervisor
}

// FrameOptions are the ways in which the pipes of NewFrames misbehave, for
// tests. The zero value is for pipes that do not.
type FrameOptions struct {
	Seed  uint64 // of all that is left to chance
	Delay bool   // whether bytes arrive late, and in pieces of odd lengths
	Cut   []Cut  // pipes that end
	Relay bool   // whether contracts, and short blocks for each, are relayed in groups of any size
}

// A Cut makes the pipe from one rank to another end at a byte, chosen by the
// seed, below Before. The supervisor is Supervisor.
type Cut struct {
	From, To int
	Before   int
}

// Supervisor stands for the supervisor in a Cut.
const Supervisor = -1

// longestDelay is by how much FrameOptions.Delay delays a piece at most.
const longestDelay = 50 * time.Microsecond

// NewFrames returns a Fabric for size goroutines of this process, which
// exchange every byte as frames. It panics unless size is positive.
func NewFrames(size int, o FrameOptions) *comm.Fabric {
	f := comm.NewFabric(size)
	t := &frames{fabric: f, size: size, supervisor: newSupervisor(f.Context().Done(), deadlock.Options{Size: size})}
	for r := range size {
		wr := newWireRank(f, r, size)
		if o.Relay {
			wr.relaysFrom, wr.swapsFrom = 2, 2
		}
		t.wireRanks = append(t.wireRanks, wr)
	}
	f.Attach(t, size)
	for from := range size {
		for to := range size {
			if from != to {
				t.connect(from, to, o)
			}
		}
		t.connect(from, Supervisor, o)
		t.connect(Supervisor, from, o)
	}
	f.Go(t.supervisor.run)
	return f
}

// connect makes the pipe from one participant to another, and starts reading
// it.
func (t *frames) connect(from, to int, o FrameOptions) {
	r, w := newPipe(t.fabric.Context(), t.faults(from, to, o))
	out := &stream.Writer{Source: t.index(from), Stream: w}
	in := wire.NewReader(wire.ReaderOptions{Stream: r, Source: t.index(from)})
	if from == Supervisor {
		t.supervisor.writers[to] = out
	} else {
		t.wireRanks[from].writers[t.index(to)] = out
	}
	t.fabric.Go(func() {
		if to == Supervisor {
			t.supervisor.readReports(from, in)
		} else {
			t.wireRanks[to].readFrames(t.index(from), in)
		}
	})
}

// index returns the number of a participant: its rank, or size for the
// supervisor.
func (t *frames) index(participant int) int {
	if participant == Supervisor {
		return t.size
	}
	return participant
}

// faults returns how the pipe from one participant to another misbehaves.
func (t *frames) faults(from, to int, o FrameOptions) pipeFaults {
	f := pipeFaults{seed: o.Seed<<16 + uint64(t.index(from)*(t.size+1)+t.index(to))}
	if o.Delay {
		f.delay = longestDelay
	}
	if i := slices.IndexFunc(o.Cut, func(c Cut) bool { return c.From == from && c.To == to }); i >= 0 {
		f.cutBefore = o.Cut[i].Before
	}
	return f
}

func (t *frames) JoinRank(e *comm.Endpoint) comm.RankTransport {
	t.wireRanks[e.Rank()].endpoint = e
	return t.wireRanks[e.Rank()]
}

func (t *frames) Unreceived() []comm.Unreceived {
	var all []comm.Unreceived
	for _, wr := range t.wireRanks {
		all = append(all, wr.unreceived()...)
	}
	return all
}

func (t *frames) Notice(after time.Duration, fn func(string)) {
	t.supervisor.noticeWaits(after, fn)
}

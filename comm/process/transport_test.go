package process_test

import (
	"flag"
	"fmt"
	"io"
	"net"
	goruntime "runtime"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"

	"tpsh/comm"
	"tpsh/comm/commtest"
	"tpsh/comm/inproc"
	"tpsh/comm/process"
)

// Most of its time a test of a transport waits: more of them run at a time than there are
// processors, unless -parallel says otherwise. A rank that sleeps at connections or at shared
// memory does not tell Go's scheduler, as it need not in a process of its own: here it would
// keep others from running if there were not more threads for them than processors. What is
// drawn at random is drawn 40 times, for many transports have it, unless -rapid.checks says
// otherwise.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // as the command does
	goruntime.GOMAXPROCS(max(24, goruntime.GOMAXPROCS(0)))
	for name, value := range map[string]string{"test.parallel": "8", "rapid.checks": "40"} {
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

// frames returns an opener of frames with the given options.
func frames(o process.FrameOptions) commtest.Opener {
	return func(size int) *comm.Fabric { return process.NewFrames(size, o) }
}

// conform runs the conformance suite on a transport, beside that of the others: most of
// its time somebody waits.
func conform(t *testing.T, open commtest.Opener) {
	t.Parallel()
	commtest.Suite(t, open)
}

// conformLong is conform of what differs little from others: tests that are to be short leave
// it out.
func conformLong(t *testing.T, open commtest.Opener) {
	if testing.Short() {
		t.Skip("left out: the whole suite on another form of a transport; without -short it runs")
	}
	conform(t, open)
}

func TestFrames(t *testing.T) { conform(t, frames(process.FrameOptions{})) }

// What passes when members tell each other directly passes when contracts are relayed.
func TestFramesRelayed(t *testing.T) { conform(t, frames(process.FrameOptions{Relay: true})) }

func TestFramesRelayedDelayed(t *testing.T) {
	conformLong(t, frames(process.FrameOptions{Relay: true, Seed: 5, Delay: true}))
}

func TestPiped(t *testing.T) { conformLong(t, piped) }

func piped(size int) *comm.Fabric { return process.NewPiped(size, nil, 0, pipe) }

// pipe returns both ends of a stream that is no socket, and holds nothing: what
// is written waits until it is read.
func pipe() (a, b io.ReadWriteCloser) { return net.Pipe() }

// What passes when bytes arrive at once passes when they are late.
func TestFramesDelayed(t *testing.T) {
	seeds := uint64(3)
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			conform(t, frames(process.FrameOptions{Seed: seed, Delay: true}))
		})
	}
}

// What a call sends in its message schedule is told alike, whatever the
// transport; here, all_reduce of four ranks, small and large.
func TestWireIsAlike(t *testing.T) {
	for _, tr := range transports {
		for elements, want := range map[int]int{2: 3 * 8, 1 << 20: 2 * 3 << 20} {
			f := tr.open(4)
			onRanks(f, func(g *comm.Group) {
				result, err := g.Run(t.Context(), allReduce(make([]float32, elements), make([]float32, elements)))
				if err != nil || result.Wire != want {
					t.Errorf("%s: %d elements: got %d bytes and %v, want %d", tr.name, elements, result.Wire, err, want)
				}
			})
			f.Close()
		}
	}
}

func TestTransportsAgree(t *testing.T) {
	commtest.Agree(t, inproc.New, inproc.New, frames(process.FrameOptions{}), frames(process.FrameOptions{Seed: 1, Delay: true}), piped)
}

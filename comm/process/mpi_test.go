package process_test

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/commtest"
	"tpsh/comm/mpi"
	"tpsh/comm/process"
)

// A supervised stream is one that ends its world when it is closed, the last of
// the rank.
type worldEnd struct {
	io.ReadWriteCloser
	end func()
}

func (e *worldEnd) Close() error {
	err := e.ReadWriteCloser.Close()
	e.end()
	return err
}

// simulated returns an opener of ranks that an MPI connects, as it were.
func simulated(seed uint64) commtest.Opener { return simulatedOn(1, seed) }

// simulatedOn is simulated on machines of which each has so many ranks; the first, if there are several,
// has one more.
func simulatedOn(machines int, seed uint64) commtest.Opener {
	return func(size int) *comm.Fabric {
		hosts := make([]int, size)
		if each := size / machines; each > 0 {
			for r := each + 1; r < size; r++ {
				hosts[r] = (r-each-1)/each*each + each + 1
			}
		}
		worlds := mpi.SimulateOn(hosts, seed)
		links := make([]*process.Links, size)
		s := process.SuperviseOptions{Grace: 20 * time.Millisecond}
		for r, w := range worlds {
			o := process.LinkOptions{Rank: r, Size: size, Hosts: w.Hosts(), Carrier: w, Peers: make([]io.ReadWriteCloser, size)}
			for peer := range o.Peers {
				if peer != r {
					o.Peers[peer] = w.Stream(peer, mpi.Data)
				}
			}
			o.Supervisor = w.Stream(0, mpi.Supervision)
			s.Streams = append(s.Streams, &worldEnd{worlds[0].Stream(r, mpi.Supervision), func() { go w.Close() }})
			var err error
			if links[r], err = process.Connect(o); err != nil {
				panic(err)
			}
		}
		return process.Join(process.Supervise(s), links)
	}
}

func TestMPI(t *testing.T) {
	conform(t, simulated(1))
}

// Ranks of an MPI that are on several machines are known to be: what passes on one passes there, and
// large blocks as well, which go by hosts.
func TestMPIOnHosts(t *testing.T) {
	conformLong(t, simulatedOn(2, 3))
}

func TestMPIOnHostsLarge(t *testing.T) {
	for size := 4; size <= 6; size++ {
		f := simulatedOn(2, uint64(size))(size)
		for rank, err := range commtest.Huge(t, f, 100000) {
			if err != nil {
				t.Errorf("rank %d of %d: %v", rank, size, err)
			}
		}
		f.Close()
	}
}

func TestMPIWanders(t *testing.T) {
	for seed := range uint64(4) {
		f := simulated(seed)(2 + int(seed)%3)
		for rank, err := range commtest.Wander(t, f, seed, 150, 1<<16) {
			if err != nil {
				t.Errorf("rank %d: %v", rank, err)
			}
		}
		f.Close()
	}
}

// Whole collectives of all ranks are carried, to where their results lie in a
// row and to where they do not, and past a member that has no room for them.
func TestMPICarries(t *testing.T) {
	for size := 3; size <= 4; size++ {
		f := simulated(uint64(size))(size)
		for rank, err := range commtest.Huge(t, f, 100000) {
			if err != nil {
				t.Errorf("rank %d of %d: %v", rank, size, err)
			}
		}
		f.Close()
		f = simulated(uint64(size))(size)
		onRanks(f, func(g *comm.Group) {
			for i, kind := range []comm.Kind{comm.AllGather, comm.Gather, comm.Broadcast} {
				carryOnce(t, g, kind, i%size, g.Rank() == i)
				carryOnce(t, g, kind, i%size, false)
			}
		})
		f.Close()
	}
}

// carryOnce makes a collective whose results lie in a row. If full is true this
// member has no room for them.
func carryOnce(t *testing.T, g *comm.Group, kind comm.Kind, root int, full bool) {
	const each = 100 << 10
	want := make([]byte, 0, each*g.Size())
	for r := range g.Size() {
		want = append(want, bytes.Repeat([]byte{byte(r + 1)}, each+r)...)
	}
	mine := bytes.Repeat([]byte{byte(g.Rank() + 1)}, each+g.Rank())
	row := make([]byte, len(want))
	var out []comm.Block
	op := &comm.Op{Kind: kind, Align: 1, Desc: comm.Desc{Op: "carried", DType: "uint8", Shape: []int{1}, Free: -1, Root: -1, Dims: [2]int{-1, -1}}}
	switch at := 0; {
	case kind == comm.Broadcast:
		op.Desc.Root, want, out = root, bytes.Repeat([]byte{9}, 3*each), []comm.Block{comm.Whole(row[:3*each])}
		if mine = nil; g.Rank() == root {
			mine = bytes.Clone(want)
		}
	case kind == comm.AllGather || g.Rank() == root:
		for r := range g.Size() {
			out = append(out, comm.Whole(row[at:][:each+r]))
			at += each + r
		}
	}
	if kind == comm.Gather {
		op.Desc.Root = root
	}
	if mine != nil {
		op.In = []comm.Block{comm.Whole(mine)}
	}
	errFull := errors.New("no room")
	op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) {
		if full {
			return nil, errFull
		}
		return out, nil
	}
	if _, err := g.Run(t.Context(), op); full != errors.Is(err, errFull) || !full && err != nil {
		t.Errorf("kind %d, rank %d: got %v, want a failure: %v", kind, g.Rank(), err, full)
	}
	if len(out) > 0 && !full && !bytes.Equal(row[:len(want)], want) {
		t.Errorf("kind %d, rank %d: got other bytes than were sent", kind, g.Rank())
	}
}

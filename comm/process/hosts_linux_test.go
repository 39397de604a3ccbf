package process_test

import (
	"fmt"
	"testing"

	"tpsh/comm"
	"tpsh/comm/commtest"
	"tpsh/comm/inproc"
	"tpsh/comm/process"
)

// Ranks of which two and two are on a host.
func TestHosts(t *testing.T) {
	conform(t, func(size int) *comm.Fabric { return process.NewHosts(size, 2) })
}

// Ranks on two hosts that share no memory on either.
func TestHostsPiped(t *testing.T) {
	conform(t, func(size int) *comm.Fabric {
		hosts := make([]int, size)
		for r := range hosts {
			hosts[r] = 2 * r / size
		}
		return process.NewPiped(size, hosts, pipe)
	})
}

func TestHostsAgree(t *testing.T) {
	commtest.Agree(t, inproc.New, func(size int) *comm.Fabric { return process.NewHosts(size, 2) })
}

func TestLargeHosts(t *testing.T) {
	for _, each := range []int{2, 3} {
		testLargeOf(t, func(size int) *comm.Fabric { return process.NewHosts(size, each) }, 4, 5)
	}
	testLargeOf(t, process.NewMixed, 5)
}

// Calls drawn at random, of all kinds, some under way at the same time.
func TestHostsWander(t *testing.T) {
	for seed := range uint64(3) {
		for _, each := range []int{2, 3} {
			f := process.NewHosts(6, each)
			for r, err := range commtest.Wander(t, f, seed, 60, 200000) {
				if err != nil {
					t.Errorf("seed %d, %d on each host, rank %d: %v", seed, each, r, err)
				}
			}
			f.Close()
		}
	}
}

// A hostLayout is hosts with so many ranks each.
type hostLayout struct{ hosts, each int }

func (l hostLayout) String() string { return fmt.Sprintf("%dx%d", l.hosts, l.each) }

// acrossBytes is the length of the blocks of which crossings are counted.
const acrossBytes = 960 << 10

// mostContracts is how much may cross besides the data of a call: what each member tells
// each other.
const mostContracts = 8 << 10

// What crosses from host to host is what must: every block once to every host, by the
// counters of the links.
func TestBytesAcrossHosts(t *testing.T) {
	for _, l := range []hostLayout{{2, 2}, {2, 4}, {4, 2}, {8, 1}} {
		size := l.hosts * l.each
		for _, test := range []struct {
			kind comm.Kind
			want int
		}{
			{comm.AllGather, size * (l.hosts - 1) * acrossBytes},
			{comm.Broadcast, (l.hosts - 1) * acrossBytes},
			{comm.AllToAll, size * (size - l.each) * acrossBytes},
		} {
			got := bytesAcross(t, l, test.kind)
			if more := got - test.want; more < 0 || more > mostContracts {
				t.Errorf("%v: %v: got %d bytes from host to host, want %d and at most %d more", l, test.kind, got, test.want, mostContracts)
			}
		}
	}
}

// bytesAcross makes a call on ranks of a layout, and returns how many bytes have crossed.
func bytesAcross(t *testing.T, l hostLayout, kind comm.Kind) (across int) {
	size := l.hosts * l.each
	f, links := process.NewHostsWithLinks(size, l.each)
	defer f.Close()
	onRanks(f, func(g *comm.Group) {
		if _, err := g.Run(t.Context(), acrossOp(kind, g.Rank(), size)); err != nil {
			t.Errorf("%v: %v: rank %d: %v", l, kind, g.Rank(), err)
		}
	})
	for _, link := range links {
		across += int(link.Traffic().Across)
	}
	return across
}

// acrossOp returns a member's call, each of whose blocks has acrossBytes bytes.
func acrossOp(kind comm.Kind, member, size int) *comm.Op {
	blocks := func(n int) (list []comm.Block) {
		for range n {
			list = append(list, comm.Whole(make([]byte, acrossBytes)))
		}
		return list
	}
	op := &comm.Op{Desc: comm.Desc{Op: kind.String(), Free: -1, Root: -1, Dims: [2]int{-1, -1}}, Kind: kind, Align: 4, Reduce: sum}
	ins, outs := 1, 1
	switch kind {
	case comm.AllGather:
		outs = size
	case comm.AllToAll:
		ins, outs = size, size
	case comm.Broadcast:
		op.Desc.Root = 1
		if member != 1 {
			ins = 0
		}
	}
	op.In = blocks(ins)
	op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return blocks(outs), nil }
	return op
}

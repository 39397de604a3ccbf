package process_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
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
	conformLong(t, func(size int) *comm.Fabric {
		return process.NewPiped(size, hostsOf(size, (size+1)/2), 0, pipe)
	})
}

func TestHostsAgree(t *testing.T) {
	commtest.Agree(t, inproc.New, func(size int) *comm.Fabric { return process.NewHosts(size, 2) })
}

func TestLargeHosts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		testLargeOf(t, func(size int) *comm.Fabric { return process.NewHosts(size, 2) }, 4)
		return
	}
	for _, each := range []int{2, 3} {
		testLargeOf(t, func(size int) *comm.Fabric { return process.NewHosts(size, each) }, 4, 5)
	}
	testLargeOf(t, process.NewMixed, 5)
}

// Calls drawn at random, of all kinds, some under way at the same time.
func TestHostsWander(t *testing.T) {
	seeds, rounds, most := uint64(3), 60, 200_000
	if testing.Short() {
		seeds, rounds, most = 1, 6, 70_000
	}
	for seed := range seeds {
		for _, each := range []int{2, 3} {
			f := process.NewHosts(6, each)
			for r, err := range commtest.Wander(t, f, seed, rounds, most) {
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

// What crosses from host to host is what must, by the counters of the links: every block
// once to every host; of what is reduced in the order of ranks, the sum so far once to every
// host but the first, and the result to each that is to have it and has it not.
func TestBytesAcrossHosts(t *testing.T) {
	for _, l := range []hostLayout{{2, 2}, {2, 4}, {4, 2}, {8, 1}} {
		if testing.Short() && l != (hostLayout{4, 2}) {
			continue // the bytes are counted where there is no race detector
		}
		size := l.hosts * l.each
		for _, test := range []struct {
			kind comm.Kind
			want int
		}{
			{comm.AllGather, size * (l.hosts - 1) * acrossBytes},
			{comm.Broadcast, (l.hosts - 1) * acrossBytes},
			{comm.AllToAll, size * (size - l.each) * acrossBytes},
			{comm.Gather, (size - l.each) * acrossBytes},
			{comm.Scatter, (size - l.each) * acrossBytes},
			{comm.AllReduce, 2 * (l.hosts - 1) * acrossBytes},
			{comm.Reduce, l.hosts * acrossBytes}, // to rank 1, which is not on the last host
			{comm.ReduceScatter, (size*(l.hosts-1) + size - l.each) * acrossBytes},
		} {
			if l.each == 1 && test.kind.Reduces() {
				continue // each sends to each: as much, and no chain
			}
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
	op := &comm.Op{Desc: comm.Desc{Op: kind.String(), Free: -1, Root: -1, Dims: [2]int{-1, -1}}, Kind: kind, Align: 4, Reduce: sum, Fold: foldSum}
	ins, outs := 1, 1
	switch kind {
	case comm.AllGather:
		outs = size
	case comm.AllToAll:
		ins, outs = size, size
	case comm.ReduceScatter:
		ins = size
	case comm.Reduce:
		op.Desc.Root = 1
		if member != 1 {
			outs = 0
		}
	case comm.Broadcast:
		op.Desc.Root = 1
		if member != 1 {
			ins = 0
		}
	case comm.Gather:
		op.Desc.Root = 1
		outs = 0
		if member == 1 {
			outs = size
		}
	case comm.Scatter:
		op.Desc.Root = 1
		ins = 0
		if member == 1 {
			ins = size
		}
	}
	op.In = blocks(ins)
	op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return blocks(outs), nil }
	return op
}

// foldSum is the Fold of sum.
var foldSum = &comm.Fold{
	Bytes: 4,
	Add:   func(dst, acc []byte, srcs [][]byte) { sum(dst, onto(acc, srcs)) },
	End:   func(dst, acc []byte, srcs [][]byte, _ int) { sum(dst, onto(acc, srcs)) },
}

// onto returns acc, if there is one, and srcs.
func onto(acc []byte, srcs [][]byte) [][]byte {
	if acc == nil {
		return srcs
	}
	return append([][]byte{acc}, srcs...)
}

// A chainCase is a sum along a chain of hosts.
type chainCase struct {
	hostLayout
	kind     comm.Kind
	elements int // of a block, about
	root     int
	strided  bool
}

// length returns how many elements block i has; of ReduceScatter none of the second.
func (c chainCase) length(i int) int {
	if c.kind != comm.ReduceScatter {
		return c.elements
	}
	return c.elements * ((i + 2) % 3) / 2
}

// in returns a block of a rank, of numbers whose sum depends on their order.
func (c chainCase) in(rank, block int) []float32 {
	x := make([]float32, c.length(block))
	bits := uint32(rank*977 + block*31)
	for i := range x {
		bits = bits*1664525 + 1013904223
		x[i] = math.Float32frombits(bits&0x807fffff | (112+bits>>9%32)<<23) // of 2^-15 to 2^17
	}
	return x
}

// sums returns the blocks of the result.
func (c chainCase) sums() (totals [][]byte) {
	blocks := 1
	if c.kind == comm.ReduceScatter {
		blocks = c.hosts * c.each
	}
	for i := range blocks {
		var srcs [][]byte
		for r := range c.hosts * c.each {
			srcs = append(srcs, bytesOf(c.in(r, i)))
		}
		totals = append(totals, make([]byte, len(srcs[0])))
		sum(totals[i], srcs)
	}
	return totals
}

// block returns a copy of b, in rows if the case has some.
func (c chainCase) block(b []byte) comm.Block {
	const width, pitch = 1200, 1212
	if !c.strided || len(b) == 0 || len(b)%width != 0 {
		return comm.Whole(bytes.Clone(b))
	}
	rows := comm.Block{Data: make([]byte, len(b)/width*pitch), Rows: len(b) / width, Width: width, Pitch: pitch}
	comm.Copy(rows, comm.Whole(b))
	return rows
}

// run makes the call on a rank, and compares the result with the sums.
func (c chainCase) run(ctx context.Context, g *comm.Group, sums [][]byte, change func(op *comm.Op)) error {
	op := acrossOp(c.kind, g.Rank(), g.Size())
	op.In = nil
	want := sums[0]
	switch {
	case c.kind == comm.ReduceScatter:
		want = sums[g.Rank()]
	case c.kind == comm.Reduce:
		op.Desc.Root = c.root
	}
	for i := range sums {
		op.In = append(op.In, c.block(bytesOf(c.in(g.Rank(), i))))
	}
	out := []comm.Block{c.block(make([]byte, len(want)))}
	if c.kind == comm.Reduce && g.Rank() != c.root {
		out = nil
	}
	op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return out, nil }
	change(op)
	if _, err := c.call(ctx, g, op); err != nil {
		return err
	}
	for _, b := range out {
		if got := b.All().AppendTo(nil); !bytes.Equal(got, want) {
			return fmt.Errorf("%+v: rank %d: other bits than those of the sum in the order of ranks", c, g.Rank())
		}
	}
	return nil
}

// call makes the call; of a case with rows beside another that is under way.
func (c chainCase) call(ctx context.Context, g *comm.Group, op *comm.Op) (comm.Result, error) {
	if !c.strided {
		return g.Run(ctx, op)
	}
	first := g.Issue(acrossOp(comm.AllReduce, g.Rank(), g.Size()))
	second := g.Issue(op)
	if result, err := first.Wait(ctx); err != nil {
		return result, err
	}
	return second.Wait(ctx)
}

// chainCases are sums on all layouts, of one piece and of several, and of uneven blocks.
func chainCases() (cases []chainCase) {
	for _, l := range []hostLayout{{2, 2}, {2, 4}, {3, 2}, {4, 2}} {
		for i, elements := range []int{60000, 75000, 400001} {
			for _, kind := range []comm.Kind{comm.AllReduce, comm.Reduce, comm.ReduceScatter} {
				cases = append(cases, chainCase{l, kind, elements, i % (l.hosts * l.each), i == 1})
			}
		}
	}
	return cases
}

// Sums along a chain of hosts have the bits of the sum in the order of ranks.
func TestChainsOfHosts(t *testing.T) {
	for i, c := range chainCases() {
		if testing.Short() && i%4 != 1 {
			continue
		}
		sums := c.sums()
		size := c.hosts * c.each
		fabrics := map[string]*comm.Fabric{"shm": process.NewHosts(size, c.each)}
		if size == 4 {
			fabrics["piped"] = process.NewPiped(size, hostsOf(size, c.each), 0, pipe)
		}
		for name, f := range fabrics {
			onRanks(f, func(g *comm.Group) {
				if err := c.run(t.Context(), g, sums, func(*comm.Op) {}); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			})
			f.Close()
		}
	}
}

// hostsOf returns the hosts of ranks of which so many are on each.
func hostsOf(size, each int) []int {
	hosts := make([]int, size)
	for r := range hosts {
		hosts[r] = r / each
	}
	return hosts
}

// The others complete a sum whose result one rank cannot have; if it cannot do its part of
// the sum, they learn of it.
func TestChainsOfHostsFail(t *testing.T) {
	full, broken := errors.New("no room"), new(comm.PanicError)
	for _, kind := range []comm.Kind{comm.AllReduce, comm.Reduce, comm.ReduceScatter} {
		c := chainCase{hostLayout{3, 2}, kind, 300001, 2, false}
		sums := c.sums()
		for failing := range 6 {
			if testing.Short() && failing%3 != 1 {
				continue
			}
			for _, panics := range []bool{false, true} {
				f, errs := process.NewHosts(6, 2), make([]error, 6)
				onRanks(f, func(g *comm.Group) {
					errs[g.Rank()] = c.run(t.Context(), g, sums, func(op *comm.Op) {
						switch {
						case g.Rank() != failing:
						case panics:
							op.Fold = &comm.Fold{Bytes: 4, Add: func(_, _ []byte, _ [][]byte) { panic("broken") }, End: func(_, _ []byte, _ [][]byte, _ int) { panic("broken") }}
						default:
							op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return nil, full }
						}
					})
				})
				f.Close()
				for r, err := range errs {
					own := r == failing
					switch {
					case own && panics && !errors.As(err, &broken), own && !panics && !errors.Is(err, full):
						t.Errorf("%v: rank %d fails, panics %v: it got %v", kind, failing, panics, err)
					case !own && !panics && err != nil:
						t.Errorf("%v: without room on rank %d: rank %d: %v", kind, failing, r, err)
					case !own && panics && err != nil && !errors.As(err, new(*comm.PeerError)):
						t.Errorf("%v: a panic on rank %d: rank %d: %v", kind, failing, r, err)
					}
				}
			}
		}
	}
}

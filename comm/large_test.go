package comm_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"tpsh/comm"
)

// Blocks that are moved in pieces, or read from where they are, arrive whole: of
// lengths that are no multiple of a piece, and that differ among the members.
func testLarge(t *testing.T, open func(size int) *comm.Fabric) {
	for _, size := range []int{2, 3} {
		f := open(size)
		errs := make(chan error)
		for r := range size {
			go func() { errs <- largeRank(f.Endpoint(r), size) }()
		}
		for range size {
			if err := <-errs; err != nil {
				t.Errorf("%d ranks: %v", size, err)
			}
		}
		f.Close()
	}
}

func TestLargeFrames(t *testing.T) {
	testLarge(t, func(size int) *comm.Fabric { return comm.NewFrames(size, comm.FrameOptions{}) })
}

func TestLargeTCP(t *testing.T) { testLarge(t, tcp(comm.Credentials{Job: "large"})) }

// largeRank calls what moves large blocks, twice, and compares the results.
func largeRank(e *comm.Endpoint, size int) error {
	world, err := e.Group(ranksTo(size), "")
	if err != nil {
		return err
	}
	for range 2 {
		for _, c := range largeCalls(world.Rank(), size) {
			c.op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return c.out, nil }
			if _, err := world.Run(context.Background(), c.op); err != nil {
				return fmt.Errorf("%s: %w", c.op.Desc.Op, err)
			}
			for i, want := range c.want {
				if !bytes.Equal(c.out[i].Data, want) {
					return fmt.Errorf("%s: block %d of rank %d is wrong", c.op.Desc.Op, i, world.Rank())
				}
			}
		}
	}
	return nil
}

// A largeCall is a call with what must come of it.
type largeCall struct {
	op   *comm.Op
	out  []comm.Block
	want [][]byte
}

// pattern returns bytes that say which rank's block they are of.
func pattern(rank, block, length int) []byte {
	b := make([]byte, length)
	for i := range b {
		b[i] = byte(i*(i>>9+3)) + byte(rank*31+block*7)
	}
	return b
}

// largeLen is the length of a block of a rank for another.
func largeLen(from, to int) int { return 1<<20 + 4<<20*(from%2) + 4*(1000*from+77*to) }

// largeCalls returns the calls of a rank.
func largeCalls(rank, size int) []largeCall {
	const length = 1<<20 + 52
	desc := func(name, reduce string, root int) comm.Desc {
		return comm.Desc{Op: name, Free: -1, Root: root, Reduce: reduce, Dims: [2]int{-1, -1}}
	}
	blank := func(want [][]byte) (out []comm.Block) {
		for _, w := range want {
			out = append(out, comm.Whole(make([]byte, len(w))))
		}
		return out
	}
	var each, sums, toAll, theirs [][]byte
	total, part := make([]byte, length), make([]byte, length)
	for r := range size {
		each = append(each, pattern(r, 0, largeLen(r, 0)))
		toAll = append(toAll, pattern(rank, r, largeLen(rank, r)))
		theirs = append(theirs, pattern(r, rank, largeLen(r, rank)))
		sums = append(sums, pattern(rank, r, length))
		for i, x := range pattern(r, 0, length) {
			total[i] += x
		}
		for i, x := range pattern(r, rank, length) {
			part[i] += x
		}
	}
	blocks := func(list [][]byte) (in []comm.Block) {
		for _, b := range list {
			in = append(in, comm.Whole(b))
		}
		return in
	}
	calls := []largeCall{
		{op: &comm.Op{Desc: desc("all_gather", "", -1), Kind: comm.AllGather, In: blocks(each[rank : rank+1])}, want: each},
		{op: &comm.Op{Desc: desc("all_to_all", "", -1), Kind: comm.AllToAll, In: blocks(toAll)}, want: theirs},
		{op: &comm.Op{Desc: desc("all_reduce", "sum", -1), Kind: comm.AllReduce, In: blocks([][]byte{pattern(rank, 0, length)})}, want: [][]byte{total}},
		{op: &comm.Op{Desc: desc("reduce_scatter", "sum", -1), Kind: comm.ReduceScatter, In: blocks(sums)}, want: [][]byte{part}},
	}
	broadcast := largeCall{op: &comm.Op{Desc: desc("broadcast", "", 1), Kind: comm.Broadcast}, want: [][]byte{pattern(1, 0, 5<<20)}}
	if rank == 1 {
		broadcast.op.In = blocks([][]byte{pattern(1, 0, 5<<20)})
	}
	reduce := largeCall{op: &comm.Op{Desc: desc("reduce", "sum", 0), Kind: comm.Reduce, In: blocks([][]byte{pattern(rank, 0, length)})}}
	if rank == 0 {
		reduce.want = [][]byte{total}
	}
	calls = append(calls, broadcast, reduce)
	for i := range calls {
		c := &calls[i]
		c.op.Align, c.op.Reduce, c.out = 4, sumBytes, blank(c.want)
	}
	return calls
}

// sumBytes adds bytes.
func sumBytes(dst []byte, srcs [][]byte) {
	copy(dst, srcs[0])
	for _, src := range srcs[1:] {
		for i, x := range src {
			dst[i] += x
		}
	}
}

func ranksTo(size int) (ranks []int) {
	for r := range size {
		ranks = append(ranks, r)
	}
	return ranks
}

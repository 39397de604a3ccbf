package process_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"tpsh/comm"
	"tpsh/comm/bootstrap"
	"tpsh/comm/process"
)

// A largeShape says how blocks are that go in pieces, or are read from where they
// are.
type largeShape struct {
	bytes int // of the shortest
	width int // of rows that are apart, a multiple of 4; 0 for blocks that are one run
}

var largeShapes = map[string]largeShape{
	"long":        {1 << 20, 0},
	"short":       {48 << 10, 0}, // a staging buffer holds some of them, others are exposed
	"wide rows":   {200 << 10, 6000},
	"narrow rows": {200 << 10, 300},
}

// Blocks that are moved in pieces, or read from where they are, arrive whole: of
// lengths that are no multiple of a piece, and that differ among the members.
func testLarge(t *testing.T, open func(size int) *comm.Fabric) {
	t.Parallel()
	testLargeOf(t, open, 2, 3)
}

// testLargeOf is testLarge on fabrics of these sizes.
func testLargeOf(t *testing.T, open func(size int) *comm.Fabric, sizes ...int) {
	for name, shape := range largeShapes {
		for _, size := range sizes {
			shape := shape
			if testing.Short() {
				shape.bytes = min(shape.bytes, 256<<10)
			} else if size > 3 { // the longest are still of several pieces, on any way
				shape.bytes = min(shape.bytes, 600<<10)
			}
			f := open(size)
			errs, contents := make(chan error), &largeContents{}
			for r := range size {
				go func() { errs <- largeRank(f.Endpoint(r), size, shape, contents, 2) }()
			}
			for range size {
				if err := <-errs; err != nil {
					t.Errorf("%s, %d ranks: %v", name, size, err)
				}
			}
			f.Close()
		}
	}
}

func TestLargeFrames(t *testing.T) {
	testLarge(t, func(size int) *comm.Fabric { return process.NewFrames(size, process.FrameOptions{}) })
}

func TestLargeTCP(t *testing.T) {
	testLarge(t, tcp(bootstrap.Credentials{Job: "large", Timeout: patience}))
}

// largeRank calls what moves large blocks, so many times, and compares the
// results.
func largeRank(e *comm.Endpoint, size int, shape largeShape, contents *largeContents, rounds int) error {
	world, err := e.Group(ranksTo(size), "")
	if err != nil {
		return err
	}
	calls := shape.calls(world.Rank(), size, contents)
	for range rounds {
		for _, c := range calls {
			out := c.out
			for _, b := range out {
				clear(b.Data)
			}
			c.op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return out, nil }
			if _, err := world.Run(context.Background(), c.op); err != nil {
				return fmt.Errorf("%s: %w", c.op.Desc.Op, err)
			}
			for i, want := range c.want {
				if !holds(out[i], want) {
					return fmt.Errorf("%s: block %d of rank %d is wrong", c.op.Desc.Op, i, world.Rank())
				}
			}
		}
	}
	return nil
}

// holds reports whether the bytes of b are those of want.
func holds(b comm.Block, want []byte) bool {
	if b.Len() != len(want) {
		return false
	}
	for at := 0; at < len(want); {
		run := b.Run(at, len(want))
		if !bytes.Equal(run, want[at:][:len(run)]) {
			return false
		}
		at += len(run)
	}
	return true
}

// A largeCall is a call with what must come of it, and where that comes to.
type largeCall struct {
	op   *comm.Op
	want [][]byte
	out  []comm.Block
}

// largeContents are the bytes of blocks, made once for all ranks. Nobody changes them.
type largeContents struct {
	mu   sync.Mutex
	made map[[3]int][]byte
}

// sumOfAll stands for all ranks together.
const sumOfAll = -1

// of returns what a rank's block of a length holds.
func (c *largeContents) of(rank, block, length int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.make(rank, block, length, 0)
}

// sum returns the sum of what that block holds on each of so many ranks.
func (c *largeContents) sum(size, block, length int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.make(sumOfAll, block, length, size)
}

// make makes what is not there yet. The caller holds mu.
func (c *largeContents) make(rank, block, length, size int) []byte {
	key := [3]int{rank, block, length}
	b := c.made[key]
	switch {
	case b != nil:
		return b
	case rank == sumOfAll:
		b = make([]byte, length)
		for r := range size {
			addBytes(b, c.make(r, block, length, 0))
		}
	default:
		b = pattern(rank, block, length)
	}
	if c.made == nil {
		c.made = map[[3]int][]byte{}
	}
	c.made[key] = b
	return b
}

// pattern returns bytes that say which rank's block they are of. They are nobody else's yet,
// and telling the race detector of each takes it longer than all that is tested.
//
//go:norace
func pattern(rank, block, length int) []byte {
	const period = 1 << 17 // of what is added
	b := make([]byte, length)
	for i := range b[:min(period, length)] {
		b[i] = byte(i*(i>>9+3)) + byte(rank*31+block*7)
	}
	for n := period; n < length; n *= 2 {
		copy(b[n:], b[:n])
	}
	return b
}

// unit is what lengths are multiples of.
func (s largeShape) unit() int { return max(4, s.width) }

// whole returns n rounded up to rows.
func (s largeShape) whole(n int) int { return (n + s.unit() - 1) / s.unit() * s.unit() }

// length is the length of a block of a rank for another.
func (s largeShape) length(from, to int) int {
	return s.whole(s.bytes+2*s.bytes*(from%2)) + s.unit()*(10*from+7*to)
}

// blocks returns blocks with the bytes of list.
func (s largeShape) blocks(list [][]byte) (in []comm.Block) {
	for _, b := range list {
		block := comm.Whole(bytes.Clone(b))
		if s.width > 0 {
			rows, pitch := len(b)/s.width, s.width+12
			block = comm.Block{Data: make([]byte, rows*pitch), Rows: rows, Width: s.width, Pitch: pitch}
			comm.Copy(block, comm.Whole(b))
		}
		in = append(in, block)
	}
	return in
}

// calls returns the calls of a rank.
func (s largeShape) calls(rank, size int, contents *largeContents) []largeCall {
	pattern := contents.of
	length := s.whole(s.bytes + 52)
	desc := func(name, reduce string, root int) comm.Desc {
		return comm.Desc{Op: name, Free: -1, Root: root, Reduce: reduce, Dims: [2]int{-1, -1}}
	}
	var each, sums, toAll, theirs [][]byte
	total, part := contents.sum(size, 0, length), contents.sum(size, rank, length)
	for r := range size {
		each = append(each, pattern(r, 0, s.length(r, 0)))
		toAll = append(toAll, pattern(rank, r, s.length(rank, r)))
		theirs = append(theirs, pattern(r, rank, s.length(r, rank)))
		sums = append(sums, pattern(rank, r, length))
	}
	blocks := s.blocks
	calls := []largeCall{
		{op: &comm.Op{Desc: desc("all_gather", "", -1), Kind: comm.AllGather, In: blocks(each[rank : rank+1])}, want: each},
		{op: &comm.Op{Desc: desc("all_to_all", "", -1), Kind: comm.AllToAll, In: blocks(toAll)}, want: theirs},
		{op: &comm.Op{Desc: desc("all_reduce", "sum", -1), Kind: comm.AllReduce, In: blocks([][]byte{pattern(rank, 0, length)})}, want: [][]byte{total}},
		{op: &comm.Op{Desc: desc("reduce_scatter", "sum", -1), Kind: comm.ReduceScatter, In: blocks(sums)}, want: [][]byte{part}},
	}
	broadcast := largeCall{op: &comm.Op{Desc: desc("broadcast", "", 1), Kind: comm.Broadcast}, want: [][]byte{pattern(1, 0, s.length(1, 0))}}
	if rank == 1 {
		broadcast.op.In = blocks([][]byte{pattern(1, 0, s.length(1, 0))})
	}
	reduce := largeCall{op: &comm.Op{Desc: desc("reduce", "sum", 0), Kind: comm.Reduce, In: blocks([][]byte{pattern(rank, 0, length)})}}
	if rank == 0 {
		reduce.want = [][]byte{total}
	}
	scatter := largeCall{op: &comm.Op{Desc: desc("scatter", "", 1), Kind: comm.Scatter}, want: [][]byte{pattern(1, rank, s.length(1, rank))}}
	if rank == 1 {
		scatter.op.In = blocks(toAll)
	}
	gather := largeCall{op: &comm.Op{Desc: desc("gather", "", 0), Kind: comm.Gather, In: blocks(each[rank : rank+1])}}
	if rank == 0 {
		gather.want = each
	}
	permute := largeCall{op: &comm.Op{Desc: desc("permute", "", -1), Kind: comm.Permute, In: blocks(each[rank : rank+1])}, want: each[1-min(rank, 1):][:1]}
	permute.op.Desc.Pairs = [][2]int{{0, 1}, {1, 0}}
	if rank > 1 {
		permute.want = nil
	}
	calls = append(calls, broadcast, reduce, scatter, gather, permute)
	for i := range calls {
		calls[i].op.Align, calls[i].op.Reduce, calls[i].op.Fold = 4, sumBytes, foldBytes
		calls[i].out = blocks(calls[i].want)
	}
	return calls
}

// addBytes adds src to dst. Like pattern it is for bytes of one goroutine.
//
//go:norace
func addBytes(dst, src []byte) {
	for i, x := range src {
		dst[i] += x
	}
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

// foldBytes is the Fold of sumBytes on elements of 4 bytes, for which 8 stand meanwhile.
var foldBytes = &comm.Fold{
	Bytes: 8,
	Add: func(dst, acc []byte, srcs [][]byte) {
		for i := range srcs[0] {
			sum := byte(0)
			if acc != nil {
				sum = acc[2*i]
			}
			for _, src := range srcs {
				sum += src[i]
			}
			dst[2*i], dst[2*i+1] = sum, ^sum
		}
	},
	End: func(dst, acc []byte, srcs [][]byte, _ int) {
		sumBytes(dst, srcs)
		for i := range dst {
			if acc != nil {
				dst[i] += acc[2*i]
			}
		}
	},
}

func ranksTo(size int) (ranks []int) {
	for r := range size {
		ranks = append(ranks, r)
	}
	return ranks
}

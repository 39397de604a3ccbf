package commtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync/atomic"
	"testing"

	"tpsh/comm"
)

// A trial is one collective on a group, with the blocks that every member offers and
// those that it is to get.
type trial struct {
	kind    comm.Kind
	size    int
	root    int
	pairs   [][2]int
	strided bool
	in      [][][]byte // by member and block; nil where a member offers nothing
	want    [][][]byte // likewise
}

// lengths are the numbers of elements in the blocks of a member: equal, uneven
// with an empty one, all empty, and enough to be cut into chunks.
var lengths = map[string]func(i int) int{
	"one":    func(int) int { return 1 },
	"even":   func(int) int { return 6 },
	"uneven": func(i int) int { return 4 * (2 - i%3) },
	"empty":  func(int) int { return 0 },
	"large":  func(int) int { return 9000 },
}

// testHuge has calls follow each other on two groups whose blocks are longer
// than the part that a transport may hold of them at a time.
func testHuge(t *testing.T, open Opener) {
	const size = 3
	huge := func(i int) int { return 150000 + i }
	var trials []*trial
	for i, k := range kinds {
		trials = append(trials, newTrial(k, size, 1, huge, i%2 == 1), newTrial(k, size, 1, lengths["large"], false))
	}
	succeed(t, runRanks(t, open, size, func(r *rank) error {
		groups := []*comm.Group{r.world, r.group([]int{2, 0, 1}, "")}
		for i, tr := range trials {
			if err := tr.run(r, groups[i/2%2]); err != nil {
				return fmt.Errorf("%s: %w", tr.kind.String(), err)
			}
		}
		return nil
	}))
}

// testCollectives compares every kind of collective with its definition, at
// several sizes, roots and lengths. Tests that are to be short, as those under the race
// detector, leave out sizes and roots that have the same goroutines as others.
func testCollectives(t *testing.T, open Opener) {
	sizes := []int{1, 2, 3, 4, 5}
	if testing.Short() {
		sizes = []int{1, 3, 4}
	}
	for _, size := range sizes {
		for name, length := range lengths {
			t.Run(fmt.Sprintf("%d/%s", size, name), func(t *testing.T) {
				var trials []*trial
				for _, k := range kinds {
					roots := 1
					if k.Rooted() {
						roots = size
					}
					for root := range roots {
						if testing.Short() && 0 < root && root < size-1 {
							continue
						}
						trials = append(trials, newTrial(k, size, root, length, false), newTrial(k, size, root, length, true))
					}
				}
				succeed(t, runRanks(t, open, size, func(r *rank) error {
					for _, tr := range trials {
						if err := tr.run(r, r.world); err != nil {
							return fmt.Errorf("%s, root %d: %w", tr.kind.String(), tr.root, err)
						}
					}
					return nil
				}))
			})
		}
	}
}

func newTrial(k comm.Kind, size, root int, length func(int) int, strided bool) *trial {
	tr := &trial{kind: k, size: size, root: root, strided: strided}
	if k.Paired() {
		for r := 0; r+1 < size; r++ { // along a line, and the first to itself
			tr.pairs = append(tr.pairs, [2]int{r, r + 1})
		}
		tr.pairs = append(tr.pairs, [2]int{0, 0})
	}
	tr.in = tr.inputs(length)
	tr.want = make([][][]byte, size)
	for r := range size {
		tr.want[r] = tr.results(r)
	}
	return tr
}

// inputs returns the blocks that the members offer. They are as long as each other where
// the kind asks for it.
func (tr *trial) inputs(length func(int) int) [][][]byte {
	in := make([][][]byte, tr.size)
	for r := range in {
		n := tr.kind.Ins(r, tr.size, tr.root, tr.pairs)
		for block := range n {
			elements := length(block)
			if n == 1 && !tr.kind.Even() {
				elements = length(r)
			}
			in[r] = append(in[r], pattern(r, block, elements))
		}
	}
	return in
}

// pattern returns n numbers that tell where they are from.
func pattern(rank, block, n int) []byte {
	const period = 997
	b := make([]byte, 4*n)
	for i := range min(n, period) {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(float32(10000*rank+1000*block+i)))
	}
	for at := 4 * period; at < len(b); at *= 2 {
		copy(b[at:], b[:at])
	}
	return b
}

// results returns the blocks that member r is to get, by the definition of the kind.
func (tr *trial) results(r int) [][]byte {
	var out [][]byte
	for _, sources := range tr.kind.Outs(r, tr.size, tr.root, tr.pairs) {
		var blocks [][]byte
		for _, s := range sources {
			blocks = append(blocks, tr.in[s.Member][s.Block])
		}
		if len(blocks) > 1 {
			blocks[0] = reduced(blocks)
		}
		out = append(out, blocks[0])
	}
	return out
}

func reduced(blocks [][]byte) []byte {
	sum := make([]byte, len(blocks[0]))
	SumFloat32(sum, blocks)
	return sum
}

// op returns a member's call, and where its results will be.
func (tr *trial) op(member int) (*comm.Op, []comm.Block) {
	d := desc(tr.kind.String())
	if tr.kind != comm.Barrier {
		d.DType, d.Shape = "float32", []int{1}
	}
	if tr.kind.Rooted() {
		d.Root = tr.root
	}
	d.Pairs = tr.pairs
	op := &comm.Op{Desc: d, Kind: tr.kind, Align: 4, Reduce: SumFloat32}
	for _, b := range tr.in[member] {
		op.In = append(op.In, tr.block(b))
	}
	var out []comm.Block
	for _, b := range tr.want[member] {
		block := tr.block(b)
		fill(block.Data)
		out = append(out, block)
	}
	op.Prepare = into(out...)
	return op, out
}

// fill overwrites b.
func fill(b []byte) {
	for i := range b {
		b[i] = 0xff
	}
}

// block returns a copy of b, in rows of two elements with gaps between them if
// the trial is strided and there are rows to make.
func (tr *trial) block(b []byte) comm.Block {
	const width, pitch = 8, 20
	if !tr.strided || len(b) == 0 || len(b)%width != 0 {
		return comm.Whole(slices.Clone(b))
	}
	rows := len(b) / width
	block := comm.Block{Data: make([]byte, (rows-1)*pitch+width), Rows: rows, Width: width, Pitch: pitch}
	comm.Copy(block, comm.Whole(b))
	return block
}

// run does the collective on a group and compares the results.
func (tr *trial) run(r *rank, g *comm.Group) error {
	op, out := tr.op(g.Rank())
	if _, err := g.Run(r.ctx, op); err != nil {
		return err
	}
	return tr.compare(g.Rank(), op, out)
}

// compare compares the results of a member, and its inputs, with the blocks that they
// should be.
func (tr *trial) compare(member int, op *comm.Op, out []comm.Block) error {
	for i, b := range out {
		if got, want := contents(b), tr.want[member][i]; !bytes.Equal(got, want) {
			return fmt.Errorf("result %d: got %v, want %v", i, brief(got), brief(want))
		}
	}
	for i, b := range op.In {
		if !bytes.Equal(contents(b), tr.in[member][i]) {
			return fmt.Errorf("block %d of the input has changed", i)
		}
	}
	return nil
}

// contents returns the bytes of b in one piece.
func contents(b comm.Block) []byte {
	if b.Contiguous() {
		return b.Data[:b.Len()]
	}
	whole := make([]byte, b.Len())
	comm.Copy(comm.Whole(whole), b)
	return whole
}

func brief(b []byte) []byte { return b[:min(len(b), 40)] }

// testRounding checks that sums add in the order of the group, whatever the
// length: (1e8 - 1e8) + 1 is 1 in float32, and in any other order 0 or 2.
func testRounding(t *testing.T, open Opener) {
	succeed(t, runRanks(t, open, 3, func(r *rank) error {
		for _, ranks := range [][]int{{0, 1, 2}, {2, 0, 1}} {
			for _, n := range []int{1, 50, 5000, 50000} {
				g := r.group(ranks, "")
				x := []float32{1e8, -1e8, 1}[g.Rank()]
				op, out := allReduce(bytes.Repeat(floats(x), n))
				if _, err := g.Run(r.ctx, op); err != nil {
					return err
				}
				if i := differs(out, bytes.Repeat(floats(1), n)); i >= 0 {
					return fmt.Errorf("group %v, element %d of %d: got %v, want 1", ranks, i/4, n, float32At(out, i/4*4))
				}
			}
		}
		return nil
	}))
}

// differs returns the first index at which a and b, which are as long, differ, or -1.
func differs(a, b []byte) int {
	if bytes.Equal(a, b) {
		return -1
	}
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// testMembers checks the contracts and Meta that members learn of each other.
func testMembers(t *testing.T, open Opener) {
	const size = 4
	succeed(t, runRanks(t, open, size, func(r *rank) error {
		tr := newTrial(comm.AllGather, size, 0, func(i int) int { return i }, false)
		op, out := tr.op(r.Rank())
		op.Desc.Shape, op.Desc.Free = []int{r.Rank()}, 0
		op.Desc.Flags = []comm.Flags{0, comm.RequiresGrad, 0, comm.Output}[r.Rank()]
		op.Meta = []byte{byte(10 + r.Rank())}
		const union = comm.RequiresGrad | comm.Output
		op.Prepare = func(members []comm.Member, flags comm.Flags) ([]comm.Block, error) {
			if flags != union || len(members) != size {
				return nil, fmt.Errorf("got flags %b of %d members, want %b of %d", flags, len(members), union, size)
			}
			for i, m := range members {
				if m.Free != i || !bytes.Equal(m.Meta, []byte{byte(10 + i)}) {
					return nil, fmt.Errorf("member %d: got %v", i, m)
				}
			}
			return out, nil
		}
		result, err := r.world.Run(r.ctx, op)
		if err != nil {
			return err
		}
		if want := 3 * 4 * r.Rank(); result.Flags != union || result.Wire != want {
			return fmt.Errorf("got %+v, want flags %b and %d bytes", result, union, want)
		}
		return tr.compare(r.Rank(), op, out)
	}))
}

var errPrepare = errors.New("no room")

// testPrepareFails checks that the others complete a call whose results one
// member cannot have; in tests that are to be short the first or the last.
func testPrepareFails(t *testing.T, open Opener) {
	const size = 3
	for _, k := range kinds {
		for _, length := range []string{"even", "large"} {
			tr := newTrial(k, size, 0, lengths[length], false)
			succeed(t, runRanks(t, open, size, func(r *rank) error {
				for failing := range size {
					if testing.Short() && 0 < failing && failing < size-1 {
						continue
					}
					if err := r.prepareFails(tr, failing); err != nil {
						return fmt.Errorf("%s, %s, without room on rank %d: %w", k.String(), length, failing, err)
					}
				}
				return nil
			}))
		}
	}
}

// prepareFails does the rank's part of a trial whose results one cannot have, and of a call
// after it.
func (r *rank) prepareFails(tr *trial, failing int) error {
	op, out := tr.op(r.Rank())
	if r.Rank() == failing {
		op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return nil, errPrepare }
		if _, err := r.world.Run(r.ctx, op); err != errPrepare {
			return fmt.Errorf("got %v, want the error of Prepare", err)
		}
	} else if _, err := r.world.Run(r.ctx, op); err != nil {
		return err
	} else if err := tr.compare(r.Rank(), op, out); err != nil {
		return err
	}
	return r.barrier(r.world)
}

// testPanics checks that a panic of a function that came with a call is an
// error there, and that nobody waits for work that was not done. A reduction that
// another member has made for all panics nowhere.
func testPanics(t *testing.T, open Opener) {
	for name, length := range map[string]func(int) int{"small": lengths["one"], "large": lengths["large"]} {
		for _, where := range []string{"Prepare", "Reduce"} {
			var called atomic.Bool
			errs := runRanks(t, open, 3, func(r *rank) error {
				op, _ := newTrial(comm.AllReduce, 3, 0, length, false).op(r.Rank())
				if r.Rank() == 1 && where == "Prepare" {
					op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { called.Store(true); panic("broken") }
				} else if r.Rank() == 1 {
					op.Reduce = func([]byte, [][]byte) { called.Store(true); panic("broken") }
				}
				_, err := r.world.Run(r.ctx, op)
				return err
			})
			var bad *comm.PanicError
			if !called.Load() && name == "small" && where == "Reduce" {
				if err := errors.Join(errs...); err != nil {
					t.Errorf("%s, %s by another: got %v, want no error", name, where, err)
				}
				continue
			}
			if !errors.As(errs[1], &bad) || bad.Value != "broken" || bad.Func != "all_reduce" {
				t.Errorf("%s, %s: got %v, want a panic", name, where, errs[1])
			}
			for _, rank := range []int{0, 2} {
				var peer *comm.PeerError
				failed := errors.As(errs[rank], &peer) && peer.Rank == 1
				if want := name == "large" && where == "Reduce"; failed != want {
					t.Errorf("%s, %s: rank %d: got %v, want a failure: %v", name, where, rank, errs[rank], want)
				}
			}
		}
	}
}

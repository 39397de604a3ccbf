package inproc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"tpsh/comm"
	"tpsh/comm/commtest"
	"tpsh/comm/inproc"
)

// A sharer is the comm.Sharer of a test: its results are slices of bytes, of which
// out is a block of some rows in a buffer that has more columns.
type sharer struct {
	least  int
	widths []int // of the blocks of the result, in bytes; rows are rows
	rows   int
	made   *atomic.Int32
	fail   error // of Make
	refuse error // of Take

	own    [][]byte // of a result that this member has made for itself
	result [][]byte // the member's
}

func (s *sharer) Least() int { return s.least }

func (s *sharer) blocks() (list [][]byte, blocks []comm.Block) {
	for _, w := range s.widths {
		data := make([]byte, s.rows*(w+3))
		list = append(list, data)
		blocks = append(blocks, comm.Block{Data: data, Rows: s.rows, Width: w, Pitch: w + 3})
	}
	return list, blocks
}

func (s *sharer) Make([]comm.Member, comm.Flags) ([]comm.Block, any, error) {
	if s.fail != nil {
		return nil, nil, s.fail
	}
	s.made.Add(1)
	list, blocks := s.blocks()
	return blocks, list, nil
}

func (s *sharer) Take(_ []comm.Member, _ comm.Flags, result any) error {
	if s.refuse != nil {
		return s.refuse
	}
	s.result = result.([][]byte)
	return nil
}

func (s *sharer) prepare([]comm.Member, comm.Flags) ([]comm.Block, error) {
	list, blocks := s.blocks()
	s.own, s.result = list, list
	return blocks, nil
}

// bytes returns what the member's result holds, block after block.
func (s *sharer) bytes() []byte {
	var all []byte
	for i, w := range s.widths {
		for row := range s.rows {
			all = append(all, s.result[i][row*(w+3):][:w]...)
		}
	}
	return all
}

// A shareCase is a call that members make alike, each with rows of random bytes.
type shareCase struct {
	kind   comm.Kind
	root   int
	rows   int
	widths []int // by member
	in     [][]byte
}

func drawShareCase(t *rapid.T, n int) *shareCase {
	c := &shareCase{
		kind: rapid.SampledFrom([]comm.Kind{comm.AllReduce, comm.AllGather, comm.Broadcast}).Draw(t, "kind"),
		root: rapid.IntRange(0, n-1).Draw(t, "root"),
		rows: rapid.SampledFrom([]int{1, 2, 7, 100}).Draw(t, "rows"),
	}
	width := 4 * rapid.SampledFrom([]int{1, 2, 15, 600, 6000}).Draw(t, "width")
	seed := uint32(rapid.Uint32().Draw(t, "seed"))
	for range n {
		w := width
		if c.kind == comm.AllGather {
			w += 4 * rapid.IntRange(0, 3).Draw(t, "more")
		}
		data := make([]byte, c.rows*w)
		for i := range data {
			seed = seed*1664525 + 1013904223
			data[i] = byte(seed>>24) & 0x3f // floats that are no NaN
		}
		c.widths, c.in = append(c.widths, w), append(c.in, data)
	}
	return c
}

// op returns the call of member r, and what makes its result.
func (c *shareCase) op(r, least int, made *atomic.Int32) (*comm.Op, *sharer) {
	s := &sharer{least: least, rows: c.rows, widths: c.widths[:1], made: made}
	o := &comm.Op{Kind: c.kind, Align: 4, Reduce: commtest.SumFloat32, In: []comm.Block{comm.Whole(c.in[r])}, Prepare: s.prepare, Share: s}
	o.Desc = comm.Desc{Op: "test", DType: "float32", Shape: []int{c.rows, c.widths[r] / 4}, Free: -1, Root: -1, Dims: [2]int{-1, -1}}
	switch c.kind {
	case comm.AllGather:
		o.Desc.Free, s.widths = 1, c.widths
	case comm.Broadcast:
		o.Desc.Root = c.root
	}
	return o, s
}

// want returns the bytes of the result.
func (c *shareCase) want() []byte {
	switch c.kind {
	case comm.AllGather:
		return bytes.Join(c.in, nil)
	case comm.Broadcast:
		return c.in[c.root]
	}
	sum := make([]byte, len(c.in[0]))
	commtest.SumFloat32(sum, c.in)
	return sum
}

// Members that share a result have one, with the bits of one that each makes for
// itself; a result that is small, or of a call that somebody issues otherwise, is
// each member's own.
func TestCommonResults(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "ranks")
		c := drawShareCase(t, n)
		want := c.want()
		least := rapid.SampledFrom([]int{1, len(want), len(want) + 1}).Draw(t, "least")
		alone := rapid.IntRange(-3, n-1).Draw(t, "without")   // a member that shares nothing
		failing := rapid.IntRange(-3, n-1).Draw(t, "failing") // one that does not take it
		async := rapid.IntRange(-3, n-1).Draw(t, "async")
		full := rapid.IntRange(0, 3).Draw(t, "full") == 0 // nobody can make it
		var made atomic.Int32
		sharers := make([]*sharer, n)
		refused := errors.New("refused")
		f := inproc.New(n)
		defer f.Close()
		errs := make([]error, n)
		onRanks(f, func(g *comm.Group) {
			r := g.Rank()
			o, s := c.op(r, least, &made)
			sharers[r] = s
			if full {
				s.fail = errors.New("full")
			}
			if r == failing {
				s.refuse = refused
			}
			if r == alone {
				o.Share = nil
			}
			if r == async {
				_, errs[r] = g.Issue(o).Wait(context.Background())
			} else {
				_, errs[r] = g.Run(context.Background(), o)
			}
		})
		shares := alone < 0 && !full && len(want) >= least
		if got := made.Load() == 1; got != shares {
			t.Fatalf("%d results for all were made, want one: %v", made.Load(), shares)
		}
		for r, s := range sharers {
			if shares && r == failing {
				if errs[r] != refused {
					t.Fatalf("rank %d: got error %v, want its own", r, errs[r])
				}
				continue
			}
			if errs[r] != nil {
				t.Fatalf("rank %d: %v", r, errs[r])
			}
			if (s.own == nil) != shares {
				t.Fatalf("rank %d: has made a result for itself: %v, want %v", r, s.own != nil, !shares)
			}
			if !bytes.Equal(s.bytes(), want) {
				t.Fatalf("rank %d: kind %d: the result differs", r, c.kind)
			}
		}
	})
}

// Where a part of a common result cannot be made, every member learns it.
func TestCommonResultFails(t *testing.T) {
	for n := 2; n < 5; n++ {
		f := inproc.New(n)
		errs := make([]error, n)
		var made atomic.Int32
		onRanks(f, func(g *comm.Group) {
			c := &shareCase{kind: comm.AllReduce, rows: 1, widths: []int{1 << 20}, in: make([][]byte, n)}
			for r := range n {
				c.in[r] = make([]byte, 1<<20)
			}
			c.widths = []int{1 << 20, 1 << 20, 1 << 20, 1 << 20}
			o, _ := c.op(g.Rank(), 1, &made)
			o.Reduce = func([]byte, [][]byte) { panic(fmt.Sprint("no sum")) }
			_, errs[g.Rank()] = g.Run(context.Background(), o)
			barrier(t, g)
		})
		f.Close()
		for r, err := range errs {
			var own *comm.PanicError
			var peer *comm.PeerError
			if !errors.As(err, &own) && !errors.As(err, &peer) {
				t.Errorf("%d ranks: rank %d: got %v, want a panic or a failed peer", n, r, err)
			}
		}
	}
}

// A member that leaves a call does its part for the others all the same.
func TestCommonResultWithoutCaller(t *testing.T) {
	const n = 3
	f := inproc.New(n)
	defer f.Close()
	var made atomic.Int32
	gone := make(chan struct{})
	onRanks(f, func(g *comm.Group) {
		c := &shareCase{kind: comm.AllReduce, rows: 1, widths: make([]int, n), in: make([][]byte, n)}
		for r := range n {
			c.widths[r], c.in[r] = 1<<20, bytes.Repeat([]byte{1, 2, 3, 4}, 1<<18)
		}
		o, s := c.op(g.Rank(), 1, &made)
		switch g.Rank() {
		case 0:
			ctx, cancel := context.WithCancelCause(context.Background())
			cause := errors.New("had enough")
			cancel(cause)
			if _, err := g.Run(ctx, o); err != cause {
				t.Errorf("rank 0: got %v, want the cause of its context", err)
			}
			close(gone)
			return
		case 1:
			<-gone
		}
		if _, err := g.Run(context.Background(), o); err != nil {
			t.Errorf("rank %d: %v", g.Rank(), err)
		} else if !bytes.Equal(s.bytes(), c.want()) {
			t.Errorf("rank %d: the result differs", g.Rank())
		}
	})
}

// barrier runs a barrier.
func barrier(t testing.TB, g *comm.Group) {
	o := &comm.Op{Kind: comm.Barrier, Desc: comm.Desc{Op: "barrier", Free: -1, Root: -1, Dims: [2]int{-1, -1}}}
	if _, err := g.Run(context.Background(), o); err != nil {
		t.Errorf("rank %d: barrier: %v", g.Rank(), err)
	}
}

// onRanks runs f on the world of every rank, and returns when all have ended.
func onRanks(f *comm.Fabric, run func(world *comm.Group)) {
	ranks := make([]int, f.Size())
	for r := range ranks {
		ranks[r] = r
	}
	var wg sync.WaitGroup
	for r := range ranks {
		wg.Go(func() {
			world, err := f.Endpoint(r).Group(ranks, "")
			if err != nil {
				panic(err)
			}
			run(world)
		})
	}
	wg.Wait()
}

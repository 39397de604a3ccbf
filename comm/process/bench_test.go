package process_test

import (
	"fmt"
	"sync"
	"testing"
	"unsafe"

	"tpsh/comm"
	"tpsh/comm/commtest"
	"tpsh/comm/inproc"
	"tpsh/comm/process"
)

// transports are the transports that are measured.
var transports = []struct {
	name string
	open commtest.Opener
}{
	{"inproc", inproc.New},
	{"frames", frames(process.FrameOptions{})},
}

// BenchmarkAllReduce measures sums of float32. A call is one that every rank
// makes; MB/s count the bytes that each puts in.
func BenchmarkAllReduce(b *testing.B) {
	for _, t := range transports {
		for _, ranks := range []int{2, 4, 8} {
			for _, size := range []int{8, 1 << 10, 64 << 10, 64 << 20} {
				if size == 64<<20 && (t.name == "frames" || ranks > 4) {
					continue // as slow as memory, and no more is learned
				}
				b.Run(fmt.Sprintf("%s/%d/%d", t.name, ranks, size), func(b *testing.B) {
					b.SetBytes(int64(size))
					benchmarkAllReduce(b, t.open(ranks), size)
				})
			}
		}
	}
}

func benchmarkAllReduce(b *testing.B, f *comm.Fabric, size int) {
	defer f.Close()
	var want float32
	ops, outs := make([]*comm.Op, f.Size()), make([][]float32, f.Size())
	for r := range ops {
		in := make([]float32, size/4)
		for i := range in {
			in[i] = float32(r + i%7)
		}
		outs[r] = make([]float32, size/4)
		ops[r] = allReduce(in, outs[r])
		want += in[len(in)-1]
	}
	b.ReportAllocs()
	b.ResetTimer()
	onRanks(f, func(g *comm.Group) {
		for range b.N {
			if _, err := g.Run(b.Context(), ops[g.Rank()]); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.StopTimer()
	for r, out := range outs {
		if got := out[len(out)-1]; got != want {
			b.Errorf("rank %d: got %v, want %v", r, got, want)
		}
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

func allReduce(in, out []float32) *comm.Op {
	result := []comm.Block{comm.Whole(bytesOf(out))}
	return &comm.Op{
		Desc: comm.Desc{
			Op: "all_reduce", DType: "float32", Shape: []int{len(in)}, Free: -1,
			Reduce: "sum", Root: -1, Dims: [2]int{-1, -1},
		},
		Kind:    comm.AllReduce,
		In:      []comm.Block{comm.Whole(bytesOf(in))},
		Align:   4,
		Prepare: func([]comm.Member, comm.Flags) ([]comm.Block, error) { return result, nil },
		Reduce:  sum,
	}
}

// sum adds float32 in the order given.
func sum(dst []byte, srcs [][]byte) {
	d := floatsOf(dst)
	if len(srcs) == 1 {
		copy(d, floatsOf(srcs[0]))
		return
	}
	x, y := floatsOf(srcs[0])[:len(d)], floatsOf(srcs[1])[:len(d)]
	for i := range d {
		d[i] = x[i] + y[i]
	}
	for _, src := range srcs[2:] {
		x := floatsOf(src)[:len(d)]
		for i := range d {
			d[i] += x[i]
		}
	}
}

func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

func floatsOf(b []byte) []float32 {
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/4)
}

// BenchmarkBarrier measures what a collective costs that moves nothing.
func BenchmarkBarrier(b *testing.B) {
	op := &comm.Op{Desc: comm.Desc{Op: "barrier", Free: -1, Root: -1, Dims: [2]int{-1, -1}}, Kind: comm.Barrier}
	for _, t := range transports {
		for _, ranks := range []int{2, 8} {
			b.Run(fmt.Sprintf("%s/%d", t.name, ranks), func(b *testing.B) {
				f := t.open(ranks)
				defer f.Close()
				b.ReportAllocs()
				onRanks(f, func(g *comm.Group) {
					for range b.N {
						if _, err := g.Run(b.Context(), op); err != nil {
							b.Error(err)
							return
						}
					}
				})
			})
		}
	}
}

// BenchmarkPingPong measures messages that two ranks send each other by turns;
// an operation is one there and one back.
func BenchmarkPingPong(b *testing.B) {
	for _, t := range transports {
		for _, size := range []int{8, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", t.name, size), func(b *testing.B) {
				f := t.open(2)
				defer f.Close()
				b.SetBytes(int64(2 * size))
				onRanks(f, func(g *comm.Group) { pingPong(b, g, size) })
			})
		}
	}
}

// pingPong passes b.N messages there and back, each one byte more.
func pingPong(b *testing.B, g *comm.Group, size int) {
	m := comm.Message{Data: make([]byte, size)}
	peer := 1 - g.Rank()
	for i := range 2 * b.N {
		var err error
		if i%2 == g.Rank() {
			err = g.Send(peer, 0, m, "")
		} else if m, err = g.Recv(b.Context(), peer, 0, nil); err == nil {
			m.Data[0]++
		}
		if err != nil {
			b.Error(err)
			return
		}
	}
	if got, want := m.Data[0], byte(2*b.N-1+g.Rank()); g.Rank() == 0 && got != byte(2*b.N) {
		b.Errorf("got %d, want %d", got, want)
	}
}

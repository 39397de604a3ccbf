package process_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/process"
)

// BenchmarkProcesses measures collectives of ranks in processes of their own.
// A size is that of what every rank puts in, as MPI's benchmarks count it.
func BenchmarkProcesses(b *testing.B) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, kind := range []string{"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "ping_pong"} {
			for _, ranks := range []int{2, 4} {
				for _, size := range []int{8, 1 << 10, 64 << 10, 1 << 20, 16 << 20, 64 << 20} {
					b.Run(fmt.Sprintf("%s/%s/%d/%d", transport, kind, ranks, size), func(b *testing.B) {
						benchmarkProcesses(b, transport, kind, ranks, size)
					})
				}
			}
		}
	}
}

func benchmarkProcesses(b *testing.B, transport, kind string, ranks, size int) {
	c := start(b, transport, ranks, "bench", kind, strconv.Itoa(size), strconv.Itoa(b.N))
	outputs := c.wait(b)
	first, _, _ := strings.Cut(outputs[0], "\n")
	ns, err := strconv.ParseFloat(first, 64)
	if err != nil {
		b.Fatalf("got %q, want a time", outputs)
	}
	b.ReportMetric(ns/float64(b.N), "ns/op")
	b.ReportMetric(float64(size)*float64(b.N)/ns*1e3, "MB/s")
}

// benchRank calls a collective so many times, and writes how long that took.
func benchRank(t *testing.T, w io.Writer, links *process.Links, args []string) {
	size, _ := strconv.Atoi(args[1])
	rounds, _ := strconv.Atoi(args[2])
	f := links.Fabric(0)
	e := f.Endpoint(f.Local()[0])
	world, err := e.Group(ranksOf(f.Size()), "")
	if err != nil {
		t.Fatal(err)
	}
	call := benchCall(world, args[0], size)
	repeat := func(n int, call func() error) {
		for range n {
			if err := call(); err != nil {
				t.Fatal(err)
			}
		}
	}
	barrier := func() error {
		_, err := world.Run(context.Background(), benchBarrier)
		return err
	}
	repeat(min(rounds, 10), call)
	repeat(1, barrier)
	begin := time.Now()
	repeat(rounds, call)
	fmt.Fprintln(w, time.Since(begin).Nanoseconds())
	repeat(1, barrier)
	e.End(nil)
	f.Unreceived()
}

var benchBarrier = &comm.Op{Desc: comm.Desc{Op: "barrier", Free: -1, Root: -1, Dims: [2]int{-1, -1}}, Kind: comm.Barrier}

// benchCall returns what makes one call.
func benchCall(g *comm.Group, kind string, size int) func() error {
	if kind == "ping_pong" {
		return benchPingPong(g, size)
	}
	n := g.Size()
	op := &comm.Op{
		Desc:   comm.Desc{Op: kind, DType: "float32", Shape: []int{size / 4}, Free: -1, Root: -1, Dims: [2]int{-1, -1}},
		Align:  4,
		Reduce: sum,
	}
	parts := func(size int) (list []comm.Block) {
		for range n {
			list = append(list, comm.Whole(bytes.Repeat([]byte{1}, size))) // memory that is there
		}
		return list
	}
	whole := func() []comm.Block { return parts(size)[:1] }
	var out []comm.Block
	switch kind {
	case "all_reduce":
		op.Kind, op.In, out = comm.AllReduce, whole(), whole()
	case "all_gather":
		op.Kind, op.In, out = comm.AllGather, whole(), parts(size)
	case "reduce_scatter":
		op.Kind, op.In, out = comm.ReduceScatter, parts(size/n/4*4), parts(size / n / 4 * 4)[:1]
	case "broadcast":
		op.Kind, op.Desc.Root, out = comm.Broadcast, 0, whole()
		if g.Rank() == 0 {
			op.In = whole()
		}
	case "all_to_all":
		op.Kind, op.In, out = comm.AllToAll, parts(size/n/4*4), parts(size/n/4*4)
	}
	op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return out, nil }
	return func() error {
		_, err := g.Run(context.Background(), op)
		return err
	}
}

// benchPingPong returns what sends a message to the next rank of a pair and
// back.
func benchPingPong(g *comm.Group, size int) func() error {
	m := comm.Message{Data: bytes.Repeat([]byte{1}, size)}
	peer := g.Rank() ^ 1
	return func() (err error) {
		if g.Rank()%2 == 0 {
			var got comm.Message
			if err = g.Send(peer, 0, m, ""); err == nil {
				got, err = g.Recv(context.Background(), peer, 0, nil)
			}
			got.Release()
			return err
		}
		got, err := g.Recv(context.Background(), peer, 0, nil)
		if err != nil {
			return err
		}
		defer got.Release()
		return g.Send(peer, 0, comm.Message{Data: got.Data}, "")
	}
}

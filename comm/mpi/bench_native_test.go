//go:build native && linux

package mpi_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tpsh/comm"
	"tpsh/comm/mpi"
)

// benchScenario times collectives: the arguments are "carried" or "streams", their
// names with commas between, and lengths in bytes. It prints
// the lower quartile of several rounds in microseconds.
func benchScenario(t *testing.T, w *mpi.World, args []string) error {
	l, end, err := links(w, args[0] == "carried")
	if err != nil {
		return err
	}
	world, err := l.Fabric(0).Endpoint(w.Rank()).Group(upTo(w.Size()), "")
	if err != nil {
		return err
	}
	for _, name := range strings.Split(args[1], ",") {
		for _, arg := range args[2:] {
			n, _ := strconv.Atoi(arg)
			took, err := timeCollective(world, benchOp(name, w.Rank(), w.Size(), n), n)
			if err != nil {
				return err
			}
			if w.Rank() == 0 {
				fmt.Printf("%-14s %9d bytes %10.1f us\n", name, n, float64(took.Nanoseconds())/1e3)
			}
		}
	}
	return end()
}

// timeCollective returns the lower quartile of the times of a call.
func timeCollective(g *comm.Group, op *comm.Op, bytes int) (time.Duration, error) {
	calls := min(max(1, 4<<20/max(bytes, 1)), 2000)
	var times []time.Duration
	for range 9 {
		begun := time.Now()
		for range calls {
			if _, err := g.Run(context.Background(), op); err != nil {
				return 0, err
			}
		}
		times = append(times, time.Since(begun)/time.Duration(calls))
	}
	slices.Sort(times)
	return times[len(times)/4], nil
}

// benchOp returns a collective in which a member offers n bytes.
func benchOp(name string, rank, size, n int) *comm.Op {
	op := &comm.Op{Align: 8, Reduce: sumUint64, Desc: comm.Desc{Op: name, DType: "int64", Shape: []int{n / 8}, Free: -1, Root: -1, Dims: [2]int{-1, -1}}}
	in, out := make([]byte, n), make([]byte, n*size)
	var outs []comm.Block
	switch name {
	case "all_reduce":
		op.Kind, op.In, outs = comm.AllReduce, []comm.Block{comm.Whole(in)}, []comm.Block{comm.Whole(out[:n])}
	case "all_gather":
		op.Kind, op.In, outs = comm.AllGather, []comm.Block{comm.Whole(in)}, parts(out, size)
	case "broadcast":
		op.Kind, op.Desc.Root, outs = comm.Broadcast, 0, []comm.Block{comm.Whole(out[:n])}
		if rank == 0 {
			op.In = []comm.Block{comm.Whole(in)}
		}
	case "all_to_all":
		op.Kind, op.In, outs = comm.AllToAll, parts(in, size), parts(out[:n], size)
	case "reduce_scatter":
		op.Kind, op.In, outs = comm.ReduceScatter, parts(in, size), parts(out[:n], size)[:1]
	}
	op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return outs, nil }
	return op
}

func parts(b []byte, size int) []comm.Block {
	var blocks []comm.Block
	for n := len(b) / size / 8 * 8; len(blocks) < size; {
		blocks = append(blocks, comm.Whole(b[len(blocks)*n:][:n]))
	}
	return blocks
}

func sumUint64(dst []byte, srcs [][]byte) {
	for at := 0; at+8 <= len(dst); at += 8 {
		var sum uint64
		for _, s := range srcs {
			sum += binary.LittleEndian.Uint64(s[at:])
		}
		binary.LittleEndian.PutUint64(dst[at:], sum)
	}
}

func upTo(size int) []int {
	ranks := make([]int, size)
	for r := range ranks {
		ranks[r] = r
	}
	return ranks
}

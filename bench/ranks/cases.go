package main

import (
	"fmt"
	"strconv"
	"strings"
	"unsafe"

	"tpsh/comm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
)

// A benchCase is a call to measure.
type benchCase struct {
	kind string
	size int     // bytes that every rank puts in
	part float64 // of what is called that counts
}

// kinds are the calls that there are.
var kinds = []string{"all_reduce", "all_reduce_exact", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "ping_pong"}

// parseCase returns the case of a text as "all_reduce/1024".
func parseCase(text string) (*benchCase, error) {
	kind, number, _ := strings.Cut(text, "/")
	size, err := strconv.Atoi(number)
	if err != nil || size < 4 {
		return nil, fmt.Errorf("case: got %q, want a kind, a slash and bytes from 4", text)
	}
	for _, k := range kinds {
		if k == kind {
			c := &benchCase{kind, size, 1}
			if kind == "ping_pong" {
				c.part = 0.5
			}
			return c, nil
		}
	}
	return nil, fmt.Errorf("case: got %q, want one of %s", kind, strings.Join(kinds, ", "))
}

// operation returns a call with a tensor of n elements of float32.
func operation(name string, kind comm.Kind, n int) *comm.Op {
	return &comm.Op{
		Desc:   comm.Desc{Op: name, DType: "float32", Shape: []int{n}, Free: -1, Root: -1, Dims: [2]int{-1, -1}},
		Kind:   kind,
		Align:  4,
		Reduce: comm.Reducer(kernel.Combiner(dtype.Float32, "sum")),
	}
}

var barrier = &comm.Op{Desc: comm.Desc{Op: "barrier", Free: -1, Root: -1, Dims: [2]int{-1, -1}}, Kind: comm.Barrier}

// wholeOf returns the block of a slice.
func wholeOf[T float32 | float64](x []T) comm.Block {
	bytes := len(x) * int(unsafe.Sizeof(x[0]))
	return comm.Whole(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), bytes))
}

// blocks returns count blocks of memory that is there.
func blocks(count, bytes int) []comm.Block {
	list := make([]comm.Block, count)
	for i := range list {
		x := floats(max(1, bytes/4))
		for i := range x {
			x[i] = 1
		}
		list[i] = wholeOf(x)
	}
	return list
}

// call returns what makes one call of a case.
func (w *worker) call(c *benchCase) func() error {
	if c.kind == "ping_pong" {
		return w.pingPong(c.size)
	}
	n := w.world.Size()
	op := operation(c.kind, 0, c.size/4)
	var out []comm.Block
	switch c.kind {
	case "all_reduce", "all_reduce_exact":
		if op.Desc.Exact = c.kind == "all_reduce_exact"; op.Desc.Exact {
			op.Desc.Op, op.Reduce = "all_reduce", comm.Reducer(kernel.ExactCombiner(dtype.Float32, "sum"))
		}
		op.Kind, op.In, out = comm.AllReduce, blocks(1, c.size), blocks(1, c.size)
	case "all_gather":
		op.Kind, op.In, out = comm.AllGather, blocks(1, c.size), blocks(n, c.size)
	case "reduce_scatter":
		op.Kind, op.In, out = comm.ReduceScatter, blocks(n, c.size/n), blocks(1, c.size/n)
	case "broadcast": // in place, as others do: the root has no use for a copy
		op.Kind, op.Desc.Root = comm.Broadcast, 0
		if w.world.Rank() == 0 {
			op.In = blocks(1, c.size)
		} else {
			out = blocks(1, c.size)
		}
	case "all_to_all":
		op.Kind, op.In, out = comm.AllToAll, blocks(n, c.size/n), blocks(n, c.size/n)
	}
	op.Prepare = func([]comm.Member, comm.Flags) ([]comm.Block, error) { return out, nil }
	return func() error {
		_, err := w.world.Run(w.ctx, op)
		return err
	}
}

// pingPong returns what sends a message to the other rank of a pair and back.
// A last rank without a partner does nothing.
func (w *worker) pingPong(size int) func() error {
	peer := w.world.Rank() ^ 1
	if peer >= w.world.Size() {
		return func() error { return nil }
	}
	data := blocks(1, size)[0].Data
	send := func() error { return w.world.Send(peer, 0, comm.Message{Data: data}, "") }
	room := blocks(1, size)[0].Data
	place := func([]byte, int) ([]byte, error) { return room, nil }
	receive := func() error {
		m, err := w.world.RecvInto(w.ctx, peer, 0, nil, place)
		if err == nil {
			m.Release()
		}
		return err
	}
	if w.world.Rank()%2 == 1 {
		send, receive = receive, send
	}
	return func() error {
		if err := send(); err != nil {
			return err
		}
		return receive()
	}
}

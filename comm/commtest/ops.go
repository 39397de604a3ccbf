package commtest

import (
	"encoding/binary"
	"math"

	"tpsh/comm"
)

// desc returns the description of a call that takes no tensor.
func desc(op string) comm.Desc {
	return comm.Desc{Op: op, Free: -1, Root: -1, Dims: [2]int{-1, -1}}
}

func barrier() *comm.Op { return &comm.Op{Desc: desc("barrier"), Kind: comm.Barrier} }

// SumFloat32 adds float32 in the order given.
func SumFloat32(dst []byte, srcs [][]byte) {
	for at := 0; at < len(dst); at += 4 {
		sum := float32At(srcs[0], at)
		for _, src := range srcs[1:] {
			sum += float32At(src, at)
		}
		binary.LittleEndian.PutUint32(dst[at:], math.Float32bits(sum))
	}
}

func float32At(b []byte, at int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(b[at:]))
}

// floats returns the bytes of float32 numbers.
func floats(xs ...float32) []byte {
	b := make([]byte, 0, 4*len(xs))
	for _, x := range xs {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return b
}

// allReduce returns a sum of float32 over the members, and where its result
// will be.
func allReduce(in []byte) (op *comm.Op, out []byte) {
	out = make([]byte, len(in))
	d := desc("all_reduce")
	d.DType, d.Shape, d.Reduce = "float32", []int{len(in) / 4}, "sum"
	return &comm.Op{
		Desc:    d,
		Kind:    comm.AllReduce,
		In:      []comm.Block{comm.Whole(in)},
		Align:   4,
		Prepare: into(comm.Whole(out)),
		Reduce:  SumFloat32,
	}, out
}

// into returns an Op.Prepare for results in blocks that are there.
func into(blocks ...comm.Block) func([]comm.Member, comm.Flags) ([]comm.Block, error) {
	return func([]comm.Member, comm.Flags) ([]comm.Block, error) { return blocks, nil }
}

// sum runs an all_reduce of one number.
func (r *rank) sum(g *comm.Group, x float32) (float32, error) {
	op, out := allReduce(floats(x))
	_, err := g.Run(r.ctx, op)
	return float32At(out, 0), err
}

// kinds are all the kinds of collectives.
var kinds = func() (all []comm.Kind) {
	for k := range comm.Kinds {
		all = append(all, k)
	}
	return all
}()

package shard

import (
	"fmt"
	"hash/crc32"
	goruntime "runtime"

	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// CheckReplicas returns an error, on every rank that holds such a block, unless
// the ranks that hold the same block of x hold the same data. Every rank of the
// mesh calls it.
func (e *Engine) CheckReplicas(fn string, x *tensor.Tensor) error {
	l := x.Layout()
	ranks := mesh.Replicas(l, e.host.ID())
	if len(ranks) < 2 {
		return nil
	}
	g, err := e.host.SharedGroup(ranks)
	if err != nil {
		return err
	}
	block, err := e.contiguous(x.Local())
	if err != nil {
		return err
	}
	sum := ""
	if !block.Hollow() {
		sum = fmt.Sprintf("%08x", crc32.Checksum(block.Bytes(), castagnoli))
	}
	goruntime.KeepAlive(block)
	o := &comm.Op{Kind: comm.Barrier, Meta: []byte(sum), Prepare: func(members []comm.Member, _ comm.Flags) ([]comm.Block, error) {
		for i, m := range members {
			if string(m.Meta) != string(members[0].Meta) {
				return nil, &op.ArgError{Func: fn, Param: "x", Got: fmt.Sprintf("other data on rank %d than on rank %d", ranks[i], ranks[0]), Want: "the same data on all ranks that hold the same block", Rule: Describe(x)}
			}
		}
		return nil, nil
	}}
	o.Desc = contract("run_check", mesh.List(l.Placements()))
	o.Desc.DType, o.Desc.Shape = x.DType().String(), l.Shape()
	return e.host.Quietly(func() error {
		_, err := e.host.Communicate(g, o, x.Local(), 0)
		return err
	})
}

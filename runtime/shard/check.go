package shard

import (
	"fmt"
	goruntime "runtime"
	"strings"

	"tpsh/comm"
	"tpsh/internal/crc32c"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// CheckReplicas returns an error, on every rank of the mesh, unless the blocks of x
// agree: in their dtype, in whether they require grad, and where ranks hold the same
// block, in the data. Every rank of the mesh calls it.
func (e *Engine) CheckReplicas(fn string, x *tensor.Tensor) error {
	l := x.Layout()
	ranks := l.Mesh().Ranks()
	if len(ranks) < 2 || !e.member(l.Mesh()) {
		return nil
	}
	g, err := e.host.MeshGroup(l.Mesh())
	if err != nil {
		return err
	}
	mine, err := e.statement(x)
	if err != nil {
		return err
	}
	o := &comm.Op{Kind: comm.Barrier, Meta: []byte(mine), Prepare: func(members []comm.Member, _ comm.Flags) ([]comm.Block, error) {
		return nil, differing(fn, x, ranks, members)
	}}
	o.Desc = contract("run_check", mesh.List(l.Placements()))
	o.Desc.Shape = l.Shape()
	return e.host.Quietly(func() error {
		_, err := e.host.Communicate(g, o, x.Local(), 0)
		return err
	})
}

// statement returns the rank's description of its block of x: the dtype, whether it
// requires grad and a sum of the data, with a space between.
func (e *Engine) statement(x *tensor.Tensor) (string, error) {
	block, err := e.contiguous(x.Local())
	if err != nil {
		return "", err
	}
	sum := "-"
	if !block.Hollow() {
		sum = fmt.Sprintf("%08x", crc32c.Checksum(block.Bytes()))
	}
	goruntime.KeepAlive(block)
	return fmt.Sprintf("%v %t %s", x.DType(), x.RequiresGrad(), sum), nil
}

// differing returns an error about the first of ranks whose statement, in members,
// is not like that of an earlier one.
func differing(fn string, x *tensor.Tensor, ranks []int, members []comm.Member) error {
	said := map[int][]string{}
	for i, m := range members {
		said[ranks[i]] = strings.Fields(string(m.Meta))
	}
	bad := func(got, want, rule string) error {
		return &op.ArgError{Func: fn, Param: "x", Got: got, Want: want, Rule: rule}
	}
	first := said[ranks[0]]
	for _, r := range ranks[1:] {
		if said[r][0] != first[0] {
			return bad(fmt.Sprintf("%s on rank %d and %s on rank %d", first[0], ranks[0], said[r][0], r), "one dtype on all ranks", Describe(x))
		}
		if said[r][1] != first[1] {
			with, without := ranks[0], r
			if said[r][1] == "true" {
				with, without = r, ranks[0]
			}
			return bad(fmt.Sprintf("a tensor that requires grad on rank %d, and one that does not on rank %d", with, without), "requires_grad alike on all ranks", Describe(x))
		}
		if like := mesh.Replicas(x.Layout(), r)[0]; said[r][2] != said[like][2] {
			return bad(fmt.Sprintf("other data on rank %d than on rank %d", r, like), "the same data on all ranks that hold the same block", Describe(x))
		}
	}
	return nil
}

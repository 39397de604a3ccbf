package shard

import (
	"encoding/binary"
	"math"
	"slices"
	"unsafe"

	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// maxDecisions is how many decisions, and how many stepPlans, an Engine keeps: some
// ten kilobytes each.
const maxDecisions = 1 << 11

// A memo keeps the decisions of an Engine. A decision holds for whatever fits it, for good:
// layouts and meshes do not change, and nothing else is asked. So none is ever wrong, and all
// are forgotten when they are too many. Programs do few things again and again: the latest
// decisions are found without the key of all that they depend on.
type memo struct {
	all    map[string]*decision
	latest [1 << 7]*decision // by slot; each is of all, or was
	key    []byte            // room for the key of a decision
}

// slot returns where the decision for d on in, which are placed, is among the latest.
func (m *memo) slot(d *op.Def, in []*tensor.Tensor) **decision {
	at := uintptr(unsafe.Pointer(d))
	for _, x := range in {
		at *= 31
		if x != nil {
			at += uintptr(unsafe.Pointer(x.Layout()))
		}
	}
	return &m.latest[(at>>4^at>>11)%uintptr(len(m.latest))]
}

// get returns the decision for d on in, of which one is placed on ms; nil if there is none. Then the
// key is that of the one to be put.
func (m *memo) get(ctx *op.Ctx, d *op.Def, ms *mesh.Mesh, in []*tensor.Tensor, args []op.Arg) *decision {
	slot := m.slot(d, in)
	if dec := *slot; dec != nil && dec.mesh == ms && dec.fits(ctx, d, in, args) {
		return dec
	}
	m.key = appendKey(m.key[:0], ctx, d, ms, in, args)
	dec := m.all[string(m.key)]
	if dec != nil {
		*slot = dec
	}
	return dec
}

// put keeps the decision of a key.
func (m *memo) put(key string, dec *decision) {
	if len(m.all) >= maxDecisions {
		clear(m.all)
		clear(m.latest[:])
	}
	m.all[key] = dec
}

// fits reports whether dec is the decision for d on in, on the mesh of dec.
func (dec *decision) fits(ctx *op.Ctx, d *op.Def, in []*tensor.Tensor, args []op.Arg) bool {
	if dec.call.Def != d || dec.float != ctx.Float || len(in) != len(dec.from) || len(args) != len(dec.call.Args) {
		return false
	}
	for i, x := range in {
		was := dec.call.In[i]
		switch {
		case x == nil || was == nil:
			if x != was {
				return false
			}
		case x.DType() != was.DType():
			return false
		case x.Placed():
			if x.Layout() != dec.from[i] || was.Weak() {
				return false
			}
		case !x.Weak() || !was.Weak() || !x.Shape().Equal(was.Shape()): // who is plain and no number is asked for by key
			return false
		}
	}
	for i := range args {
		if !sameArg(&args[i], &dec.call.Args[i]) {
			return false
		}
	}
	return true
}

// sameArg reports whether a and b are one argument.
func sameArg(a, b *op.Arg) bool {
	return a.Int == b.Int && a.Set == b.Set && math.Float64bits(a.Float) == math.Float64bits(b.Float) && a.Str == b.Str &&
		a.Layout == b.Layout && slices.Equal(a.Ints, b.Ints) && slices.EqualFunc(a.Floats, b.Floats, sameFloat)
}

func sameFloat(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// appendKey appends all that a decision depends on. Layouts and meshes stand for
// themselves by their addresses: a decision keeps them, so that no other can
// have the same.
func appendKey(b []byte, ctx *op.Ctx, d *op.Def, m *mesh.Mesh, in []*tensor.Tensor, args []op.Arg) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(d))))
	b = binary.LittleEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(m))))
	b = append(b, byte(ctx.Float), byte(len(in)))
	for _, x := range in {
		switch {
		case x == nil:
			b = append(b, 0)
		case x.Placed():
			b = append(b, 1, byte(x.DType()))
			b = binary.LittleEndian.AppendUint64(b, uint64(uintptr(unsafe.Pointer(x.Layout()))))
		default:
			weak := byte(2)
			if x.Weak() {
				weak = 3
			}
			b = append(b, weak, byte(x.DType()))
			b = appendInts(b, x.Shape())
		}
	}
	for i := range args {
		a := &args[i]
		set := byte(0)
		if a.Set {
			set = 1
		}
		b = append(b, set)
		b = binary.AppendVarint(b, int64(a.Int))
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(a.Float))
		b = append(binary.AppendUvarint(b, uint64(len(a.Str))), a.Str...)
		b = appendInts(b, a.Ints)
		b = binary.AppendUvarint(b, uint64(len(a.Floats)))
		for _, v := range a.Floats {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	return b
}

func appendInts(b []byte, list []int) []byte {
	b = binary.AppendUvarint(b, uint64(len(list)))
	for _, v := range list {
		b = binary.AppendVarint(b, int64(v))
	}
	return b
}

package shard

import (
	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A FlatPack says how several flat tensors of one dtype, on the same ranks, travel
// together. Packed they are the first rank's part of each tensor, one after
// another, then the second's, and so on; joined they are the whole
// tensors, each at a start of its own.
type FlatPack struct {
	flats  []*mesh.Flat // whose ranks are 0, 1, ...
	dt     dtype.DType
	starts []int // by tensor, of the joined
	size   int   // elements of the joined
}

// lineBytes divides the starts of joined tensors: it is a cache line.
const lineBytes = 64

// NewFlatPack returns the pack of tensors of dtype dt that lie as flats.
func NewFlatPack(dt dtype.DType, flats []*mesh.Flat) *FlatPack {
	p := &FlatPack{flats: flats, dt: dt}
	line := lineBytes / dt.Size()
	for _, f := range flats {
		p.starts = append(p.starts, p.size)
		p.size += (shape.Shape(f.Shape()).Numel() + line - 1) / line * line
	}
	return p
}

// Joined returns the number of elements that the joined tensors take.
func (p *FlatPack) Joined() int { return p.size }

// Packed returns the number of elements of the packed tensors.
func (p *FlatPack) Packed() int {
	n := 0
	for _, f := range p.flats {
		n += shape.Shape(f.Shape()).Numel()
	}
	return n
}

// Stored returns the number of elements of each tensor that rank stores.
func (p *FlatPack) Stored(rank int) []int {
	sizes := make([]int, len(p.flats))
	for i, f := range p.flats {
		sizes[i] = f.Numel(rank)
	}
	return sizes
}

// Views returns the tensors whose joined elements are in x.
func (p *FlatPack) Views(x *tensor.Tensor) []*tensor.Tensor {
	list := make([]*tensor.Tensor, len(p.flats))
	for i, f := range p.flats {
		s := shape.Shape(f.Shape())
		list[i] = x.View(s, s.Strides(), p.starts[i])
	}
	return list
}

// Join stores in joined the elements of packed.
func (p *FlatPack) Join(joined, packed *tensor.Tensor) {
	if joined.Hollow() {
		return
	}
	to, from, size := joined.Bytes(), packed.Bytes(), p.dt.Size()
	p.pieces(func(i, at int, r mesh.Range) {
		start := p.starts[i] + r.Lo
		copy(to[start*size:], from[at*size:(at+r.Hi-r.Lo)*size])
	})
}

// Pack stores in packed the elements of the tensors, which are contiguous; nil
// stands for zeros.
func (p *FlatPack) Pack(packed *tensor.Tensor, tensors []*tensor.Tensor) {
	if packed.Hollow() {
		return
	}
	to, size := packed.Bytes(), p.dt.Size()
	p.pieces(func(i, at int, r mesh.Range) {
		piece := to[at*size : (at+r.Hi-r.Lo)*size]
		if tensors[i] == nil {
			clear(piece)
			return
		}
		copy(piece, tensors[i].Bytes()[r.Lo*size:])
	})
}

// pieces calls f for every range that a rank stores of a tensor i, and where it
// begins among the packed elements.
func (p *FlatPack) pieces(f func(i, at int, r mesh.Range)) {
	at := 0
	for _, rank := range p.flats[0].Ranks() {
		for i, l := range p.flats {
			for _, r := range l.Ranges(rank) {
				f(i, at, r)
				at += r.Hi - r.Lo
			}
		}
	}
}

// FlatRows returns the layout in which rank k of parts stores block k of the
// rows, the elements of dim 0, of a tensor of a shape of one dim or more.
func FlatRows(s shape.Shape, parts int) *mesh.Flat {
	ranges, row := make([][]mesh.Range, parts), s[1:].Numel()
	for k := range ranges {
		lo, hi := mesh.Block(s[0], parts, k)
		ranges[k] = []mesh.Range{{Lo: lo * row, Hi: hi * row}}
	}
	return flatOf(s, ranges)
}

// FlatEven returns the layout in which rank k of parts stores block k of the
// elements of a tensor of a shape.
func FlatEven(s shape.Shape, parts int) *mesh.Flat {
	return flatOf(s, mesh.EvenRanges(s.Numel(), parts))
}

// flatOf returns the layout in which rank k stores ranges[k], which are blocks.
func flatOf(s shape.Shape, ranges [][]mesh.Range) *mesh.Flat {
	ranks := make([]int, len(ranges))
	for i := range ranks {
		ranks[i] = i
	}
	f, err := mesh.NewFlat(s, ranks, ranges)
	if err != nil {
		panic("shard: blocks do not tile: " + err.Error())
	}
	return f
}

// inOneDim returns f, of a tensor that has one dim: a range is then one box.
func inOneDim(f *mesh.Flat) *mesh.Flat {
	ranges := make([][]mesh.Range, len(f.Ranks()))
	for k := range ranges {
		ranges[k] = f.Ranges(k)
	}
	return flatOf(shape.Shape{shape.Shape(f.Shape()).Numel()}, ranges)
}

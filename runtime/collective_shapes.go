package runtime

import (
	"slices"

	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func noFree(*Collective) int { return -1 }

func freeDim(c *Collective) int { return c.Dim }

func freeConcat(c *Collective) int { return c.Concat }

func noDims(*Collective) [2]int { return [2]int{-1, -1} }

func oneDim(c *Collective) [2]int { return [2]int{c.Dim, -1} }

func bothDims(c *Collective) [2]int { return [2]int{c.Dim, c.Concat} }

// whole offers all of x.
func whole(k *tensorCall) []comm.Block {
	k.block[0] = comm.Whole(k.x.Bytes())
	return k.block[:1]
}

// throughout is one block, which fills the result.
func throughout(k *tensorCall, y *tensor.Tensor) []comm.Block {
	k.block[1] = comm.Whole(y.Bytes())
	return k.block[1:]
}

// sameShape is a result of the shape of x.
func sameShape(k *tensorCall) (shape.Shape, bool) { return k.x.Shape(), true }

// rootOnly is the shape of out on the root, and nothing elsewhere.
func rootOnly(out func(*tensorCall) (shape.Shape, bool)) func(*tensorCall) (shape.Shape, bool) {
	return func(k *tensorCall) (shape.Shape, bool) {
		if !k.root() {
			return nil, false
		}
		return out(k)
	}
}

// cutDim offers x cut along Dim, a part for each member; only the root of a
// scatter offers anything. A rank that runs for others offers what the root would.
func cutDim(k *tensorCall) []comm.Block {
	if k.form.kind.Rooted() && !k.r.Alike() && !k.root() {
		return nil
	}
	return blocksAlong(k.x, k.Dim, k.parts(k.x.Shape()[k.Dim]))
}

// parts returns the sizes in which n elements are cut for the members.
func (k *tensorCall) parts(n int) []int {
	if k.sizes != nil {
		return k.sizes
	}
	sizes := make([]int, k.g.Size())
	for i := range sizes {
		lo, hi := mesh.Block(n, k.g.Size(), i)
		sizes[i] = hi - lo
	}
	return sizes
}

// myPart is the result of which each member has its part along Dim.
func myPart(k *tensorCall) (shape.Shape, bool) {
	s := k.x.Shape()
	return withSize(s, k.Dim, k.part(s[k.Dim])), true
}

// part returns the size of this member's part of n elements that are cut.
func (k *tensorCall) part(n int) int {
	sizes := k.parts(n)
	return AskedPlace(k.r, k.g, func(place int) int { return sizes[place] })
}

// root reports whether this member is the root.
func (k *tensorCall) root() bool {
	return AskedPlace(k.r, k.g, func(place int) bool { return place == k.Root })
}

// joined is the members' inputs joined along Dim.
func joined(k *tensorCall) (shape.Shape, bool) {
	return withSize(k.x.Shape(), k.Dim, sum(freeSizes(k.members))), true
}

func eachJoined(k *tensorCall, y *tensor.Tensor) []comm.Block {
	return blocksAlong(y, k.Dim, freeSizes(k.members))
}

// exchanged is the parts that the members cut for this one along Dim, joined
// along Concat.
func exchanged(k *tensorCall) (shape.Shape, bool) {
	s := k.x.Shape()
	if k.Dim != k.Concat {
		s = withSize(s, k.Dim, k.part(s[k.Dim]))
	}
	return withSize(s, k.Concat, sum(k.pieceSizes())), true
}

func eachExchanged(k *tensorCall, y *tensor.Tensor) []comm.Block {
	return blocksAlong(y, k.Concat, k.pieceSizes())
}

// pieceSizes returns the sizes along Concat of the pieces of an all_to_all
// that come from each member.
func (k *tensorCall) pieceSizes() []int {
	sizes := freeSizes(k.members)
	if k.Dim == k.Concat {
		for i, n := range sizes {
			sizes[i] = AskedPlace(k.r, k.g, func(place int) int {
				lo, hi := mesh.Block(n, k.g.Size(), place)
				return hi - lo
			})
		}
	}
	return sizes
}

// freeSizes returns the members' sizes along the free axis.
func freeSizes(members []comm.Member) []int {
	sizes := make([]int, len(members))
	for i, m := range members {
		sizes[i] = m.Free
	}
	return sizes
}

func sum(sizes []int) int {
	n := 0
	for _, s := range sizes {
		n += s
	}
	return n
}

// withSize returns s with size n at dim.
func withSize(s shape.Shape, dim, n int) shape.Shape {
	out := append(shape.Shape(nil), s...)
	out[dim] = n
	return out
}

// blocksAlong cuts the contiguous tensor x along dim into the given sizes.
func blocksAlong(x *tensor.Tensor, dim int, sizes []int) []comm.Block {
	s := x.Shape()
	rows := s[:dim].Numel()
	inner := s[dim+1:].Numel() * x.DType().Size()
	data := x.Bytes()
	blocks := make([]comm.Block, len(sizes))
	lo := 0
	for i, n := range sizes {
		b := comm.Block{Rows: rows, Width: n * inner, Pitch: s[dim] * inner}
		if rows*b.Width > 0 {
			b.Data = data[lo*inner:]
		}
		blocks[i] = b
		lo += n
	}
	return blocks
}

// receives reports whether a pair ends at this member.
func (k *tensorCall) receives() bool {
	return AskedPlace(k.r, k.g, func(place int) bool {
		return slices.ContainsFunc(k.Pairs, func(p [2]int) bool { return p[1] == place })
	})
}

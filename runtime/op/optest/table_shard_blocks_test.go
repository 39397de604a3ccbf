package optest

import (
	"fmt"
	"math"
	"slices"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// This file cuts tensors into the blocks of ranks, and joins blocks.

// unravelTo sets index to that of element at, in row-major order, of a tensor
// of shape s.
func unravelTo(index []int, at int, s shape.Shape) {
	for d := len(s) - 1; d >= 0; d-- {
		index[d], at = at%s[d], at/s[d]
	}
}

// blockOf returns what rank holds of x, a block of x or of one of the terms
// that x is split into. salt tells the inputs of a call apart.
func blockOf(x *tensor.Tensor, l *mesh.Placed, rank, salt int) *tensor.Tensor {
	m := l.Mesh()
	at := m.Coordinate(rank)
	if x.Weak() {
		v := list(x)[0]
		for d, p := range l.Placements() {
			if by, partial := p.Partial(); partial {
				v = madePartial(v, by, at[d])
			}
		}
		return numberLike(x, v)
	}
	b, _ := l.Box(rank)
	y, err := tensor.New(testAlloc, x.DType(), b.Shape())
	if err != nil {
		panic(err)
	}
	n, read := y.Numel(), reader(x)
	elems, which := make([]float64, 0, n), make([]int, 0, n) // what the block holds, and which elements of x they are
	insideOf(x, b, func(i, place int) {
		which, elems = append(which, i), append(elems, read(place))
	})
	path := salt
	for d, p := range l.Placements() {
		if by, partial := p.Partial(); partial {
			convert := converter(x.DType())
			for n, v := range elems {
				elems[n] = convert(termOf(v, x.DType(), by, at[d], m.Shape()[d], 7*path+which[n]))
			}
			path = 31*path + at[d] + 1
		}
	}
	write := writer(y)
	for n, v := range elems {
		write(n, v)
	}
	return y
}

// insideOf calls f with each element of x that b holds: which it is of x, and its place in
// the storage; all in row-major order.
func insideOf(x *tensor.Tensor, b mesh.Box, f func(i, place int)) {
	if shape.Shape(b.Shape()).Numel() == 0 {
		return
	}
	s, strides := x.Shape(), x.Strides()
	index, i, place := slices.Clone(b.Lo), 0, x.Offset()
	steps := make([]int, len(s)) // between elements, were x packed
	for d, step := len(s)-1, 1; d >= 0; d-- {
		steps[d] = step
		step *= s[d]
		i, place = i+index[d]*steps[d], place+index[d]*strides[d]
	}
	for {
		f(i, place)
		d := len(s) - 1
		for ; d >= 0; d-- {
			index[d], i, place = index[d]+1, i+steps[d], place+strides[d]
			if index[d] < b.Hi[d] {
				break
			}
			n := b.Hi[d] - b.Lo[d]
			index[d], i, place = b.Lo[d], i-n*steps[d], place-n*strides[d]
		}
		if d < 0 {
			return
		}
	}
}

// madePartial returns the k-th term of a number v that all ranks hold.
func madePartial(v float64, by mesh.ReduceOp, k int) float64 {
	switch {
	case k > 0 && by == mesh.Sum:
		return 0
	case k > 0 && by == mesh.Prod:
		return 1
	}
	return v
}

// inside reports whether b holds the element at index.
func inside(index []int, b mesh.Box) bool {
	for d, i := range index {
		if i < b.Lo[d] || i >= b.Hi[d] {
			return false
		}
	}
	return true
}

// numberLike returns the number v of the type that x has.
func numberLike(x *tensor.Tensor, v float64) *tensor.Tensor {
	switch x.DType() {
	case dtype.Bool:
		return tensor.Number(v != 0)
	case dtype.Int64:
		return tensor.Number(int64(v))
	}
	return tensor.Number(v)
}

// termOf returns the k-th of n terms of v, which by makes v of exactly. seed
// chooses them.
func termOf(v float64, dt dtype.DType, by mesh.ReduceOp, k, n, seed int) float64 {
	unit := 1.0 // what terms are multiples of
	if dt.IsFloat() {
		unit = 1.0 / 8
	}
	other := func(k int) float64 { return unit * float64((seed*13+k*29)%9-4) }
	last := seed % n // the one that makes up for the others
	switch by {
	case mesh.Sum, mesh.Mean:
		if math.IsInf(v, 0) || v != v {
			return map[bool]float64{true: v}[k == last]
		}
		mid := 0.0
		if by == mesh.Mean {
			mid = v
		}
		if k != last {
			return mid + other(k)
		}
		for i := range n {
			if i != last {
				v -= other(i)
			}
		}
		return v
	case mesh.Prod:
		if k != last {
			return -1
		}
		return v * float64(1-2*((n-1)%2))
	}
	sign := -1.0 // towards smaller terms
	if by == mesh.Min {
		sign = 1
	}
	switch {
	case k == last || v != v:
		return v
	case dt == dtype.Bool && v == (1-sign)/2:
		return float64((seed + k) % 2)
	case dt == dtype.Bool:
		return v
	}
	term := v + sign*math.Abs(other(k))
	if dt.IsInt() && !dt.Signed() {
		_, hi := dt.Limits()
		term = min(max(term, 0), float64(hi))
	}
	return term
}

// A joiner gives the elements of a tensor that ranks hold together.
type joiner struct {
	l      *mesh.Placed
	dt     dtype.DType
	blocks map[int][]float64
	index  []int // of the element
	err    string
}

// value returns the element as the ranks make it whose coordinates begin with
// prefix, NaN if none of them holds it, and the sum of the magnitudes of its
// terms.
func (j *joiner) value(prefix []int) (v, size float64) {
	m, d := j.l.Mesh(), len(prefix)
	if d == m.NDim() {
		return j.local(prefix)
	}
	p := j.l.Placements()[d]
	by, partial := p.Partial()
	_, cut := p.Shard()
	parts := m.Shape()[d]
	for k := range parts {
		next := append(prefix[:d:d], k)
		if cut && !j.holds(next) {
			continue
		}
		w, wsize := j.value(next)
		switch {
		case cut:
			return w, wsize
		case k == 0:
			v, size = w, wsize
		case partial:
			v, size = combined(by, v, w), size+wsize
		case v != w && (v == v || w == w):
			j.err = fmt.Sprintf("replicas hold %v and %v", v, w)
		}
	}
	if partial && by == mesh.Mean {
		v, size = v/float64(parts), size/float64(parts)
	}
	if !j.dt.IsFloat() && partial && (by == mesh.Sum || by == mesh.Prod) {
		v = convert(j.dt, v) // it wraps around
	}
	return v, size
}

// holds reports whether a rank whose coordinates begin with prefix holds the
// element.
func (j *joiner) holds(prefix []int) bool {
	m := j.l.Mesh()
	for _, rank := range m.Ranks() {
		at := m.Coordinate(rank)
		if b, _ := j.l.Box(rank); shape.Shape(at[:len(prefix)]).Equal(prefix) && inside(j.index, b) {
			return true
		}
	}
	return false
}

// local returns the element as the rank at the given coordinates holds it.
func (j *joiner) local(at []int) (v, size float64) {
	m, rank := j.l.Mesh(), 0
	for d, k := range at {
		rank = rank*m.Shape()[d] + k
	}
	b, _ := j.l.Box(rank)
	i := 0
	for d := range j.index {
		i = i*(b.Hi[d]-b.Lo[d]) + j.index[d] - b.Lo[d]
	}
	v = j.blocks[rank][i]
	return v, math.Abs(v)
}

// combined returns what by makes of two terms; of Mean it is the sum.
func combined(by mesh.ReduceOp, v, w float64) float64 {
	switch by {
	case mesh.Prod:
		return v * w
	case mesh.Max:
		return math.Max(v, w)
	case mesh.Min:
		return math.Min(v, w)
	}
	return v + w
}

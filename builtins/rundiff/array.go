package rundiff

import (
	"math"

	"tpsh/mesh"
	"tpsh/runtime/ckpt"
)

// An array is a tensor's elements as numbers.
type array struct {
	shape []int
	data  []float64
}

// numel returns the number of elements of a shape.
func numel(shape []int) int { return ckpt.Whole(shape).Numel() }

// slice returns the elements of a box.
func (a *array) slice(box mesh.Box) *array {
	out := &array{box.Shape(), make([]float64, box.Numel())}
	_ = ckpt.Walk(ckpt.Whole(a.shape), box, box, func(from, to, n int) error {
		copy(out.data[to:to+n], a.data[from:from+n])
		return nil
	})
	return out
}

// put sets the elements of a box.
func (a *array) put(box mesh.Box, part *array) {
	_ = ckpt.Walk(box, ckpt.Whole(a.shape), box, func(from, to, n int) error {
		copy(a.data[to:to+n], part.data[from:from+n])
		return nil
	})
}

// scaled returns f times a.
func (a *array) scaled(f float64) *array {
	out := &array{a.shape, make([]float64, len(a.data))}
	for i, v := range a.data {
		out.data[i] = f * v
	}
	return out
}

// plus returns a + f b.
func (a *array) plus(f float64, b *array) *array {
	out := &array{a.shape, make([]float64, len(a.data))}
	for i, v := range a.data {
		out.data[i] = v + f*b.data[i]
	}
	return out
}

// sum returns the sum of arrays of one shape, of which there is at least one.
func sum(list []*array) *array {
	out := list[0]
	for _, a := range list[1:] {
		out = out.plus(1, a)
	}
	return out
}

// permuted returns a with its dims in another order.
func (a *array) permuted(order []int) *array {
	shape, steps := make([]int, len(order)), make([]int, len(order))
	stride := make([]int, len(order))
	n := 1
	for d := len(a.shape) - 1; d >= 0; d-- {
		stride[d] = n
		n *= a.shape[d]
	}
	for i, d := range order {
		shape[i], steps[i] = a.shape[d], stride[d]
	}
	out := &array{shape, make([]float64, len(a.data))}
	at := make([]int, len(shape))
	from := 0
	for i := range out.data {
		out.data[i] = a.data[from]
		for d := len(at) - 1; d >= 0; d-- {
			at[d]++
			from += steps[d]
			if at[d] < shape[d] {
				break
			}
			from -= at[d] * steps[d]
			at[d] = 0
		}
	}
	return out
}

// rms returns the root of the mean of the squares.
func (a *array) rms() float64 {
	if len(a.data) == 0 {
		return 0
	}
	s := 0.0
	for _, v := range a.data {
		s += v * v
	}
	return math.Sqrt(s / float64(len(a.data)))
}

// maxAbs returns the largest magnitude.
func (a *array) maxAbs() float64 {
	m := 0.0
	for _, v := range a.data {
		if v = math.Abs(v); v > m || v != v {
			m = v
		}
	}
	return m
}

// dot returns the sum of products.
func dot(a, b *array) float64 {
	s := 0.0
	for i, v := range a.data {
		s += v * b.data[i]
	}
	return s
}

// distance returns the rms of a - b.
func distance(a, b *array) float64 {
	if len(a.data) == 0 {
		return 0
	}
	s := 0.0
	for i, v := range a.data {
		d := v - b.data[i]
		s += d * d
	}
	return math.Sqrt(s / float64(len(a.data)))
}

// maxDistance returns the largest magnitude of a - b; not a number if there is one.
func maxDistance(a, b *array) float64 {
	m := 0.0
	for i, v := range a.data {
		if d := math.Abs(v - b.data[i]); d > m || d != d {
			if v == b.data[i] || v != v && b.data[i] != b.data[i] {
				continue // infinities, or no numbers in both
			}
			m = d
			if d != d {
				return math.Inf(1)
			}
		}
	}
	return m
}

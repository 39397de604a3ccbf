package mesh

import (
	"fmt"
	"slices"
	"strings"
)

// The dims of a mesh that cut one dim of a tensor do so in an order. Placements say which:
// Shard comes before all later mesh dims, and a StridedShard after those of them whose sizes
// multiply to its factor. So a tensor has one list of placements for each order.

// CutOrder returns the dims of a mesh of the given sizes that cut a tensor, those of one dim
// of the tensor in the order in which they do. bad is -1, or the first of placements from the
// back that no order has: a StridedShard whose factor is no product of sizes.
func CutOrder(sizes []int, placements []Placement) (order []int, bad int) {
	for i, p := range slices.Backward(placements) {
		if !p.cuts() {
			continue
		}
		at, ok := 0, p.kind != strided
		if !ok {
			at, ok = after(sizes, placements, order, p)
		}
		if !ok {
			return nil, i
		}
		order = slices.Insert(order, at, i)
	}
	return order, -1
}

// after returns where in order, that of later mesh dims, p belongs: behind those that cut
// its dim into as many parts as its factor says.
func after(sizes []int, placements []Placement, order []int, p Placement) (at int, ok bool) {
	parts := 1
	for k, i := range order {
		if placements[i].dim != p.dim {
			continue
		}
		if parts *= sizes[i]; parts == p.factor {
			return k + 1, true
		}
	}
	return 0, false
}

// InOrder returns placements with the StridedShards, in place of Shards, that have the dims
// of m cut in the order given, which has each dim that cuts once. A RaggedShard comes before
// all later dims, and stays.
func InOrder(m *Mesh, placements []Placement, order []int) []Placement {
	out := slices.Clone(placements)
	for k, i := range order {
		factor := 1
		for _, j := range order[:k] {
			if j > i && placements[j].cuts() && placements[j].dim == placements[i].dim {
				factor *= m.shape[j]
			}
		}
		if placements[i].cuts() && placements[i].kind != ragged {
			out[i] = StridedShard(placements[i].dim, factor)
		}
	}
	return out
}

// Order returns the dims of the mesh that cut, those of one dim of the tensor in the order
// in which they do, and whether that is the order of the mesh.
func (l *Placed) Order() (order []int, ofMesh bool) {
	return l.order, !slices.ContainsFunc(l.placements, func(p Placement) bool { return p.kind == strided })
}

// checkFactors returns an *Error unless the factors of placements on m are such that there is
// an order of the dims of m to cut in.
func checkFactors(m *Mesh, placements []Placement) error {
	_, bad := CutOrder(m.shape, placements)
	if bad < 0 {
		return nil
	}
	p := placements[bad]
	later, _ := CutOrder(m.shape, slices.Concat(make([]Placement, bad+1), placements[bad+1:]))
	parts, choices := 1, []string{"1"}
	for _, i := range later {
		if placements[i].dim == p.dim && m.shape[i] > 1 {
			parts *= m.shape[i]
			choices = append(choices, fmt.Sprint(parts))
		}
	}
	want := "split_factor=" + strings.Join(choices, " or ")
	return &Error{"placements", fmt.Sprintf("%s at index %d of %s", p.Script(), bad, List(placements)), want,
		fmt.Sprintf("it is in how many parts later dims of the mesh %s cut dim %d before this one does", m.Short(), p.dim)}
}

package rng

import (
	"cmp"
	"slices"
	"sort"
)

// Categories sets dst[i] to the category that element first+i of the draw,
// uniform in [0, 1), falls into when [0, 1) is divided in proportion to
// weight. Weights are finite and not negative, and one is positive.
func Categories(dst []int64, weight []float64, seed, draw, first uint64) {
	upTo, last := make([]float64, len(weight)), 0
	sum := 0.0
	for c, w := range weight {
		sum += w
		upTo[c] = sum
		if w > 0 {
			last = c
		}
	}
	u := make([]float64, len(dst))
	Uniform64(u, seed, draw, first)
	for i := range dst {
		at := u[i] * sum
		c := sort.Search(len(upTo), func(c int) bool { return upTo[c] > at })
		dst[i] = int64(min(c, last)) // u*sum may round up to sum
	}
}

// Distinct sets dst to len(dst) different categories, drawn one after the
// other in proportion to the weights of those that are left; so many weights
// at least are positive. Category c takes element first+c of the draw: the
// winners are the smallest of exponential numbers divided by the weights.
//
// Efraimidis and Spirakis, "Weighted random sampling with a reservoir",
// Information Processing Letters 97(5), 2006.
func Distinct(dst []int64, weight []float64, seed, draw, first uint64) {
	if len(dst) == 0 {
		return
	}
	type entry struct {
		key float64
		c   int64
	}
	keys := make([]float64, len(weight))
	Exponential64(keys, seed, draw, first)
	most := slices.Max(weight)
	entries := make([]entry, 0, len(weight))
	for c, w := range weight {
		if w > 0 {
			entries = append(entries, entry{keys[c] / (w / most), int64(c)})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.c, b.c))
	})
	for i := range dst {
		dst[i] = entries[i].c
	}
}

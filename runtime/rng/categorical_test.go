package rng

import (
	"math"
	"slices"
	"testing"
)

func TestCategories(t *testing.T) {
	const n = 60000
	weight := []float64{0, 1, 2, 0, 3, 0}
	dst := make([]int64, n)
	Categories(dst, weight, 11, 4, 0)
	var count [6]float64
	for _, c := range dst {
		count[c]++
	}
	for c, got := range count {
		want := n * weight[c] / 6
		if math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("category %d came %v times, want about %v", c, got, want)
		}
	}
	part := make([]int64, 10)
	if Categories(part, weight, 11, 4, 100); !slices.Equal(part, dst[100:110]) {
		t.Errorf("elements 100 to 110 = %v, want %v", part, dst[100:110])
	}
}

// The first of three is drawn by weight, the second by the weights left.
func TestDistinct(t *testing.T) {
	const draws = 30000
	weight := []float64{1, 0, 2, 3}
	var first [4]float64
	var zeroThenTwo float64
	for draw := range uint64(draws) {
		dst := make([]int64, 3)
		Distinct(dst, weight, 5, draw, 0)
		first[dst[0]]++
		if dst[0] == 0 && dst[1] == 2 {
			zeroThenTwo++
		}
		slices.Sort(dst)
		if !slices.Equal(dst, []int64{0, 2, 3}) {
			t.Fatalf("draw %d: sorted %v, want [0 2 3]", draw, dst)
		}
	}
	for c, got := range first {
		want := draws * weight[c] / 6
		if math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("category %d came first %v times, want about %v", c, got, want)
		}
	}
	if want := draws / 6 * 2.0 / 5; math.Abs(zeroThenTwo-want) > 5*math.Sqrt(want) {
		t.Errorf("2 came after 0 %v times, want about %v", zeroThenTwo, want)
	}
}

package ranklist

import "testing"

func TestText(t *testing.T) {
	for _, test := range []struct {
		ranks []int
		want  string
	}{
		{nil, "no rank"},
		{[]int{2}, "rank 2"},
		{[]int{0, 1}, "ranks 0,1"},
		{[]int{0, 2}, "ranks 0,2"},
		{[]int{0, 1, 2, 3}, "ranks 0-3"},
		{[]int{0, 1, 2, 5, 7, 8}, "ranks 0-2,5,7,8"},
		{[]int{0, 1, 2, 3, 4, 5, 6, 8, 9}, "ranks 0-6,8,9"},
		{[]int{0, 2, 4, 6, 8, 10, 12, 14, 15, 16}, "ranks 0,2,4,6,8,10,12,14-16"},
	} {
		if got := Text(test.ranks); got != test.want {
			t.Errorf("%v: got %q, want %q", test.ranks, got, test.want)
		}
	}
}

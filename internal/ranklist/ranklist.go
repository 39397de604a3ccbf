// Package ranklist writes ranks as people read them: neighbours by the first and the last, so
// that thousands fit into a line.
//
// Ranges lists them, and Text names them in a sentence. Two neighbours are no run: they are
// written one by one, as that is no longer.
//
// For example:
//
//	ranklist.Ranges([]int{0, 1, 2, 5}) // 0-2,5
//	ranklist.Text([]int{0, 1, 2, 5})   // ranks 0-2,5
//	ranklist.Text([]int{5})            // rank 5
package ranklist

import (
	"strconv"
	"strings"
)

// Ranges lists ascending ranks, three or more neighbours as "a-b".
func Ranges(ranks []int) string {
	var words []string
	for len(ranks) > 0 {
		n := 1
		for n < len(ranks) && ranks[n] == ranks[0]+n {
			n++
		}
		word := strconv.Itoa(ranks[0])
		if n < 3 {
			n = 1
		} else {
			word += "-" + strconv.Itoa(ranks[n-1])
		}
		words = append(words, word)
		ranks = ranks[n:]
	}
	return strings.Join(words, ",")
}

// Text names ascending ranks: "rank 2", "ranks 0,1", "ranks 0-3,5", "no rank".
func Text(ranks []int) string {
	switch len(ranks) {
	case 0:
		return "no rank"
	case 1:
		return "rank " + strconv.Itoa(ranks[0])
	}
	return "ranks " + Ranges(ranks)
}

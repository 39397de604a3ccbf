// Package spell finds the name that was meant by one that nobody knows, for the
// end of an error: did you mean "all_reduce"?
//
// Names are compared by how many bytes must be inserted, deleted, replaced or swapped
// with their neighbour to make one of the other. Case and underscores do not count, so
// that allReduce is all_reduce. A name is near if at least half of
// its letters stand; otherwise it is better to say nothing, or to list all names.
//
//	known := []string{"all_gather", "all_reduce", "barrier"}
//	spell.Nearest("all_redcue", known) // "all_reduce"
//	spell.Nearest("zzz", known)        // ""
//
// The functions know nothing but strings: flags, fields of files, operators and
// attributes of values are all looked up with them.
package spell

import (
	"slices"
	"strings"
)

// Nearest returns the name that x is most likely a misspelling of, or "" if none
// is near. Among equally near names it is the first of the alphabet.
func Nearest(x string, names []string) string {
	x = fold(x)
	best, limit := "", (len(x)+1)/2
	for _, name := range slices.Sorted(slices.Values(names)) {
		if d := distance(x, fold(name)); d < limit {
			best, limit = name, d
		}
	}
	return best
}

func fold(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }

// distance returns how many bytes must be inserted, deleted, replaced or swapped with
// their neighbour to make one of a and b of the other, each byte touched once (the
// optimal string alignment distance).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before // row[j] becomes the distance of a[:i+1] and b[:j]
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			row[j+1] = min(cost, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

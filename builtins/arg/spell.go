package arg

import (
	"slices"
	"strings"
)

// Nearest returns the name that x is most likely a misspelling of, or "" if
// none is near: at least half of the letters must stand. Case and underscores
// do not count. Among equally near names it is the first of the alphabet.
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

// distance returns the Levenshtein distance of a and b: how many bytes must
// be inserted, deleted or replaced to make one of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // row[j] is the distance of a[:i] and b[:j]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

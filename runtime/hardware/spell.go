package hardware

import "strings"

// meant returns " (did you mean x?)" for the name nearest to got, or "".
func meant(got string, names []string) string {
	best, limit := "", (len(got)+1)/2
	for _, name := range names {
		d := distance(strings.ToLower(got), name)
		if strings.HasPrefix(name, strings.ToLower(got)) {
			d = 0 // cut short
		}
		if d < limit {
			best, limit = name, d
		}
	}
	if best == "" {
		return ", want one of " + strings.Join(names, ", ")
	}
	return " (did you mean " + best + "?)"
}

// distance returns the Levenshtein distance of a and b.
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

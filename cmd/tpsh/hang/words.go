package hang

import (
	"fmt"
	"strconv"
	"strings"
)

// rankList names ranks: rank 3, ranks 0-2,5.
func rankList(ranks []int) string {
	if len(ranks) == 0 {
		return "no rank"
	}
	var parts []string
	for i := 0; i < len(ranks); {
		k := i
		for k+1 < len(ranks) && ranks[k+1] == ranks[k]+1 {
			k++
		}
		if k > i+1 {
			parts = append(parts, fmt.Sprintf("%d-%d", ranks[i], ranks[k]))
		} else {
			for n := i; n <= k; n++ {
				parts = append(parts, strconv.Itoa(ranks[n]))
			}
		}
		i = k + 1
	}
	if len(ranks) == 1 {
		return "rank " + parts[0]
	}
	return "ranks " + strings.Join(parts, ",")
}

// verb returns the form of a verb that goes with ranks.
func verb(ranks []int, one, many string) string {
	if len(ranks) == 1 {
		return one
	}
	return many
}

package hardware

import (
	"strings"

	"tpsh/internal/spell"
)

// meant returns " (did you mean x?)" for the name that got is cut short of, those that
// it is a part of, or the one nearest to it; or else lists the names.
func meant(got string, names []string) string {
	var within []string
	for _, name := range names {
		at := strings.Index(name, strings.ToLower(got))
		switch {
		case got == "" || at < 0:
		case at == 0:
			return " (did you mean " + name + "?)"
		case len(got) >= leastPart:
			within = append(within, name)
		}
	}
	if len(within) > 0 {
		return " (did you mean " + strings.Join(within, " or ") + "?)"
	}
	if near := spell.Nearest(got, names); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ", want one of " + strings.Join(names, ", ")
}

// leastPart is how many letters of a name tell that it was meant.
const leastPart = 4

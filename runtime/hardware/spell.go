package hardware

import (
	"strings"

	"tpsh/internal/spell"
)

// meant returns " (did you mean x?)" for the name that got is cut short of, or
// the one nearest to it; or else lists the names.
func meant(got string, names []string) string {
	for _, name := range names {
		if got != "" && strings.HasPrefix(name, strings.ToLower(got)) {
			return " (did you mean " + name + "?)"
		}
	}
	if near := spell.Nearest(got, names); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ", want one of " + strings.Join(names, ", ")
}

package hardware

import (
	"strings"

	"tpsh/internal/spell"
)

// meant returns " (did you mean x?)" for the name nearest to got, or all names.
func meant(got string, names []string) string {
	if near := spell.Begun(got, names); near != "" {
		return " (did you mean " + near + "?)"
	}
	return ", want one of " + strings.Join(names, ", ")
}

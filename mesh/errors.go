package mesh

import (
	"fmt"
	"strconv"
	"strings"
)

// An Error says that an argument does not fit. It does not know the function
// that a script called: the caller puts that before it.
type Error struct {
	Param string // the parameter, as scripts name it
	Got   string // as a script writes it
	Want  string
	Rule  string // why, or ""
}

func (e *Error) Error() string {
	s := fmt.Sprintf("for parameter %q: got %s, want %s", e.Param, e.Got, e.Want)
	if e.Rule != "" {
		s += " (" + e.Rule + ")"
	}
	return s
}

// Tuple returns ints as a script writes them: (2, 3), (4,) or ().
func Tuple(ints []int) string {
	if len(ints) == 1 {
		return "(" + strconv.Itoa(ints[0]) + ",)"
	}
	return "(" + join(ints, ", ") + ")"
}

// join returns ints in decimal with sep between them.
func join(ints []int, sep string) string {
	var b strings.Builder
	for i, n := range ints {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// listOf says how long a list is.
func listOf(n int) string { return "a list of " + strconv.Itoa(n) }

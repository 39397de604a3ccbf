package builtins

import (
	"fmt"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/internal/units"
)

// ThereAre says how many things there are.
func ThereAre(n int, thing string) string {
	if n == 1 {
		return "there is 1 " + thing
	}
	return "there are " + units.Count(n, thing)
}

// mostNames is how many names an error lists.
const mostNames = 8

// QuotedNames returns names as an error lists them.
func QuotedNames(names []string) string {
	var quoted []string
	for i, name := range names {
		if i == mostNames {
			quoted = append(quoted, fmt.Sprintf("%d more", len(names)-i))
			break
		}
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	return strings.Join(quoted, ", ")
}

// oneOf returns "one of" and all choices.
func oneOf(choices []string) string {
	quoted := make([]string, len(choices))
	for i, c := range choices {
		quoted[i] = strconv.Quote(c)
	}
	return "one of " + strings.Join(quoted, ", ")
}

// JoinPath returns the path of what is called name in the module at path.
func JoinPath(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// PyBool returns b as scripts write it.
func PyBool(b bool) string { return starlark.Bool(b).String() }

// Say prints text as the script's print does.
func Say(thread *starlark.Thread, text string) { thread.Print(thread, strings.TrimRight(text, "\n")) }

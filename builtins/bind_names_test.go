package builtins

import (
	"slices"
	"testing"

	"tpsh/runtime/op"
)

// Another name of a parameter is none that the operator has for another.
func TestOtherNames(t *testing.T) {
	for d := range op.Every {
		var names []string
		for _, p := range d.Params {
			for _, name := range append([]string{p.Name}, p.Also...) {
				if slices.Contains(names, name) {
					t.Errorf("%s: two parameters are called %s", d.Name, name)
				}
				names = append(names, name)
			}
		}
	}
}

// What holds for every operator is of use to one.
func TestNamesEverywhere(t *testing.T) {
	for keyword, name := range everywhere {
		known := false
		for d := range op.Every {
			known = known || slices.ContainsFunc(d.Params, func(p op.Param) bool { return p.Name == name })
		}
		if !known {
			t.Errorf("no operator has %s, for which %s stands", name, keyword)
		}
	}
}

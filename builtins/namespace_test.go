package builtins

import (
	"testing"

	"go.starlark.net/starlark"
)

// The members of a namespace are made once, and not before they are asked for.
func TestNamespaceIsMadeWhenAsked(t *testing.T) {
	made := 0
	n := newNamespace("x", func() starlark.StringDict {
		made++
		return starlark.StringDict{"a": starlark.MakeInt(1)}
	})
	if text := n.String(); made != 0 || text != "<module \"x\">" {
		t.Errorf("made %d times for %s, want 0", made, text)
	}
	if v, err := n.Attr("a"); err != nil || v != starlark.MakeInt(1) {
		t.Errorf("got %v, %v, want 1", v, err)
	}
	if _, err := n.Attr("b"); err == nil || made != 1 || len(n.AttrNames()) != 1 {
		t.Errorf("made %d times, want once; error of a name that is not there: %v", made, err)
	}
}

// Namespaces stand in each other as their names say, and the names of types are none.
func TestNamesOf(t *testing.T) {
	if windows, err := universe()["signal"].(*namespace).Attr("windows"); err != nil || windows.(*namespace).Name != "signal.windows" {
		t.Errorf("got %v, %v, want the namespace signal.windows", windows, err)
	}
	for _, name := range []string{"json", "math"} {
		if v := universe()[name]; v != nil {
			t.Errorf("got %v called %s, want Starlark's own, which has the name where this is none", v, name)
		}
	}
	if v := universe()["Tensor"]; v != nil {
		t.Errorf("got %v called Tensor, want a type, which is no name", v)
	}
}

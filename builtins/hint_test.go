package builtins

import "testing"

// What is said of members that tensors have not is of none that they have.
func TestAbsent(t *testing.T) {
	for name, hint := range absent() {
		if IsMember("Tensor", name) {
			t.Errorf("tensors have .%s, and nobody is told: %s", name, hint)
		}
	}
}

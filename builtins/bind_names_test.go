package builtins

import (
	"slices"
	"testing"

	"tpsh/runtime/op"
)

// Each of PyTorch's names stands for a parameter that an operator of that name has, and is none of its own.
func TestTorchNames(t *testing.T) {
	for name, names := range torchNames {
		for keyword, param := range names {
			known, taken := false, false
			for d := range op.Every {
				if name == "" || d.Name == name {
					has := func(p string) bool {
						return slices.ContainsFunc(d.Params, func(q op.Param) bool { return q.Name == p })
					}
					known = known || has(param)
					taken = taken || has(param) && has(keyword)
				}
			}
			if !known {
				t.Errorf("%s: no operator has %s, for which %s stands", name, param, keyword)
			}
			if taken {
				t.Errorf("%s: %s stands for %s, and is a parameter, too", name, keyword, param)
			}
		}
	}
}

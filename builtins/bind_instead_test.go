package builtins

import "testing"

// What a call is of does not depend on whether what may be called instead was called before.
func TestInsteadIsMade(t *testing.T) {
	n := 0
	for _, list := range [][]*signature{functions(), methods()} {
		for _, s := range list {
			if s.def.Instead == "" {
				continue
			}
			n++
			fresh := &signature{def: s.def, owner: s.owner, name: s.name}
			first := fresh.made().insteadOf(nil, nil, nil) != nil
			fresh.instead.made()
			if then := fresh.insteadOf(nil, nil, nil) != nil; then != first {
				t.Errorf("%s without arguments: the call is of the other operator %t, then %t", s.name, first, then)
			}
		}
	}
	if n == 0 {
		t.Error("no operator stands for another")
	}
}

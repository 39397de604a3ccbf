package lazyregexp

import "testing"

func TestExpr(t *testing.T) {
	e := New(`^rank([0-9]+)$`)
	if m := e.Get().FindStringSubmatch("rank12"); len(m) != 2 || m[1] != "12" {
		t.Errorf("got %q, want the number of the rank", m)
	}
	if e.Get() != e.Get() {
		t.Error("compiled twice, want once")
	}
	defer func() {
		if recover() == nil {
			t.Error("a wrong pattern did not panic at its use")
		}
	}()
	New(`(`).Get() // New itself does not compile
}

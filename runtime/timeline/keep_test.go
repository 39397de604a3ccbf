package timeline

import "testing"

// Of a long session the last events are kept, and it is known how many came before.
func TestKeep(t *testing.T) {
	r := &Rank{Events: make([]Event, 10), Left: 1}
	r.Events[9].Name = "last"
	if r.Keep(20); len(r.Events) != 10 || r.Left != 1 {
		t.Errorf("of few: got %d events and %d left out, want 10 and 1", len(r.Events), r.Left)
	}
	if r.Keep(4); len(r.Events) != 4 || r.Left != 7 || r.Events[3].Name != "last" {
		t.Errorf("of many: got %d events and %d left out, want 4 and 7", len(r.Events), r.Left)
	}
}

package spin

import (
	"testing"
	"time"
)

// A wait ends its polling after a time, and not with its first looks.
func TestLimitPasses(t *testing.T) {
	var limit Limit
	if limit.Passed(0) {
		t.Error("passed before the first look")
	}
	start := time.Now()
	for i := 1; !limit.Passed(i); i++ {
		if time.Since(start) > time.Minute {
			t.Fatal("never passed")
		}
	}
	if took := time.Since(start); took < longest/2 {
		t.Errorf("passed after %v, want %v", took, longest)
	}
}

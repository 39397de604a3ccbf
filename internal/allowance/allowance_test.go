package allowance

import (
	goruntime "runtime"
	"testing"
)

func TestMemory(t *testing.T) {
	if goruntime.GOOS != "linux" {
		t.Skip("only Linux is asked")
	}
	total, free := Memory(), Available()
	if total < 64<<20 || free <= 0 || free > total {
		t.Errorf("got %d bytes, %d available, want at least 64 MiB and some of them available", total, free)
	}
}

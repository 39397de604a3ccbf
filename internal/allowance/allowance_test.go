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

func TestCores(t *testing.T) {
	all, processors, cores := goruntime.NumCPU(), Processors(), Cores()
	if processors < 1 || processors > all || cores < 1 || cores > processors {
		t.Errorf("got %d cores of %d of %d processors, want at least 1 of each, and not more of the former", cores, processors, all)
	}
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(1))
	if processors, cores = Processors(), Cores(); processors < 1 || cores != 1 {
		t.Errorf("with GOMAXPROCS 1: got %d cores of %d, want 1", cores, processors)
	}
}

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

func TestBelieve(t *testing.T) {
	if got := Here(); got.Memory != MemoryLimit() || got.Processors != ProcessorLimit() {
		t.Errorf("got %+v, want what is here", got)
	}
	Believe(&Known{Processors: Limit{3, "/cpu.max"}, Memory: Limit{1 << 30, "/memory.max"}})
	defer Believe(nil)
	if Memory() != 1<<30 || Processors() != 3 {
		t.Errorf("got %d bytes and %d processors, want those that were told", Memory(), Processors())
	}
}

package peak

import (
	"testing"
	"time"

	"tpsh/runtime/kernel/vec"
)

// Every set counts what it does, and twice as much takes longer.
func TestMultiply(t *testing.T) {
	if got := Multiply(0); got != 0 {
		t.Errorf("Multiply(0) = %d operations, want none", got)
	}
	want := 2 * chains * 1000
	if got := scalar(1000); got != want {
		t.Errorf("scalar(1000) = %d operations, want %d", got, want)
	}
	if got := rounds(vec.Active(), 1000); got%want != 0 || got == 0 {
		t.Errorf("1000 rounds are %d operations, want a multiple of %d", got, want)
	}
	since := time.Now()
	Multiply(10_000_000)
	if took := time.Since(since); took < time.Millisecond {
		t.Errorf("10 million rounds took %v: the instructions were not carried out", took)
	}
}

func BenchmarkMultiply(b *testing.B) {
	ops := Multiply(b.N)
	b.ReportMetric(float64(ops)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}

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

// Products of bfloat16 have a limit of their own only where there are tiles.
func TestMultiplyBFloat16(t *testing.T) {
	if got := MultiplyBFloat16(0); got != 0 {
		t.Errorf("MultiplyBFloat16(0) = %d operations, want none", got)
	}
	want := rounds(vec.Active(), 1000)
	if vec.Active() == vec.AMX {
		want = 1000 * 4 * 16 * 16 * 32 * 2
	}
	if got := MultiplyBFloat16(1000); got != want {
		t.Errorf("MultiplyBFloat16(1000) = %d operations, want %d", got, want)
	}
}

func BenchmarkMultiplyBFloat16(b *testing.B) {
	ops := MultiplyBFloat16(b.N)
	b.ReportMetric(float64(ops)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}

func BenchmarkMultiply(b *testing.B) {
	ops := Multiply(b.N)
	b.ReportMetric(float64(ops)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
}

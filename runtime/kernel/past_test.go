package kernel

import "testing"

// Rows that are stored past the caches are those that f makes, whether they fill lines
// of the caches or not; short results, long rows and those in place are left alone.
func TestRowsPast(t *testing.T) {
	large := 0
	for bytes := 1 << 16; bytes <= 1<<28 && large == 0; bytes *= 2 {
		if Past(bytes) {
			large = bytes / 4
		}
	}
	double := func(dst, x []float32) {
		for i, v := range x {
			dst[i] = 2 * v
		}
	}
	if small := make([]float32, 96); RowsPast(small, make([]float32, 96), 32, double) {
		t.Error("RowsPast of 96 elements = true, want false")
	}
	if large == 0 {
		t.Skip("this machine stores nothing past the caches")
	}
	for _, n := range []int{1, 100, 1024, mostPast} {
		rows := large/n + 1
		x, dst := make([]float32, rows*n), make([]float32, rows*n)
		for i := range x {
			x[i] = float32(i % 1001)
		}
		if !RowsPast(dst, x, n, double) {
			t.Fatalf("RowsPast of %d rows of %d = false, want true", rows, n)
		}
		for i, v := range dst {
			if v != 2*x[i] {
				t.Fatalf("%d rows of %d: element %d is %v, want %v", rows, n, i, v, 2*x[i])
			}
		}
	}
	x := make([]float32, 2*large)
	if RowsPast(x, x, 64, double) || RowsPast(make([]float32, len(x)), x, len(x), double) {
		t.Error("RowsPast in place or of one long row = true, want false")
	}
}

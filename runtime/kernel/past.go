package kernel

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// Past reports whether results of so many bytes, of few steps each, are to be stored past the
// caches: no near one has their lines (see vec.LightPast).
func Past(bytes int) bool { return vec.LightPast(bytes) }

// CopyPast copies x to dst, which is as long, past the caches where dst lies as that takes. Who
// calls it has asked Past, and calls Settle behind the last of several.
func CopyPast[T dtype.Number](dst, x []T) { vec.CopyPast(dst, x) }

// Settle has what CopyPast has stored be there before whatever is stored next.
func Settle() { vec.Settle() }

// mostPast is of how many elements at most rows are that RowsPast takes: one that is made
// stays in the first-level cache until it is copied.
const mostPast = 4 << 10

// RowsPast calls f with each row of n elements of dst and x, and has what it makes stored
// past the caches (see Past). It reports false, and has done nothing, if dst is too
// small for that, rows are too long or dst is x.
func RowsPast(dst, x []float32, n int, f func(dst, x []float32)) bool {
	check2(len(dst), len(x))
	if !Past(4*len(x)) || n == 0 || n > mostPast || &dst[0] == &x[0] {
		return false
	}
	row := make([]float32, n)
	for at := 0; at < len(x); at += n {
		f(row, x[at:at+n])
		CopyPast(dst[at:at+n], row)
	}
	Settle()
	return true
}

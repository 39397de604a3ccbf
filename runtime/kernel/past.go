package kernel

import "tpsh/runtime/kernel/vec"

// mostPast is of how many elements at most rows are that RowsPast takes: one that is made
// stays in the first-level cache until it is copied.
const mostPast = 4 << 10

// RowsPast calls f with each row of n elements of dst and x, and has what it makes stored
// past the caches (see vec.LightPast). It reports false, and has done nothing, if dst is too
// small for that, rows are too long or dst is x.
func RowsPast(dst, x []float32, n int, f func(dst, x []float32)) bool {
	check2(len(dst), len(x))
	if !vec.LightPast(4*len(x)) || n == 0 || n > mostPast || &dst[0] == &x[0] {
		return false
	}
	row := make([]float32, n)
	for at := 0; at < len(x); at += n {
		f(row, x[at:at+n])
		vec.CopyPast(dst[at:at+n], row)
	}
	vec.Settle()
	return true
}

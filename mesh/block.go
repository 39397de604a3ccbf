package mesh

import "fmt"

// Block returns the half-open range [lo, hi) of an axis of n elements that
// block i of parts holds: blocks of ceil(n/parts), the last ones shorter or
// empty, as torch.chunk cuts. An axis need not divide evenly; an empty block
// begins where the axis ends.
//
// Block panics unless n >= 0 and 0 <= i < parts.
func Block(n, parts, i int) (lo, hi int) {
	if n < 0 || i < 0 || i >= parts {
		panic(fmt.Sprintf("mesh: no block %d of %d elements in %d parts", i, n, parts))
	}
	size := n / parts
	if n%parts > 0 {
		size++
	}
	if n == 0 || i > (n-1)/size { // beyond the last element, where i*size may overflow
		return n, n
	}
	lo = i * size
	return lo, lo + min(size, n-lo)
}

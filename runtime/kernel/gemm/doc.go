// Package gemm multiplies matrices of float32 and float64.
//
// # The order of a sum
//
// Every element of a product c[i, j] = Σ a[i, l] b[l, j] is computed as
//
//	for first := 0; first < k; first += Block {
//		sum := 0
//		for l := first; l < min(first+Block, k); l++ {
//			sum = fma(a[i, l], b[l, j], sum) // rounded once
//		}
//		if first == 0 {
//			c[i, j] = sum
//		} else {
//			c[i, j] += sum
//		}
//	}
//
// whatever the instructions in use, the number of goroutines, how the operands
// lie in memory, and what rows and columns stand beside it. So all of these
// give the same bits (but for the payload of a NaN). Vectors run along the
// columns of c: their length decides how many sums go on side by side, and
// never what is added to what.
//
// # The order of a sum of bfloat16
//
// Where both operands are bfloat16 it is
//
//	c[i, j] = 0
//	for first := 0; first < k; first += PairBlock {
//		even, odd := 0, 0
//		for l := first; l < min(first+PairBlock, k); l += 2 {
//			even = fma(a[i, l], b[l, j], even)
//			odd = fma(a[i, l+1], b[l+1, j], odd) // unless l+1 is k
//		}
//		c[i, j] += even + odd
//	}
//
// in float32: the order in which the tile instruction of AMX adds, which is used where
// it gives these bits, by tiled.go. So all that is said above holds here, too. Float16, and
// bfloat16 by numbers of another type, add in the order above.
//
// # How it is fast
//
// The scheme is that of Goto and van de Geijn, "Anatomy of high-performance
// matrix multiplication", ACM TOMS 34(3), 2008, in the form of Van Zee and van
// de Geijn, "BLIS: a framework for rapidly instantiating BLAS functionality",
// ACM TOMS 41(3), 2015. A tile is a few rows and a few vectors of columns of c
// whose sums stay in registers while Block steps of the inner dim go by; it is
// the only thing written in assembly (AMX, AVX-512, AVX2, NEON) that multiplies. What
// it reads lies as it is read: a and b are packed, block by block, in the order
// of tiles, and any strides, transposes and half-precision numbers are dealt with
// on the way. Operands that are read once or that are small are read where they
// lie.
package gemm

package kernel

import (
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// together is how many rows' distances from a row are made at once.
const together = 4

// DistancesTo stores in dst [m, n] the distances of the rows of x [m, k] from those of y [n, k]:
//
//	for i := range m {
//		for j := range n {
//			dst[i][j] = √ sum over l of (x[i][l] - y[j][l])²
//		}
//	}
//
// or, if abs, the sum of |x[i][l] - y[j][l]|. Differences are taken first, so that of rows that
// are near nothing is lost. A row is cut into blocks of Block elements, whose terms are added in
// the lanes of a reduction; the sums of blocks are added in float64, in order. It panics if the
// lengths do not fit.
func DistancesTo[T dtype.Float](dst, x, y []T, m, n, k int, abs bool) {
	check2(len(dst), m*n)
	check2(len(x), m*k)
	check2(len(y), n*k)
	block := blockOfDistances[T](abs)
	near := max(nearElements/max(k, 1), 1)
	for lo := 0; lo < m; lo += near {
		hi := min(lo+near, m)
		for j := 0; j < n; j += together {
			var rows [together][]T // the last one again where there are no more
			for r := range rows {
				rows[r] = y[min(j+r, n-1)*k:][:k]
			}
			for i := lo; i < hi; i++ {
				sums := distancesOf(x[i*k:][:k], &rows, block)
				for r := range min(together, n-j) {
					if v := sums[r]; abs {
						dst[i*n+j+r] = T(v)
					} else {
						dst[i*n+j+r] = T(math.Sqrt(v))
					}
				}
			}
		}
	}
}

// nearElements is how many elements of x meet all of y before the next ones do: they stay in the
// second-level cache.
const nearElements = 48 << 10

// distancesOf adds the terms of a row and each of four others.
func distancesOf[T dtype.Float](x []T, rows *[together][]T, block func(x, a, b, c, d []T) [together]T) (sums [together]float64) {
	for lo := 0; lo < len(x); lo += Block {
		hi := min(lo+Block, len(x))
		for r, v := range block(x[lo:hi], rows[0][lo:hi], rows[1][lo:hi], rows[2][lo:hi], rows[3][lo:hi]) {
			sums[r] += float64(v)
		}
	}
	return sums
}

// blockOfDistances returns the function that adds the terms of a block of each of four rows.
func blockOfDistances[T dtype.Float](abs bool) func(x, a, b, c, d []T) [together]T {
	if f, ok := any(distances32(abs)).(func(x, a, b, c, d []T) [together]T); ok {
		return f
	}
	return func(x, a, b, c, d []T) (sums [together]T) {
		for r, row := range [together][]T{a, b, c, d} {
			sums[r] = distanceBlock(x, row, abs)
		}
		return sums
	}
}

func distances32(abs bool) func(x, a, b, c, d []float32) [together]float32 {
	return func(x, a, b, c, d []float32) (sums [together]float32) {
		var lane [together][lanes]float32
		if abs {
			vec.AbsDistances(x, a, b, c, d, &lane[0], &lane[1], &lane[2], &lane[3])
		} else {
			vec.SquaredDistances(x, a, b, c, d, &lane[0], &lane[1], &lane[2], &lane[3])
		}
		for r := range lane {
			sums[r] = addLanes(&lane[r])
		}
		return sums
	}
}

// distanceBlock adds the terms of a block of a row.
func distanceBlock[T dtype.Float](x, row []T, abs bool) T {
	var lane [lanes]T
	row = row[:len(x)]
	for i, v := range x {
		d := v - row[i]
		if abs {
			d = T(math.Abs(float64(d)))
		} else {
			d = T(d * d)
		}
		lane[i%lanes] += d
	}
	return addLanes(&lane)
}

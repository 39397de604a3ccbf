package gemm

import (
	"fmt"

	"tpsh/runtime/dtype"
)

// CopyFromApart copies rows of n elements each: element i of row l of to, whose rows lie width
// elements apart, is the one at l*stride + i*apart of from. It panics if they reach beyond what it
// takes.
func CopyFromApart[T dtype.Float](to []T, width int, from []T, stride, apart, n, rows int) {
	if n < 1 || rows < 1 || width < 0 || stride < 0 || apart < 1 || (rows-1)*width+n > len(to) || (rows-1)*stride+(n-1)*apart >= len(from) {
		panic(fmt.Sprintf("gemm: %d rows of %d in %d elements, %d and %d apart, to %d elements, %d apart", rows, n, len(from), stride, apart, len(to), width))
	}
	ks := active[T]()
	switch {
	case apart == 1:
		ks.copyRows(&to[0], width, &from[0], stride, n, rows)
		return
	case apart == 2 && n >= ks.lanes && ks.fromSeconds != nil:
		ks.fromSeconds(&to[0], width, &from[0], stride, n, rows)
		return
	}
	for l := range rows {
		row, p := to[l*width:][:n], l*stride
		for i := range row {
			row[i] = from[p]
			p += apart
		}
	}
}

// CopyToApart stores rows of n elements each: element i of row l of from, whose rows lie stride
// elements apart, is then the one at l*width + i*apart of to. What lies between these is as it was. It
// panics if they reach beyond what it takes.
func CopyToApart[T dtype.Float](to []T, width, apart int, from []T, stride, n, rows int) {
	if n < 1 || rows < 1 || width < 0 || stride < 0 || apart < 1 || (rows-1)*width+(n-1)*apart >= len(to) || (rows-1)*stride+n > len(from) {
		panic(fmt.Sprintf("gemm: %d rows of %d in %d elements, %d apart, to %d elements, %d and %d apart", rows, n, len(from), stride, len(to), width, apart))
	}
	ks := active[T]()
	switch {
	case apart == 1:
		ks.copyRows(&to[0], width, &from[0], stride, n, rows)
		return
	case apart == 2 && ks.toSeconds != nil:
		ks.toSeconds(&to[0], width, &from[0], stride, n, rows)
		return
	}
	for l := range rows {
		p := l * width
		for _, x := range from[l*stride:][:n] {
			to[p] = x
			p += apart
		}
	}
}

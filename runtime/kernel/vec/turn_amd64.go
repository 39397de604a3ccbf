package vec

// turn is Turn, with AVX2, eight rows and eight columns at a time.
func turn(dst, src []byte, row int) { turnAVX2(&dst[0], &src[0], row) }

// turnAVX2 is Turn of slices that begin with dst and src.
//
//go:noescape
func turnAVX2(dst, src *byte, row int)

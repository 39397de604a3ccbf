//go:build amd64 || arm64

package gemm

import "unsafe"

//go:generate go -C gen run .

// widenBy returns a function that widens vectors of so many lanes by vector
// and the rest by scalar.
func widenBy[H half](vector func(dst *float32, src *uint16, n int), lanes int, scalar func(dst []float32, src []H)) func(dst []float32, src []H) {
	return func(dst []float32, src []H) {
		n := len(src) &^ (lanes - 1)
		if n > 0 {
			_ = dst[n-1]
			vector(&dst[0], (*uint16)(unsafe.Pointer(&src[0])), n)
		}
		scalar(dst[n:], src[n:])
	}
}

//go:build !amd64

package vec

// turn is Turn.
func turn(dst, src []byte, row int) { turnGo(dst, src, row) }

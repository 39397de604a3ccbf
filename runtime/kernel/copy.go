package kernel

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"tpsh/runtime/kernel/vec"
)

// tile is the side of the squares in which Copy walks elements that lie in
// columns: a square of each operand stays in the first-level cache.
const tile = vec.Side

// thin is how many columns a table has at least that Copy walks row by row.
const thin = 8

// A Grid says where the elements of a table of rows and columns lie in a
// slice: element (i, j) at Offset + i*Row + j*Col. Row and Col may be 0 or
// negative.
type Grid struct{ Offset, Row, Col int }

// Copy is
//
//	for i := range rows {
//		for j := range cols {
//			dst[d.Offset+i*d.Row+j*d.Col] = src[s.Offset+i*s.Row+j*s.Col]
//		}
//	}
//
// in an order of its own: the elements of dst are distinct and not among those
// of src. It panics if one lies outside its slice.
func Copy[T any](dst []T, d Grid, src []T, s Grid, rows, cols int) {
	switch {
	case d.Col == 1 && d.Row == cols && s.Row == 1 && s.Col >= 0 && (cols == 2 || cols == 3) && rows > 0:
		interleave(dst[d.Offset:d.Offset+rows*cols], src[s.Offset:], s.Col, rows, cols)
	case cols < thin && rows > cols && cols > 0:
		copyStrided(dst, turned(d), src, turned(s), cols, rows)
	case d.Col == 1 && s.Col == 1:
		for range rows {
			copy(dst[d.Offset:d.Offset+cols], src[s.Offset:s.Offset+cols])
			d.Offset, s.Offset = d.Offset+d.Row, s.Offset+s.Row
		}
	case d.Col == 1 && s.Col == 0:
		for range rows {
			spread(dst[d.Offset:d.Offset+cols], src[s.Offset])
			d.Offset, s.Offset = d.Offset+d.Row, s.Offset+s.Row
		}
	case d.Col == 1 && s.Col == -1:
		for range rows {
			copyReversed(dst[d.Offset:d.Offset+cols], src[s.Offset+1-cols:s.Offset+1])
			d.Offset, s.Offset = d.Offset+d.Row, s.Offset+s.Row
		}
	case d.Col == 1 && s.Row == 1 && rows > 1 && cols > 1:
		copyTurned(dst, d, src, s, rows, cols)
	case d.Row == 1 && s.Col == 1 && rows > 1 && cols > 1:
		copyTurned(dst, turned(d), src, turned(s), cols, rows)
	case rows > 1 && abs(s.Row) < abs(s.Col):
		copyTiles(dst, d, src, s, rows, cols)
	default:
		copyStrided(dst, d, src, s, rows, cols)
	}
}

// fillStart is how many elements spread sets one by one, before it copies them.
const fillStart = 32

// Clear sets every byte of dst to zero.
func Clear(dst []byte) {
	if Past(len(dst)) {
		spread(dst, 0)
		return
	}
	clear(dst)
}

// spread is Fill of elements of any type.
func spread[T any](dst []T, v T) {
	if Past(len(dst) * int(unsafe.Sizeof(v))) {
		spreadPast(dst, v)
		return
	}
	if unsafe.Sizeof(v) == 4 && len(dst) >= fillStart {
		vec.Fill(unsafe.Slice((*uint32)(unsafe.Pointer(&dst[0])), len(dst)), *(*uint32)(unsafe.Pointer(&v)))
		return
	}
	for i := range dst[:min(len(dst), fillStart)] {
		dst[i] = v
	}
	for n := fillStart; n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

// pastBlock is how many bytes spreadPast copies at a time: the first-level cache keeps them.
const pastBlock = 4 << 10

// spreadPast is spread that stores past the caches.
func spreadPast[T any](dst []T, v T) {
	block := make([]T, pastBlock/unsafe.Sizeof(v))
	spread(block, v)
	for lo := 0; lo < len(dst); lo += len(block) {
		to := dst[lo:min(lo+len(block), len(dst))]
		vec.CopyPast(to, block[:len(to)])
	}
	Settle()
}

// interleave stores the elements of two or three columns of src, each of which is contiguous and
// begins a stride behind the last, in dst in turn.
func interleave[T any](dst, src []T, stride, rows, cols int) {
	a, b := src[:rows], src[stride:][:rows]
	if cols == 2 {
		for i, v := range a {
			to := dst[2*i:][:2]
			to[0], to[1] = v, b[i]
		}
		return
	}
	c := src[2*stride:][:rows]
	even := 0
	if unsafe.Sizeof(dst[0]) == 4 {
		even = rows &^ 1
		interleaveFours(bytesOf(dst[:3*even]), bytesOf(a[:even]), bytesOf(b[:even]), bytesOf(c[:even]))
	}
	for i := even; i < rows; i++ {
		to := dst[3*i:][:3]
		to[0], to[1], to[2] = a[i], b[i], c[i]
	}
}

// interleaveFours is interleave of three columns of elements of 4 bytes, two rows at a time. The
// bytes of an element keep their order whatever it is.
func interleaveFours(dst, a, b, c []byte) {
	const low = 1<<32 - 1
	for len(dst) >= 24 {
		x, y, z := binary.LittleEndian.Uint64(a[:8]), binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(c[:8])
		binary.LittleEndian.PutUint64(dst[:8], x&low|y<<32)
		binary.LittleEndian.PutUint64(dst[8:16], z&low|x&^low)
		binary.LittleEndian.PutUint64(dst[16:24], y>>32|z&^low)
		dst, a, b, c = dst[24:], a[8:], b[8:], c[8:]
	}
}

func copyStrided[T any](dst []T, d Grid, src []T, s Grid, rows, cols int) {
	for range rows {
		to, from := d.Offset, s.Offset
		for range cols {
			dst[to] = src[from]
			to, from = to+d.Col, from+s.Col
		}
		d.Offset, s.Offset = d.Offset+d.Row, s.Offset+s.Row
	}
}

// copyTiles is copyStrided square by square: src is read along its rows and
// dst written along its own, or nearly so.
func copyTiles[T any](dst []T, d Grid, src []T, s Grid, rows, cols int) {
	for i := 0; i < rows; i += tile {
		for j := 0; j < cols; j += tile {
			to := Grid{d.Offset + i*d.Row + j*d.Col, d.Row, d.Col}
			from := Grid{s.Offset + i*s.Row + j*s.Col, s.Row, s.Col}
			copyStrided(dst, to, src, from, min(tile, rows-i), min(tile, cols-j))
		}
	}
}

// copyTurned is copyStrided where the columns of src are contiguous and so are
// the rows of dst: square by square, by way of room in which a square is
// contiguous. So every line of the cache is read and written once, even if the
// distance of rows is a power of two, where few lines of a column fit the
// cache.
func copyTurned[T any](dst []T, d Grid, src []T, s Grid, rows, cols int) {
	var room [tile * tile]T
	for i := 0; i < rows; i += tile {
		m := min(tile, rows-i)
		for j := 0; j < cols; j += tile {
			n := min(tile, cols-j)
			from := Grid{s.Offset + i + j*s.Col, s.Col, 1}
			if unsafe.Sizeof(room[0]) == 4 && m == tile && n == tile && s.Col >= 0 {
				rows := bytesOf(src)[4*from.Offset:]
				if d.Row == tile { // the square lies together
					vec.Turn(bytesOf(dst)[4*(d.Offset+i*d.Row+j):], rows, 4*s.Col)
					continue
				}
				vec.Turn(bytesOf(room[:]), rows, 4*s.Col)
			} else {
				for c := range n {
					at := from.Offset + c*from.Row
					for r, v := range src[at : at+m] {
						room[(r*tile+c)%len(room)] = v
					}
				}
			}
			for r := range m {
				to := d.Offset + (i+r)*d.Row + j
				if n == tile { // the compiler knows how many these are
					*(*[tile]T)(dst[to:]) = [tile]T(room[r*tile:])
					continue
				}
				copy(dst[to:to+n], room[r*tile:])
			}
		}
	}
}

// copyReversed stores src in dst, of the same length, from the last element to the first:
// of small elements as many at a time as 8 bytes hold. The bytes of an element keep their
// order whatever it is.
func copyReversed[T any](dst, src []T) {
	size := int(unsafe.Sizeof(*new(T)))
	whole := 0 // elements that are moved by eights of bytes
	if size < 8 {
		whole = len(src) * size / 8 * 8 / size
		to, from := bytesOf(dst[:whole]), bytesOf(src[len(src)-whole:])
		switch size {
		case 1:
			reverseWords(to, from, bits.ReverseBytes64)
		case 2:
			reverseWords(to, from, reversePairs)
		default:
			reverseFours(to, from)
		}
	}
	rest := src[:len(src)-whole]
	for i := range rest {
		dst[whole+i] = rest[len(rest)-1-i]
	}
}

// reverseWords stores what f makes of the words of 8 bytes of src in dst, the last first.
func reverseWords(dst, src []byte, f func(uint64) uint64) {
	for i := 0; i+8 <= len(dst); i += 8 {
		binary.LittleEndian.PutUint64(dst[i:], f(binary.LittleEndian.Uint64(src[len(src)-8-i:])))
	}
}

// reverseFours is reverseWords of words that hold two elements.
func reverseFours(dst, src []byte) {
	for len(dst) >= 32 {
		x, y := src[len(src)-32:], dst[:32]
		a, b := binary.LittleEndian.Uint64(x[24:32]), binary.LittleEndian.Uint64(x[16:24])
		c, d := binary.LittleEndian.Uint64(x[8:16]), binary.LittleEndian.Uint64(x[:8])
		binary.LittleEndian.PutUint64(y[:8], a<<32|a>>32)
		binary.LittleEndian.PutUint64(y[8:16], b<<32|b>>32)
		binary.LittleEndian.PutUint64(y[16:24], c<<32|c>>32)
		binary.LittleEndian.PutUint64(y[24:32], d<<32|d>>32)
		dst, src = dst[32:], src[:len(src)-32]
	}
	reverseWords(dst, src, func(v uint64) uint64 { return v<<32 | v>>32 })
}

// reversePairs returns the four pairs of bytes of v in reverse order.
func reversePairs(v uint64) uint64 {
	const odd = 0x00ff00ff00ff00ff
	v = bits.ReverseBytes64(v)
	return v&odd<<8 | v>>8&odd
}

// turned returns g with rows and columns exchanged.
func turned(g Grid) Grid { return Grid{g.Offset, g.Col, g.Row} }

func abs(x int) int { return max(x, -x) }

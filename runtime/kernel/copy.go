package kernel

// tile is the side of the squares in which Copy walks elements that lie in
// columns: a square of each operand stays in the first-level cache.
const tile = 32

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

func spread[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
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
			for c := range n {
				from := s.Offset + i + (j+c)*s.Col
				for r, v := range src[from : from+m] {
					room[(r*tile+c)%len(room)] = v
				}
			}
			for r := range m {
				to := d.Offset + (i+r)*d.Row + j
				copy(dst[to:to+n], room[r*tile:])
			}
		}
	}
}

// turned returns g with rows and columns exchanged.
func turned(g Grid) Grid { return Grid{g.Offset, g.Col, g.Row} }

func abs(x int) int { return max(x, -x) }

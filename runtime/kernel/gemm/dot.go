package gemm

// isDot reports whether s is the product of a row and a column of several
// blocks that runDot can read.
func (s *shape[T]) isDot() bool {
	return s.m == 1 && s.n == 1 && s.k > Block && !s.add && s.b.Windows == nil && len(s.colTiles) > 0 &&
		!s.a.half() && !s.b.half() && s.a.Col == 1 && s.b.Row == 1
}

// runDot computes the one element of s. The sum of a block is one chain of
// additions, each of which waits for the last; so several blocks are summed at
// once. A tile of which the rows are blocks of a, and the columns those of b,
// has the sums of each block of a with each block of b: those wanted are on
// the diagonal, and the others cost nothing that was not waiting.
func (s *shape[T]) runDot() {
	ws := room[T]()
	defer ws.leave()
	most, whole := min(len(s.colTiles), s.lanes), s.k/Block
	sums, sum := ws.sums(most*most), T(0)
	for first := 0; first < whole; first += most {
		n := min(most, whole-first)
		s.dotTile(sums, first*Block, n, Block)
		for i := range n {
			if first+i == 0 {
				sum = sums[0]
			} else {
				sum += sums[i*n+i]
			}
		}
	}
	if rest := s.k % Block; rest > 0 {
		s.dotTile(sums, whole*Block, 1, rest)
		sum += sums[0]
	}
	s.c[0] = sum
}

// dotTile stores the sums over inner steps of n blocks of a, from step l on,
// with each of those of b.
func (s *shape[T]) dotTile(sums []T, l, n, inner int) {
	a, b := s.a.from(0, l), s.b.from(l, 0)
	s.colTiles[n-1](&sums[0], n, &a.Data[a.Offset], Block, 1, &b.Data[b.Offset], Block, inner, n, false, 0, 0)
}

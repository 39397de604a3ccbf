package kernel

import (
	"math"

	"tpsh/internal/libm"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// An Attention is the attention of L queries on S keys, in one head:
//
//	p[i] = softmax(q[i] kᵀ Scale), the softmax over the keys that i sees
//	y[i] = p[i] v
//
// With a Cap each score x becomes Cap tanh(x / Cap) before it is masked.
//
// A query that sees no key gives zeros. Scores are made, used and forgotten in
// tiles of queryTile by keyTile, so that memory is linear in L and S. The
// result for a query depends on neither the other queries nor the tile it is
// in: tiles of keys begin at multiples of keyTile, their sums are added in
// order, and where a tile brings a greater score than those before, what was
// summed is scaled down first.
//
// Dao, Fu, Ermon, Rudra and Ré, "FlashAttention: fast and memory-efficient
// exact attention with IO-awareness", NeurIPS 2022.
type Attention[T dtype.Float] struct {
	Q, K, V     []T
	GridQ       Grid // of Q [L, Size]
	GridK       Grid // of K [S, Size]
	GridV       Grid // of V [S, Width]
	L, S        int
	Size, Width int
	Scale       T
	Cap         T    // what scores stay below, or 0
	Causal      bool // query i sees keys 0 to i

	// Mask changes the scores dst of query i on the keys from key on: it adds to
	// them, or sets them to -Inf. Nil leaves them.
	Mask func(dst []T, i, key int)
}

// The sides of a tile of scores.
const (
	queryTile = 64
	keyTile   = 128
)

// An AttentionRoom is what an Attention computes in: heads of the same sizes that share one, one
// after another, take memory once. The zero value is an empty one.
type AttentionRoom[T dtype.Float] struct{ tile *attentionTile[T] }

// attentionTile is a tile of an Attention on its way.
type attentionTile[T dtype.Float] struct {
	*Attention[T]
	multiply func(c, a []T, ga Grid, b []T, gb Grid, m, n, k int)
	add      func(dst, x, y []T)
	tanh     func(dst, x []T)
	q        []T       // the queries of the tile, scaled
	p        []T       // scores, then exponentials or weights
	dp       []T       // their gradients
	slope    []T       // those of scores by what Cap makes of them: kept if it is not nil
	part     []T       // a product on its way to a sum
	most     []T       // the greatest score of each query
	sum      []float64 // of the exponentials of scores less the greatest
}

// tile returns the tile of a in a room.
func (a *Attention[T]) tile(room *AttentionRoom[T]) *attentionTile[T] {
	if room.tile != nil {
		room.tile.Attention = a
		return room.tile
	}
	queries, keys := min(queryTile, a.L), min(keyTile, a.S)
	room.tile = &attentionTile[T]{
		Attention: a, multiply: gemmOf[T](), add: sumOf[T](), tanh: tanhOf[T](),
		q: make([]T, queries*a.Size), p: make([]T, queries*keys),
		part: make([]T, max(queries, keys)*max(a.Size, a.Width)),
		most: make([]T, queries), sum: make([]float64, queries),
	}
	return room.tile
}

// gemmOf returns Gemm in T.
func gemmOf[T dtype.Float]() func(c, a []T, ga Grid, b []T, gb Grid, m, n, k int) {
	if f, ok := any(Gemm.F32).(func(c, a []T, ga Grid, b []T, gb Grid, m, n, k int)); ok {
		return f
	}
	return any(Gemm.F64).(func(c, a []T, ga Grid, b []T, gb Grid, m, n, k int))
}

// tanhOf returns Tanh in T.
func tanhOf[T dtype.Float]() func(dst, x []T) {
	if f, ok := any(Tanh.F32).(func(dst, x []T)); ok {
		return f
	}
	return any(Tanh.F64).(func(dst, x []T))
}

// Forward stores y [L, Width] in dst.
func (a *Attention[T]) Forward(dst []T, room *AttentionRoom[T]) {
	check2(len(dst), a.L*a.Width)
	t := a.tile(room)
	for lo := 0; lo < a.L; lo += queryTile {
		hi := min(lo+queryTile, a.L)
		t.forward(dst[lo*a.Width:hi*a.Width], lo, hi)
	}
}

// forward stores the results of queries lo to hi in y.
func (t *attentionTile[T]) forward(y []T, lo, hi int) {
	t.begin(lo, hi)
	clear(y)
	w := t.Width
	for key := 0; key < t.keys(hi); key += keyTile {
		n := min(keyTile, t.keys(hi)-key)
		t.scores(lo, hi, key, n)
		for i := range hi - lo {
			scaleBy(y[i*w:(i+1)*w], t.soften(i, t.p[i*n:(i+1)*n]))
		}
		t.multiply(t.part[:len(y)], t.p, Grid{0, n, 1}, t.V, rowsFrom(t.GridV, key), hi-lo, w, n)
		t.add(y, y, t.part[:len(y)])
	}
	for i, s := range t.sum[:hi-lo] {
		scaleBy(y[i*w:(i+1)*w], reciprocal[T](s))
	}
}

// begin loads the queries lo to hi.
func (t *attentionTile[T]) begin(lo, hi int) {
	if t.Size > 0 {
		Copy(t.q, Grid{0, t.Size, 1}, t.Q, rowsFrom(t.GridQ, lo), hi-lo, t.Size)
		scaleBy(t.q[:(hi-lo)*t.Size], t.Scale)
	}
	for i := range hi - lo {
		t.most[i], t.sum[i] = T(math.Inf(-1)), 0
	}
}

// keys returns how many keys the queries up to hi see.
func (t *attentionTile[T]) keys(hi int) int {
	if t.Causal {
		return min(t.S, hi)
	}
	return t.S
}

// rowsFrom returns g from row i on.
func rowsFrom(g Grid, i int) Grid { return Grid{g.Offset + i*g.Row, g.Row, g.Col} }

// scores sets t.p [hi-lo, n] to the scores of queries lo to hi on n keys.
func (t *attentionTile[T]) scores(lo, hi, key, n int) {
	t.multiply(t.p[:(hi-lo)*n], t.q, Grid{0, t.Size, 1}, t.K, turned(rowsFrom(t.GridK, key)), hi-lo, n, t.Size)
	for i := lo; i < hi; i++ {
		row := t.p[(i-lo)*n : (i-lo+1)*n]
		if t.Cap != 0 {
			t.cap(row, (i-lo)*n)
		}
		if t.Mask != nil {
			t.Mask(row, i, key)
		}
		if t.Causal && i+1 < key+n {
			Fill(row[max(i+1-key, 0):], T(math.Inf(-1)))
		}
	}
}

// cap makes Cap tanh(x / Cap) of scores, and if slopes are kept notes from at on
// the derivatives, 1 - tanh².
func (t *attentionTile[T]) cap(row []T, at int) {
	scaleBy(row, 1/t.Cap)
	t.tanh(row, row)
	if t.slope != nil {
		for j, v := range row {
			t.slope[at+j] = 1 - T(v*v)
		}
	}
	scaleBy(row, t.Cap)
}

// soften turns scores of query i into exponentials, adds them up, and returns
// what the sums before are to be multiplied by.
func (t *attentionTile[T]) soften(i int, row []T) T {
	most := max(t.most[i], mostIn(row))
	if math.IsInf(float64(most), -1) { // it has seen no key yet
		t.sum[i] += nanIn(row)
		clear(row)
		return 1
	}
	scale := libm.Exp(float64(t.most[i]) - float64(most))
	t.most[i] = most
	t.sum[i] = float64(t.sum[i]*scale) + expShift(row, row, most)
	return T(scale)
}

// Backward stores the gradients of Q [L, Size], K [S, Size] and V [S, Width],
// given dy of y [L, Width]. Those of keys and values are added up query tile by
// query tile.
func (a *Attention[T]) Backward(dq, dk, dv, dy, y []T, room *AttentionRoom[T]) {
	check2(len(dq), a.L*a.Size)
	check2(len(dk), a.S*a.Size)
	check2(len(dv), a.S*a.Width)
	check3(len(dy), len(y), a.L*a.Width)
	clear(dq)
	clear(dk)
	clear(dv)
	t := a.tile(room)
	if t.dp == nil {
		t.dp = make([]T, len(t.p))
	}
	if a.Cap != 0 && t.slope == nil {
		t.slope = make([]T, len(t.p))
	}
	for lo := 0; lo < a.L; lo += queryTile {
		hi := min(lo+queryTile, a.L)
		t.measure(lo, hi)
		rows := t.backRows(dy, y, lo, hi)
		for key := 0; key < t.keys(hi); key += keyTile {
			t.backward(dq[lo*a.Size:hi*a.Size], dk, dv, rows, lo, hi, key)
		}
		scaleBy(dq[lo*a.Size:hi*a.Size], a.Scale)
	}
}

// measure finds the greatest score and the sum of each of the queries lo to
// hi, as forward does.
func (t *attentionTile[T]) measure(lo, hi int) {
	t.begin(lo, hi)
	for key := 0; key < t.keys(hi); key += keyTile {
		n := min(keyTile, t.keys(hi)-key)
		t.scores(lo, hi, key, n)
		for i := range hi - lo {
			t.soften(i, t.p[i*n:(i+1)*n])
		}
	}
}

// A backRows is what the gradients of a tile take from the results.
type backRows[T dtype.Float] struct {
	dy  []T // [rows, Width]
	dot []T // dy y for each query
}

func (t *attentionTile[T]) backRows(dy, y []T, lo, hi int) backRows[T] {
	w := t.Width
	r := backRows[T]{dy: dy[lo*w : hi*w], dot: make([]T, hi-lo)}
	for i := range r.dot {
		at := (lo + i) * w
		r.dot[i] = T(dotOf(dy[at:at+w], y[at:at+w]))
	}
	return r
}

// backward adds what the tile of queries lo to hi and of the keys from key on
// contributes. With weights p, dp = dy vᵀ and ds = p (dp - dy y), times the slope of
// a Cap, it is ds k of dq, dsᵀ q of dk, and pᵀ dy of dv.
func (t *attentionTile[T]) backward(dq, dk, dv []T, r backRows[T], lo, hi, key int) {
	m, n, e, w := hi-lo, min(keyTile, t.keys(hi)-key), t.Size, t.Width
	t.scores(lo, hi, key, n)
	for i := range m {
		t.weigh(i, t.p[i*n:(i+1)*n])
	}
	byKey := Grid{0, 1, n}
	t.accumulate(dv[key*w:(key+n)*w], t.p, byKey, r.dy, Grid{0, w, 1}, n, w, m)
	t.multiply(t.dp[:m*n], r.dy, Grid{0, w, 1}, t.V, turned(rowsFrom(t.GridV, key)), m, n, w)
	for i, dot := range r.dot {
		softmaxGradRow(t.p[i*n:(i+1)*n], t.dp[i*n:(i+1)*n], t.p[i*n:(i+1)*n], dot)
	}
	if t.slope != nil {
		for i, v := range t.slope[:m*n] {
			t.p[i] *= v
		}
	}
	t.accumulate(dk[key*e:(key+n)*e], t.p, byKey, t.q, Grid{0, e, 1}, n, e, m)
	t.accumulate(dq, t.p, Grid{0, n, 1}, t.K, rowsFrom(t.GridK, key), m, e, n)
}

// weigh turns scores of query i into its weights.
func (t *attentionTile[T]) weigh(i int, row []T) {
	if math.IsInf(float64(t.most[i]), -1) {
		Fill(row, T(t.sum[i])) // zeros, or NaN
		return
	}
	expShift(row, row, t.most[i])
	scaleBy(row, reciprocal[T](t.sum[i]))
}

// accumulate adds the product of a [m, k] and b [k, n] to dst.
func (t *attentionTile[T]) accumulate(dst, a []T, ga Grid, b []T, gb Grid, m, n, k int) {
	if len(dst) == 0 {
		return
	}
	t.multiply(t.part[:m*n], a, ga, b, gb, m, n, k)
	t.add(dst, dst, t.part[:m*n])
}

// reciprocal returns 1/s, and 0 for 0.
func reciprocal[T dtype.Float](s float64) T {
	if s == 0 {
		return 0
	}
	return T(1 / s)
}

// mostIn returns the greatest of x that is no NaN, or -Inf.
func mostIn[T dtype.Float](x []T) T {
	if v, ok := any(x).([]float32); ok {
		return T(mostOf(v))
	}
	return T(mostOf64(as64(x)))
}

// nanIn returns NaN if there is one in x, else 0.
func nanIn[T dtype.Float](x []T) float64 {
	for _, v := range x {
		if v != v {
			return math.NaN()
		}
	}
	return 0
}

// expShift stores exp(x - most) in dst and returns the sum.
func expShift[T dtype.Float](dst, x []T, most T) float64 {
	var sum [lanes]float64
	if d, ok := any(dst).([]float32); ok {
		vec.ExpShift(d, as32(x), float32(most), &sum)
	} else {
		vec.ExpShift64(as64(dst), as64(x), float64(most), &sum)
	}
	return addLanes(&sum)
}

// scaleBy multiplies x by a.
func scaleBy[T dtype.Float](x []T, a T) {
	if a == 1 {
		return
	}
	if v, ok := any(x).([]float32); ok {
		vec.Scale(v, v, float32(a))
		return
	}
	vec.Scale64(as64(x), as64(x), float64(a))
}

// dotOf returns the sum of x[i]*y[i] in float64.
func dotOf[T dtype.Float](x, y []T) float64 {
	if v, ok := any(x).([]float32); ok {
		var dot [lanes]float64
		vec.Dot(v, as32(y), &dot)
		return addLanes(&dot)
	}
	dot := 0.0
	for i, v := range x {
		dot += float64(float64(v) * float64(y[i]))
	}
	return dot
}

// softmaxGradRow stores y (g - dot) in dst.
func softmaxGradRow[T dtype.Float](dst, g, y []T, dot T) {
	if d, ok := any(dst).([]float32); ok {
		vec.SoftmaxGrad(d, as32(g), as32(y), float32(dot))
		return
	}
	for i, v := range g {
		dst[i] = y[i] * (v - dot)
	}
}

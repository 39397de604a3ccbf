package kernel

import (
	"encoding/binary"
	"math"
	"math/bits"
	"unsafe"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/vec"
)

// The order of a reduction. A row is cut into blocks of Block elements. A block
// is reduced in sixteen lanes: lane l starts with the value of no elements and
// takes elements l, l+16, l+32, ... in turn; then lane l takes lane l+8, for l
// below 8, then l+4, l+2 and l+1. The results of the blocks are combined by a
// Tree. So the result depends on the elements and their number alone: not on
// strides, on cores or on the width of vectors.
//
// Sums of float32 that are made in float64 (of softmax, normalisation and
// losses) run in the same lanes over the whole row, without blocks.

// Block is the number of elements in a block of a reduction.
const Block = 1024

// lanes is the number of lanes in which a block is reduced.
const lanes = vec.Lanes

// A Reduction makes one value of many.
type Reduction[T dtype.Number] struct {
	Zero  T                   // the value of no elements
	Block func(x []T) T       // the value of at most Block elements
	Into  func(dst, x, y []T) // combines values elementwise; dst may be x or y
	Whole bool                // whether Block takes any number of elements: their order makes no difference

	// Four stores in dst what Block makes of a, b, c and d, which are of one length, in less time
	// than that takes; nil if there is no such.
	Four func(dst *[4]T, a, b, c, d []T)
}

// Rows stores in each element of dst what r makes of the next k elements of x.
func (r *Reduction[T]) Rows(dst, x []T, k int) {
	switch {
	case k == 0:
		Fill(dst, r.Zero)
	case k <= Block || r.Whole:
		r.blocks(dst, x, k)
	default:
		t := NewTree(r)
		for i := range dst {
			row := x[i*k : (i+1)*k]
			dst[i] = t.Row(k, func(part []T, lo, hi int) { r.blocks(part, row[lo:hi], (hi-lo)/len(part)) })
		}
	}
}

// blocks stores in each element of dst what r.Block makes of the next k elements of x.
func (r *Reduction[T]) blocks(dst, x []T, k int) {
	if r.Four != nil && k > few {
		for ; len(dst) >= 4; dst, x = dst[4:], x[4*k:] {
			r.Four((*[4]T)(dst), x[:k], x[k:2*k], x[2*k:3*k], x[3*k:4*k])
		}
	}
	for i := range dst {
		dst[i] = r.Block(x[i*k : (i+1)*k])
	}
}

// A Reduce is a reduction in each dtype that has it. Bools are bytes.
type Reduce struct {
	F32 Reduction[float32]
	F64 Reduction[float64]
	I64 Reduction[int64]
	I32 Reduction[int32]
	U8  Reduction[uint8]
}

// The reductions.
var (
	// Sum adds; integers wrap around.
	Sum = Reduce{
		F32: Reduction[float32]{Zero: 0, Block: sum32, Four: fourSums32, Into: vec.Add},
		F64: Reduction[float64]{Zero: 0, Block: sum64, Into: vec.Add64},
		I64: Reduction[int64]{Zero: 0, Block: sumInts, Into: AddTo[int64], Whole: true},
	}
	// Prod multiplies; integers wrap around.
	Prod = Reduce{
		F32: Reduction[float32]{Zero: 1, Block: prod32, Four: fourProds32, Into: vec.Mul},
		F64: Reduction[float64]{Zero: 1, Block: prod64, Into: vec.Mul64},
		I64: Reduction[int64]{Zero: 1, Block: prodBlock[int64], Into: MulTo[int64], Whole: true},
	}
	// Max takes the greatest element, or NaN if there is one.
	Max = Reduce{
		F32: Reduction[float32]{Zero: float32(math.Inf(-1)), Block: max32, Into: vec.Maximum, Whole: true},
		F64: Reduction[float64]{Zero: math.Inf(-1), Block: max64, Into: vec.Maximum64, Whole: true},
		I64: Reduction[int64]{Zero: math.MinInt64, Block: maxBlock[int64], Into: MaximumTo[int64], Whole: true},
		I32: Reduction[int32]{Zero: math.MinInt32, Block: maxBlock[int32], Into: MaximumTo[int32], Whole: true},
		U8:  Reduction[uint8]{Zero: 0, Block: maxBlock[uint8], Into: MaximumTo[uint8], Whole: true},
	}
	// Min takes the least element, or NaN if there is one.
	Min = Reduce{
		F32: Reduction[float32]{Zero: float32(math.Inf(1)), Block: min32, Into: vec.Minimum, Whole: true},
		F64: Reduction[float64]{Zero: math.Inf(1), Block: min64, Into: vec.Minimum64, Whole: true},
		I64: Reduction[int64]{Zero: math.MaxInt64, Block: minBlock[int64], Into: MinimumTo[int64], Whole: true},
		I32: Reduction[int32]{Zero: math.MaxInt32, Block: minBlock[int32], Into: MinimumTo[int32], Whole: true},
		U8:  Reduction[uint8]{Zero: math.MaxUint8, Block: minBlock[uint8], Into: MinimumTo[uint8], Whole: true},
	}
	// XorBits is the exclusive or, bit by bit.
	XorBits = Reduction[int64]{Zero: 0, Block: xorBlock, Into: XorTo[int64], Whole: true}
)

// few is how many elements sumFew takes at most.
const few = lanes / 2

// sumFew is the sum of a block of few elements: each is alone in its lane, and the upper half of
// the lanes is empty. The zeros that lanes start with are added at the end, once for all: they
// matter to the sum of negative zeros alone.
func sumFew[T dtype.Float](x []T) T {
	var room [few]T
	lane := &room
	if len(x) == few {
		lane = (*[few]T)(x)
	} else {
		copy(room[:], x)
	}
	a0, a1, a2, a3 := lane[0]+lane[4], lane[1]+lane[5], lane[2]+lane[6], lane[3]+lane[7]
	return (a0 + a2) + (a1 + a3) + 0
}

func sum32(x []float32) float32 {
	if len(x) <= few {
		return sumFew(x)
	}
	var lane [lanes]float32
	vec.Sum(x, &lane)
	return addLanes(&lane)
}

// fourSums32 is sum32 of four blocks of more than few elements.
func fourSums32(dst *[4]float32, a, b, c, d []float32) {
	var lane [4][lanes]float32
	vec.FourSums(a, b, c, d, &lane[0], &lane[1], &lane[2], &lane[3])
	for i := range lane {
		dst[i] = addLanes(&lane[i])
	}
}

func sum64(x []float64) float64 {
	if len(x) <= few {
		return sumFew(x)
	}
	var lane [lanes]float64
	vec.Sum64(x, &lane)
	return addLanes(&lane)
}

// SumNumbers returns the sum of x, at most Block elements, in the order of Sum, with 0 in the place of NaN.
func SumNumbers[T dtype.Float](x []T) T {
	if v, ok := any(x).([]float32); ok {
		var lane [lanes]float32
		vec.SumNumbers(v, &lane)
		return T(addLanes(&lane))
	}
	var room [Block]float64
	numbers := room[:len(x)]
	NumbersTo(numbers, as64(x))
	return T(sum64(numbers))
}

// max32 looks for +0 among zeros where there is nothing greater, and for NaN aside: the sum of what it
// has found of that is NaN or 0.
func max32(x []float32) float32 {
	lane, nan := below32, [lanes]float32{}
	vec.Greatest(x, &lane, &nan)
	if most := maxLanes(&lane) + addLanes(&nan); most != 0 {
		return most
	}
	vec.Max(x, &lane)
	return maxLanes(&lane)
}

func min32(x []float32) float32 {
	lane, nan := above32, [lanes]float32{}
	vec.Least(x, &lane, &nan)
	if least := minLanes(&lane) + addLanes(&nan); least != 0 {
		return least
	}
	vec.Min(x, &lane)
	return minLanes(&lane)
}

// max64 of no more elements than lanes takes them one by one.
func max64(x []float64) float64 {
	if len(x) <= lanes {
		return maxBlock(x)
	}
	lane, nan := below64, [lanes]float64{}
	vec.Greatest64(x, &lane, &nan)
	if most := maxLanes(&lane) + addLanes(&nan); most != 0 {
		return most
	}
	vec.Max64(x, &lane)
	return maxLanes(&lane)
}

// min64 is max64 for the least.
func min64(x []float64) float64 {
	if len(x) <= lanes {
		return minBlock(x)
	}
	lane, nan := above64, [lanes]float64{}
	vec.Least64(x, &lane, &nan)
	if least := minLanes(&lane) + addLanes(&nan); least != 0 {
		return least
	}
	vec.Min64(x, &lane)
	return minLanes(&lane)
}

// What lanes start with that are not zeros.
var (
	below32, above32, ones32 = fullLanes(float32(math.Inf(-1))), fullLanes(float32(math.Inf(1))), fullLanes[float32](1)
	below64, above64, ones64 = fullLanes(math.Inf(-1)), fullLanes(math.Inf(1)), fullLanes(1.0)
)

// fullLanes returns lanes that start with v.
func fullLanes[T dtype.Number](v T) (lane [lanes]T) {
	for l := range lane {
		lane[l] = v
	}
	return lane
}

// addLanes returns the sum of lanes in the order of a reduction. It is written
// out because rows may be short: a loop takes as long as some hundred elements.
func addLanes[T dtype.Number](lane *[lanes]T) T {
	a0, a1, a2, a3 := lane[0]+lane[8], lane[1]+lane[9], lane[2]+lane[10], lane[3]+lane[11]
	a4, a5, a6, a7 := lane[4]+lane[12], lane[5]+lane[13], lane[6]+lane[14], lane[7]+lane[15]
	a0, a1, a2, a3 = a0+a4, a1+a5, a2+a6, a3+a7
	return (a0 + a2) + (a1 + a3)
}

// maxLanes returns the greatest of lanes, or NaN, written out as addLanes is.
func maxLanes[T dtype.Number](lane *[lanes]T) T {
	a := max(max(lane[0], lane[1]), max(lane[2], lane[3]))
	b := max(max(lane[4], lane[5]), max(lane[6], lane[7]))
	c := max(max(lane[8], lane[9]), max(lane[10], lane[11]))
	d := max(max(lane[12], lane[13]), max(lane[14], lane[15]))
	return max(max(a, b), max(c, d))
}

// minLanes returns the least of lanes, or NaN, written out as addLanes is.
func minLanes[T dtype.Number](lane *[lanes]T) T {
	a := min(min(lane[0], lane[1]), min(lane[2], lane[3]))
	b := min(min(lane[4], lane[5]), min(lane[6], lane[7]))
	c := min(min(lane[8], lane[9]), min(lane[10], lane[11]))
	d := min(min(lane[12], lane[13]), min(lane[14], lane[15]))
	return min(min(a, b), min(c, d))
}

// sumInts is for integers, whose sum has no order.
func sumInts(x []int64) int64 {
	if len(x) == 0 {
		return 0
	}
	var lane [lanes]uint64
	vec.SumU64(unsafe.Slice((*uint64)(unsafe.Pointer(&x[0])), len(x)), &lane)
	return int64(addLanes(&lane))
}

// ByteSum returns the sum of x: of a mask, of bytes 0 and 1, how many are 1.
func ByteSum(x []uint8) int {
	// Eight bytes are added at a time, as four numbers of 16 bits: so many do not overflow.
	const words, bytes = 128, 0x00ff00ff00ff00ff
	sum := 0
	for len(x) >= 8 {
		n := min(len(x)/8, words)
		part := uint64(0)
		for i := range n {
			w := binary.LittleEndian.Uint64(x[8*i:])
			part += w&bytes + w>>8&bytes
		}
		part = part&0x0000ffff0000ffff + part>>16&0x0000ffff0000ffff
		sum += int(part&math.MaxUint32 + part>>32)
		x = x[8*n:]
	}
	for _, v := range x {
		sum += int(v)
	}
	return sum
}

func prod32(x []float32) float32 {
	lane := ones32
	vec.Prod(x, &lane)
	return mulLanes(&lane)
}

// fourProds32 is prod32 of four blocks.
func fourProds32(dst *[4]float32, a, b, c, d []float32) {
	lane := [4][lanes]float32{ones32, ones32, ones32, ones32}
	vec.FourProds(a, b, c, d, &lane[0], &lane[1], &lane[2], &lane[3])
	for i := range lane {
		dst[i] = mulLanes(&lane[i])
	}
}

func prod64(x []float64) float64 {
	lane := ones64
	vec.Prod64(x, &lane)
	return mulLanes(&lane)
}

// prodBlock is for integers, whose product has no order.
func prodBlock[T dtype.Integer](x []T) T {
	a, b, c, d := T(1), T(1), T(1), T(1)
	i := 0
	for ; i+4 <= len(x); i += 4 {
		v := (*[4]T)(x[i:])
		a, b, c, d = a*v[0], b*v[1], c*v[2], d*v[3]
	}
	for _, v := range x[i:] {
		a *= v
	}
	return a * b * c * d
}

// xorBlock returns the exclusive or of x, which has no order.
func xorBlock(x []int64) int64 {
	a, b, c, d := int64(0), int64(0), int64(0), int64(0)
	i := 0
	for ; i+4 <= len(x); i += 4 {
		v := (*[4]int64)(x[i:])
		a, b, c, d = a^v[0], b^v[1], c^v[2], d^v[3]
	}
	for _, v := range x[i:] {
		a ^= v
	}
	return a ^ b ^ c ^ d
}

// mulLanes returns the product of lanes in the order of a reduction, written out as addLanes is.
func mulLanes[T dtype.Float](lane *[lanes]T) T {
	a0, a1, a2, a3 := lane[0]*lane[8], lane[1]*lane[9], lane[2]*lane[10], lane[3]*lane[11]
	a4, a5, a6, a7 := lane[4]*lane[12], lane[5]*lane[13], lane[6]*lane[14], lane[7]*lane[15]
	a0, a1, a2, a3 = a0*a4, a1*a5, a2*a6, a3*a7
	return (a0 * a2) * (a1 * a3)
}

// maxBlock of no elements does not occur. The order makes no difference: Go's
// max gives NaN if there is one, and of zeros of both signs +0.
func maxBlock[T dtype.Number](x []T) T {
	a, b, c, d := x[0], x[0], x[0], x[0]
	i := 0
	for ; i+4 <= len(x); i += 4 {
		v := (*[4]T)(x[i:])
		a = max(a, v[0])
		b = max(b, v[1])
		c = max(c, v[2])
		d = max(d, v[3])
	}
	for _, v := range x[i:] {
		a = max(a, v)
	}
	return max(a, b, c, d)
}

// minBlock is maxBlock for the least; of zeros of both signs it gives -0.
func minBlock[T dtype.Number](x []T) T {
	a, b, c, d := x[0], x[0], x[0], x[0]
	i := 0
	for ; i+4 <= len(x); i += 4 {
		v := (*[4]T)(x[i:])
		a = min(a, v[0])
		b = min(b, v[1])
		c = min(c, v[2])
		d = min(d, v[3])
	}
	for _, v := range x[i:] {
		a = min(a, v)
	}
	return min(a, b, c, d)
}

// A Tree combines the results of successive blocks, each a slice of the same
// length, elementwise: the first 2^p of n results, p as great as gives fewer
// than n, with the rest, and both of these in the same way.
type Tree[T dtype.Number] struct {
	into  func(dst, x, y []T)
	parts [][]T // results of 2^p blocks, for the bits p of count, greatest first
	count int
	spare [][]T

	row, halves [abreast]T // of Row and pushEach
}

// NewTree returns an empty Tree of the results of r.
func NewTree[T dtype.Number](r *Reduction[T]) *Tree[T] { return &Tree[T]{into: r.Into} }

// Push adds the result of the next block. It keeps no reference to v.
func (t *Tree[T]) Push(v []T) { t.push(v, 0) }

// push adds the result of the next 2^p blocks. Those before are a multiple of as many.
func (t *Tree[T]) push(v []T, p int) {
	part := append(t.room(), v...)
	for n := t.count >> p; n%2 == 1; n /= 2 {
		left := t.pop()
		t.into(left, left, part)
		t.spare = append(t.spare, part)
		part = left
	}
	t.parts = append(t.parts, part)
	t.count += 1 << p
}

// abreast is how many blocks of a row are reduced before their results are combined.
const abreast = 32

// pushEach adds the results of the next blocks, at most abreast, each an element of v: as many as
// 2^p at a time, in an order in which two that are combined lie a half of them apart.
func (t *Tree[T]) pushEach(v []T) {
	for len(v) > 0 {
		p := bits.Len(uint(len(v))) - 1
		if t.count > 0 {
			p = min(p, bits.TrailingZeros(uint(t.count)))
		}
		part := &t.halves
		for i, x := range v[:1<<p] {
			part[bits.Reverse8(uint8(i))>>(8-p)] = x
		}
		for half := 1 << p / 2; half > 0; half /= 2 {
			t.into(part[:half], part[:half], part[half:2*half])
		}
		t.push(part[:1], p)
		v = v[1<<p:]
	}
}

// Row returns the reduction of a row of k elements, at least one. Calls of blocks store in part the results of
// its blocks in turn, which are elements lo to hi of the row: of Block elements each, or the rest.
func (t *Tree[T]) Row(k int, blocks func(part []T, lo, hi int)) T {
	for lo, hi := 0, 0; lo < k; lo = hi {
		part := t.row[:max(min((k-lo)/Block, abreast), 1)]
		hi = min(lo+len(part)*Block, k)
		blocks(part, lo, hi)
		t.pushEach(part)
	}
	t.Pop(t.row[:1])
	return t.row[0]
}

// Pop stores the combined results in dst and empties t. It panics if there are
// none.
func (t *Tree[T]) Pop(dst []T) {
	part := t.pop()
	for len(t.parts) > 0 {
		left := t.pop()
		t.into(left, left, part)
		t.spare = append(t.spare, part)
		part = left
	}
	copy(dst, part)
	t.spare = append(t.spare, part)
	t.count = 0
}

func (t *Tree[T]) pop() []T {
	last := len(t.parts) - 1
	part := t.parts[last]
	t.parts = t.parts[:last]
	return part
}

// room returns an empty slice that is no longer in use, or nil.
func (t *Tree[T]) room() []T {
	last := len(t.spare) - 1
	if last < 0 {
		return nil
	}
	part := t.spare[last][:0]
	t.spare = t.spare[:last]
	return part
}

// Columns reduces the columns of a table that is given row by row. Every
// column is reduced in the order of a row of its elements.
type Columns[T dtype.Number] struct {
	r    *Reduction[T]
	tree Tree[T] // of the blocks but the last
	lane []T     // lanes rows, one after the other
	w    int     // the length of a row
	n    int     // rows taken of the current block
}

// NewColumns returns a Columns of tables with rows of at most width elements.
func NewColumns[T dtype.Number](r *Reduction[T], width int) *Columns[T] {
	return NewColumnsIn(r, make([]T, ColumnsRoom(width)))
}

// NewColumnsIn is NewColumns in room, which has ColumnsRoom(width) elements.
func NewColumnsIn[T dtype.Number](r *Reduction[T], room []T) *Columns[T] {
	return &Columns[T]{r: r, tree: Tree[T]{into: r.Into}, lane: room}
}

// ColumnsRoom returns how many elements a Columns of such a width has room for.
func ColumnsRoom(width int) int { return lanes * width }

// Start begins a table with rows of w elements.
func (c *Columns[T]) Start(w int) {
	c.w, c.n = w, 0
	c.lane = c.lane[:lanes*w]
}

// Add takes one or more rows.
func (c *Columns[T]) Add(rows []T) {
	for len(rows) > 0 {
		l := c.n % lanes
		take := min(lanes-l, len(rows)/c.w)
		lane := c.lane[l*c.w : (l+take)*c.w]
		if c.n < lanes {
			Fill(lane, c.r.Zero)
		}
		c.r.Into(lane, lane, rows[:take*c.w])
		rows = rows[take*c.w:]
		if c.n += take; c.n == Block {
			c.tree.Push(c.block())
			c.n = 0
		}
	}
}

// block combines the lanes and returns the result, which lies in them. Those that no row has come
// to would change nothing: a lane that a row has come to is no -0, which is what a sum with 0 changes.
func (c *Columns[T]) block() []T {
	used := min(c.n, lanes)
	if used == 0 {
		Fill(c.lane[:c.w], c.r.Zero)
	}
	for half := lanes / 2; half > 0; half /= 2 {
		if used > half {
			n := (used - half) * c.w
			c.r.Into(c.lane[:n], c.lane[:n], c.lane[half*c.w:half*c.w+n])
			used = half
		}
	}
	return c.lane[:c.w]
}

// Result stores the reductions of the columns in dst.
func (c *Columns[T]) Result(dst []T) {
	if c.tree.count == 0 {
		copy(dst, c.block())
		return
	}
	if c.n > 0 {
		c.tree.Push(c.block())
	}
	c.tree.Pop(dst)
}

// An Arg picks an element of a row: it returns its index. See ArgMaxRow.
type Arg struct {
	F32 func(x []float32) int
	F64 func(x []float64) int
	I64 func(x []int64) int
	I32 func(x []int32) int
	U8  func(x []uint8) int
}

var (
	// ArgMaxRow is ArgMax in every dtype; bools are bytes.
	ArgMaxRow = Arg{ArgMax[float32], ArgMax[float64], ArgMax[int64], ArgMax[int32], ArgMax[uint8]}
	// ArgMinRow is ArgMin in every dtype; bools are bytes.
	ArgMinRow = Arg{ArgMin[float32], ArgMin[float64], ArgMin[int64], ArgMin[int32], ArgMin[uint8]}
)

// ArgMax returns the index of the greatest element of x, the first if there
// are several; NaN is greater than all else. It panics if x is empty.
func ArgMax[T dtype.Number](x []T) int {
	at, best := 0, x[0]
	for i, v := range x {
		if v > best || v != v && best == best {
			at, best = i, v
		}
	}
	return at
}

// ArgMin returns the index of the least element of x, the first if there are
// several; NaN is less than all else. It panics if x is empty.
func ArgMin[T dtype.Number](x []T) int {
	at, best := 0, x[0]
	for i, v := range x {
		if v < best || v != v && best == best {
			at, best = i, v
		}
	}
	return at
}

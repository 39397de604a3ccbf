package mesh

import "slices"

// The fixed cost model. A step that communicates takes
//
//	latency + bytes * time per byte
//
// where bytes is the most that any rank sends or receives in it. The constants
// are those of a machine of today in round figures. They decide what moves and
// in which steps, so they are fixed: what a run computes, down to the bits of
// its sums, does not depend on measurements. A mesh that was given costs has its
// own; a step along several of its dims then takes the greatest of each.
const (
	Alpha = 1e-6  // seconds
	Beta  = 1e-10 // seconds per byte

	// exchangeLatency is the latency of an exchange, as a multiple of that of
	// a collective, where every rank sends or keeps blocks of one form: the
	// blocks of an exchange are packed one by one, and it may span more ranks.
	// One exchange is dearer than one collective and cheaper than two.
	exchangeLatency = 1.5
)

// seconds returns the time of a step along dims.
func (m *Mesh) seconds(op Op, dims []int, bytes int) float64 {
	alpha, beta := dearest(m.alpha, dims, Alpha), dearest(m.beta, dims, Beta)
	if op == Direct {
		alpha *= exchangeLatency
	}
	// The conversion keeps the compiler from fusing the operations, which would
	// round otherwise on some processors.
	return alpha + float64(beta*float64(bytes))
}

// Costs returns the latency and the time of a byte, in seconds, by which what moves
// along dims is judged, and whether m was given either: the rest is the fixed model's.
func (m *Mesh) Costs(dims ...int) (alpha, beta float64, given bool) {
	return dearest(m.alpha, dims, Alpha), dearest(m.beta, dims, Beta), m.alpha != nil || m.beta != nil
}

// dearest returns the greatest of the costs of dims; otherwise if there are
// none.
func dearest(costs []float64, dims []int, otherwise float64) float64 {
	if costs == nil {
		return otherwise
	}
	return slices.Max(pick(costs, dims))
}

// An all-reduce of at least splitBytes bytes among more than two ranks is a
// reduce-scatter and an all-gather of chunks whose edges are multiples of
// chunkAlign bytes; a smaller one sends every summand to every rank. These are
// the rules of package comm.
const (
	splitBytes = 32 << 10
	chunkAlign = 64
)

// AllReduceBytes returns the bytes that member i of so many sends, and receives,
// in an all-reduce of the given number of bytes in elements of itemSize bytes.
func AllReduceBytes(bytes, itemSize, members, i int) int {
	if members <= 2 || bytes < splitBytes {
		return (members - 1) * bytes
	}
	unit := max(itemSize, 1)
	for unit%chunkAlign != 0 {
		unit *= 2
	}
	lo, hi := Block((bytes+unit-1)/unit, members, i)
	chunk := min(hi*unit, bytes) - min(lo*unit, bytes)
	return bytes - chunk + (members-1)*chunk
}

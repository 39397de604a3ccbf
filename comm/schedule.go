package comm

import "tpsh/comm/schedule"

// A call describes its data in the terms of package schedule.
type (
	// A Kind is the pattern by which a collective moves its blocks.
	Kind = schedule.Kind
	// A Block is a strided region of a buffer.
	Block = schedule.Block
	// A Reducer combines runs of equal length in the order given.
	Reducer = schedule.Reducer
	// A Fold is a Reducer of which the first members do a part, and the next go on.
	Fold = schedule.Fold
)

// The kinds of collectives; see schedule.Kind.
const (
	Barrier       = schedule.Barrier
	Broadcast     = schedule.Broadcast
	AllGather     = schedule.AllGather
	Gather        = schedule.Gather
	Scatter       = schedule.Scatter
	AllToAll      = schedule.AllToAll
	AllReduce     = schedule.AllReduce
	Reduce        = schedule.Reduce
	ReduceScatter = schedule.ReduceScatter
	Permute       = schedule.Permute

	Kinds = schedule.Kinds // how many there are
)

// Whole returns the Block of all the bytes of b.
func Whole(b []byte) Block { return schedule.Whole(b) }

// Copy copies src to dst, which has as many bytes.
func Copy(dst, src Block) { schedule.Copy(dst, src) }

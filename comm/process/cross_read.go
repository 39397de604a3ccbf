package process

import (
	"tpsh/comm/process/shm"
	"tpsh/comm/schedule"
)

// Blocks that a rank exposes to others they read straight from its memory, where the
// system lets them: they are copied once, and not to a staging buffer and from there. Blocks
// are exposed that nobody reduces; a block that is reduced is copied once in either case.
//
// A block is exposed as long as its call goes on. A rank that leaves a call before
// all have read its blocks withdraws them: a reader finds out afterwards, and
// waits for the failure for which the other has left.

const (
	// leastExposedReading is the length from which a block is exposed where its owner reads
	// of others, too: below, having the system find its pages costs more than a copy saves.
	leastExposedReading = 64 << 10
	// leastExposedIdle is the length from which it is exposed where the owner has
	// nothing to read meanwhile, and could copy it to a staging buffer.
	leastExposedIdle = 128 << 10
	// leastRow is the width of the rows from which it is exposed if it is in rows
	// that are apart: each takes the system as long as a copy of so many bytes.
	leastRow = 4 << 10
)

// canExpose reports whether a part of the member's can be exposed to members. reads
// says that it reads of others meanwhile.
func (c *wireCall) canExpose(src schedule.Span, members []int, reads bool) bool {
	sl := c.group.wireRank.shared
	least := leastExposedIdle
	if reads {
		least = leastExposedReading
	}
	if src.Len() < least || !src.Block.Contiguous() && src.Block.Width < leastRow {
		return false
	}
	own := sl.indexes[c.group.wireRank.rank]
	for _, m := range members {
		if sl.segment.Reads(own, c.group.segmentIndex(m)).Load() != shm.Readable {
			return false
		}
	}
	return true
}

// withdrawAll withdraws the blocks that are exposed still.
func (c *wireCall) withdrawAll() {
	for _, t := range c.outgoing {
		if l, ok := t.(*shm.Exposing); ok && !l.Returned {
			l.Withdraw()
		}
	}
}

package schedule

import (
	"slices"
)

// A Position is all that a schedule may depend on: the place of one member in a call.
type Position struct {
	Rank  int // the member's group rank
	Size  int // of the group
	Root  int // of Broadcast, Gather, Scatter and Reduce
	Pairs [][2]int

	// Hosts says where the members are, for the schedules of groups on several hosts; nil
	// in all others. Of AllGather, Long says which members offer a long block.
	Hosts *Hosts
	Long  []bool
}

// Others lists the ranks of the other members, starting after the position's own,
// so that members at work at the same time turn to different peers.
func (s Position) Others() []int {
	ranks := make([]int, 0, s.Size-1)
	for i := 1; i < s.Size; i++ {
		ranks = append(ranks, (s.Rank+i)%s.Size)
	}
	return ranks
}

// In, Out and Slot name a whole block of the position's own.
func (s Position) In(block int) Part  { return Part{Mem: MemIn, Member: s.Rank, Block: block} }
func (s Position) Out(block int) Part { return Part{Mem: MemOut, Member: s.Rank, Block: block} }
func (s Position) Slot(i int) Part    { return Part{Mem: MemSlot, Member: s.Rank, Block: i} }

// A Memory is a list of blocks that a member has during a call.
type Memory uint8

const (
	MemIn  Memory = iota // the blocks of Op.In
	MemOut               // the blocks that Op.Prepare returned
	// Slots are temporary. A slot is made by the step that writes it, as long
	// as the block that is written, and is whole.
	MemSlot
)

// A Part is a piece of a block: chunk index of parts (see ChunkOf), or the
// whole block if parts is 0. In message schedules member is the position's own.
type Part struct {
	Mem          Memory
	Member       int
	Block        int
	Index, Parts int
}

// Of names the same part of the same block of another member.
func (p Part) Of(member int) Part {
	p.Member = member
	return p
}

// Chunk names chunk i of the n chunks of a block.
func (p Part) Chunk(i, n int) Part {
	p.Index, p.Parts = i, n
	return p
}

// Span returns the part of b that p names, for elements of align bytes.
func (p Part) Span(b Block, align int) Span {
	if p.Parts == 0 {
		return b.All()
	}
	lo, hi := ChunkOf(b.Len(), align, p.Index, p.Parts)
	return Span{b, lo, hi}
}

// ChunkOf returns the half-open range of bytes that chunk i of parts has of a
// block of length bytes. Chunks are as equal as they can be with edges at
// multiples of both align and 64 bytes, the length of a cache line, so that
// members that write neighbouring chunks do not share one; the last chunks may
// be shorter or empty. For example, 256 bytes of float32 in 3 parts are [0, 128),
// [128, 256) and [256, 256).
func ChunkOf(length, align, i, parts int) (lo, hi int) {
	unit := max(align, 1)
	for unit%64 != 0 {
		unit *= 2
	}
	units := (length + unit - 1) / unit
	most := (units + parts - 1) / parts * unit
	return min(length, i*most), min(length, (i+1)*most)
}

// An Action is what a step does.
type Action uint8

const (
	// DoSend sends src[0] to peer under tag, and does not wait for it.
	DoSend Action = iota
	// DoRecv waits for peer's block under tag, and leaves it in dst[0].
	DoRecv
	// DoCopy copies src[0] to dst[0].
	DoCopy
	// DoReduce reduces all of src, in that order, to each of dst.
	DoReduce
	// DoFold reduces all of src, in that order, to dst[0], as one link of a chain of
	// members: unless First, src[0] is the sum from the link before, and unless Last,
	// dst[0] is for the next one.
	DoFold
	// DoMeet waits until every member has come to the same step. Direct
	// schedules alone have it.
	DoMeet
)

// A Step is one thing that a member does. A member does the steps of its
// schedule in their order, and a message is the only one that its sender sends
// to its receiver under its tag.
type Step struct {
	Do       Action
	Peer     int // a group rank
	Tag      int
	Dst, Src []Part

	// First and Last are of DoFold: that src has all there is to begin with, and that dst
	// is the result.
	First, Last bool

	// Late is by how many pieces the step is behind, where the schedule is done for one
	// piece of the blocks after the other: so many turns after the steps that are not late.
	// It is one number for all late steps of a schedule, which are its last. No slot is
	// written by one that is not late and read by one that is.
	Late int
}

func sendStep(peer, tag int, src Part) Step {
	return Step{Do: DoSend, Peer: peer, Tag: tag, Src: []Part{src}}
}

func recvStep(dst Part, peer, tag int) Step {
	return Step{Do: DoRecv, Peer: peer, Tag: tag, Dst: []Part{dst}}
}

func copyStep(dst, src Part) Step {
	return Step{Do: DoCopy, Dst: []Part{dst}, Src: []Part{src}}
}

// meetStep is the step that every member comes to before any member goes on.
var meetStep = Step{Do: DoMeet}

// collect lists the steps by which the position's member sends theirs(r) to every
// other member r, receives theirs(rank) of the others into slot r, and reduces
// all of these in rank order to dst.
func collect(s Position, tag int, theirs func(r int) Part, dst Part) []Step {
	var steps []Step
	for _, r := range s.Others() {
		steps = append(steps, sendStep(r, tag, theirs(r)))
	}
	return append(steps, gatherReduce(s, tag, theirs(s.Rank), dst)...)
}

// gatherReduce lists the steps by which the position's member receives one part
// from every other member, and reduces these and its own in rank order to dst.
func gatherReduce(s Position, tag int, own, dst Part) []Step {
	var steps []Step
	src := make([]Part, s.Size)
	for r := range src {
		src[r] = s.Slot(r)
	}
	src[s.Rank] = own
	for _, r := range s.Others() {
		steps = append(steps, recvStep(src[r], r, tag))
	}
	return append(steps, Step{Do: DoReduce, Dst: []Part{dst}, Src: src})
}

// reduceInPlace is the step by which a member reduces p of every member, read
// in place in rank order, to each of dst.
func reduceInPlace(s Position, dst []Part, p Part) Step {
	src := make([]Part, s.Size)
	for r := range src {
		src[r] = p.Of(r)
	}
	return Step{Do: DoReduce, Dst: dst, Src: src}
}

// slotsOf returns how many slots the steps use: they are numbered from 0.
func slotsOf(steps []Step) int {
	n := 0
	for _, st := range steps {
		for _, parts := range [][]Part{st.Dst, st.Src} {
			for _, p := range parts {
				if p.Mem == MemSlot {
					n = max(n, p.Block+1)
				}
			}
		}
	}
	return n
}

// WithoutOut returns the steps by which a member takes part in a message
// schedule though it has no blocks for its results. It sends and receives as
// the given steps do; blocks that they leave in Out go into slots, or nowhere if no
// step reads it.
func WithoutOut(steps []Step) []Step {
	if !slices.ContainsFunc(steps, usesOut) {
		return steps
	}
	read := map[Part]bool{}
	for _, st := range steps {
		for _, p := range st.Src {
			read[p] = true
		}
	}
	next, slots := slotsOf(steps), map[Part]int{}
	instead := func(parts []Part) []Part {
		parts = slices.Clone(parts)
		for i, p := range parts {
			if p.Mem != MemOut {
				continue
			}
			if _, ok := slots[p]; !ok {
				slots[p] = next + len(slots)
			}
			parts[i] = Part{Mem: MemSlot, Member: p.Member, Block: slots[p]}
		}
		return parts
	}
	var kept []Step
	for _, st := range steps {
		local := st.Do == DoCopy || st.Do == DoReduce || st.Do == DoFold
		if local && st.Dst[0].Mem == MemOut && !read[st.Dst[0]] {
			continue
		}
		st.Dst, st.Src = instead(st.Dst), instead(st.Src)
		kept = append(kept, st)
	}
	return kept
}

// usesOut reports whether a step reads or writes results.
func usesOut(st Step) bool {
	isOut := func(p Part) bool { return p.Mem == MemOut }
	return slices.ContainsFunc(st.Dst, isOut) || slices.ContainsFunc(st.Src, isOut)
}

// lenOthers returns the bytes of all the blocks but the member's own.
func lenOthers(s Position, blocks []Block) int {
	sum := 0
	for r, b := range blocks {
		if r != s.Rank {
			sum += b.Len()
		}
	}
	return sum
}

// ChunkLen returns the bytes of chunk i of parts.
func ChunkLen(bytes, align, i, parts int) int {
	lo, hi := ChunkOf(bytes, align, i, parts)
	return hi - lo
}

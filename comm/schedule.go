package comm

import (
	"slices"
	"sync"
)

// A position is what a schedule may depend on: the place of one member in a call.
type position struct {
	rank  int // the member's group rank
	size  int // of the group
	root  int // of Broadcast, Gather, Scatter and Reduce
	pairs [][2]int
}

// others lists the ranks of the other members, starting after the position's own,
// so that members at work at the same time turn to different peers.
func (s position) others() []int {
	ranks := make([]int, 0, s.size-1)
	for i := 1; i < s.size; i++ {
		ranks = append(ranks, (s.rank+i)%s.size)
	}
	return ranks
}

// in, out and slot name a whole block of the position's own.
func (s position) in(block int) part  { return part{mem: memIn, member: s.rank, block: block} }
func (s position) out(block int) part { return part{mem: memOut, member: s.rank, block: block} }
func (s position) slot(i int) part    { return part{mem: memSlot, member: s.rank, block: i} }

// A memory is a list of blocks that a member has during a call.
type memory uint8

const (
	memIn  memory = iota // the blocks of Op.In
	memOut               // the blocks that Op.Prepare returned
	// Slots are temporary. A slot is made by the step that writes it, as long
	// as what is written, and is whole.
	memSlot
)

// A part is a piece of a block: chunk index of parts (see chunkOf), or the
// whole block if parts is 0. In message schedules member is the position's own.
type part struct {
	mem          memory
	member       int
	block        int
	index, parts int
}

// of names the same part of the same block of another member.
func (p part) of(member int) part {
	p.member = member
	return p
}

// chunk names chunk i of the n chunks of a block.
func (p part) chunk(i, n int) part {
	p.index, p.parts = i, n
	return p
}

// span returns the part of b that p names, for elements of align bytes.
func (p part) span(b Block, align int) span {
	if p.parts == 0 {
		return b.all()
	}
	lo, hi := chunkOf(b.Len(), align, p.index, p.parts)
	return span{b, lo, hi}
}

// chunkOf returns the half-open range of bytes that chunk i of parts has of a
// block of length bytes. Chunks are as equal as they can be with edges at
// multiples of both align and 64 bytes, the length of a cache line, so that
// members that write neighbouring chunks do not share one; the last chunks may
// be shorter or empty.
func chunkOf(length, align, i, parts int) (lo, hi int) {
	unit := max(align, 1)
	for unit%64 != 0 {
		unit *= 2
	}
	units := (length + unit - 1) / unit
	most := (units + parts - 1) / parts * unit
	return min(length, i*most), min(length, (i+1)*most)
}

// An action is what a step does.
type action uint8

const (
	// doSend sends src[0] to peer under tag, and does not wait for it.
	doSend action = iota
	// doRecv waits for what peer sends under tag, and leaves it in dst[0].
	doRecv
	// doCopy copies src[0] to dst[0].
	doCopy
	// doReduce reduces all of src, in that order, to each of dst.
	doReduce
	// doMeet waits until every member has come to the same step. Direct
	// schedules alone have it.
	doMeet
)

// A step is one thing that a member does. A member does the steps of its
// schedule in their order, and a message is the only one that its sender sends
// to its receiver under its tag.
type step struct {
	do       action
	peer     int // a group rank
	tag      int
	dst, src []part
}

func sendStep(peer, tag int, src part) step {
	return step{do: doSend, peer: peer, tag: tag, src: []part{src}}
}

func recvStep(dst part, peer, tag int) step {
	return step{do: doRecv, peer: peer, tag: tag, dst: []part{dst}}
}

func copyStep(dst, src part) step {
	return step{do: doCopy, dst: []part{dst}, src: []part{src}}
}

// meetStep is the step that every member comes to before any member goes on.
var meetStep = step{do: doMeet}

// collect lists the steps by which the position's member sends theirs(r) to every
// other member r, receives theirs(rank) of the others into slot r, and reduces
// all of these in rank order to dst.
func collect(s position, tag int, theirs func(r int) part, dst part) []step {
	var steps []step
	for _, r := range s.others() {
		steps = append(steps, sendStep(r, tag, theirs(r)))
	}
	return append(steps, gatherReduce(s, tag, theirs(s.rank), dst)...)
}

// gatherReduce lists the steps by which the position's member receives one part
// from every other member, and reduces these and its own in rank order to dst.
func gatherReduce(s position, tag int, own, dst part) []step {
	var steps []step
	src := make([]part, s.size)
	for r := range src {
		src[r] = s.slot(r)
	}
	src[s.rank] = own
	for _, r := range s.others() {
		steps = append(steps, recvStep(src[r], r, tag))
	}
	return append(steps, step{do: doReduce, dst: []part{dst}, src: src})
}

// reduceInPlace is the step by which a member reduces p of every member, read
// in place in rank order, to each of dst.
func reduceInPlace(s position, dst []part, p part) step {
	src := make([]part, s.size)
	for r := range src {
		src[r] = p.of(r)
	}
	return step{do: doReduce, dst: dst, src: src}
}

// slotsOf returns how many slots the steps use: they are numbered from 0.
func slotsOf(steps []step) int {
	n := 0
	for _, st := range steps {
		for _, parts := range [][]part{st.dst, st.src} {
			for _, p := range parts {
				if p.mem == memSlot {
					n = max(n, p.block+1)
				}
			}
		}
	}
	return n
}

// withoutOut returns the steps by which a member takes part in a message
// schedule though it has no blocks for its results. It sends and receives what
// the given steps do; what they leave in Out goes into slots, or nowhere if no
// step reads it.
func withoutOut(steps []step) []step {
	read := map[part]bool{}
	for _, st := range steps {
		for _, p := range st.src {
			read[p] = true
		}
	}
	next, slots := slotsOf(steps), map[part]int{}
	instead := func(parts []part) []part {
		parts = slices.Clone(parts)
		for i, p := range parts {
			if p.mem != memOut {
				continue
			}
			if _, ok := slots[p]; !ok {
				slots[p] = next + len(slots)
			}
			parts[i] = part{mem: memSlot, member: p.member, block: slots[p]}
		}
		return parts
	}
	var kept []step
	for _, st := range steps {
		local := st.do == doCopy || st.do == doReduce
		if local && st.dst[0].mem == memOut && !read[st.dst[0]] {
			continue
		}
		st.dst, st.src = instead(st.dst), instead(st.src)
		kept = append(kept, st)
	}
	return kept
}

// A scheduler gives one member of a group its schedules, and keeps them.
type scheduler struct {
	rank, size int

	mu      sync.Mutex
	kept    map[scheduleKey][]step
	last    []step // that was asked for
	lastKey scheduleKey
}

type scheduleKey struct {
	algorithm *algorithm
	root      int
}

// message returns the steps of a call where members send to each other. bytes
// is the length of the block that is broadcast or reduced; other kinds do not
// depend on it. The result is to be read only.
func (s *scheduler) message(kind Kind, root int, pairs [][2]int, bytes int) []step {
	return s.steps(pick(messageAlgorithms[kind], bytes, s.size), root, pairs)
}

// direct returns the steps of a call where members read each other's blocks.
// It is otherwise like message.
func (s *scheduler) direct(kind Kind, root int, pairs [][2]int, bytes int) []step {
	return s.steps(pick(directAlgorithms[kind], bytes, s.size), root, pairs)
}

func (s *scheduler) steps(a *algorithm, root int, pairs [][2]int) []step {
	if pairs != nil {
		return a.steps(position{s.rank, s.size, root, pairs})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := scheduleKey{a, root}
	if s.lastKey == key {
		return s.last
	}
	steps, ok := s.kept[key]
	if !ok {
		steps = a.steps(position{s.rank, s.size, root, nil})
		if s.kept == nil {
			s.kept = map[scheduleKey][]step{}
		}
		s.kept[key] = steps
	}
	s.last, s.lastKey = steps, key
	return steps
}

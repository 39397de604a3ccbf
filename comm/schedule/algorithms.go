package schedule

// An algorithm is one way to carry out a collective: by messages, or directly, where
// members read and write each other's blocks in place.
//
// In direct algorithms every In is there to read before the first step; after a
// meeting, every Out is there to write. Every one of them ends with a meeting if it
// reads a block of another member, so that no member leaves a call while its blocks
// are in use. A member without Out takes part: a step that writes to it does not
// write there, and does nothing if there is nowhere else to write.
type algorithm struct {
	name string

	// suits reports whether to use the algorithm for a block of so many bytes
	// in a group of so many members; nil is always. Of the rows of a kind the
	// first that suits is used. The answer depends on nothing else, so every
	// run does the same.
	suits func(bytes, size int) bool

	// steps returns the steps of one member. It is pure.
	steps func(s Position) []Step

	// wire returns the payload bytes that these steps send, for a member that
	// offers the blocks in, when the block that is broadcast or reduced has so
	// many bytes. It is nil in direct algorithms, which send nothing, and in those
	// for hosts: a call's figures do not depend on where its members are.
	wire func(s Position, in []Block, bytes, align int) int
}

// largeBytes is the length from which a block is worth cutting into one chunk
// for each member. Below it the number of steps counts.
const largeBytes = 32 << 10

// Large reports whether to cut a block into chunks where members send: with
// two members that saves no bytes.
func Large(bytes, size int) bool { return size > 2 && bytes >= largeBytes }

// largeDirect reports whether to cut a block into chunks where members read in
// place: that always saves work, for one more meeting.
func largeDirect(bytes, size int) bool { return size > 1 && bytes >= largeBytes }

// crowd is the number of members from which a message to each of them, from each, is more work than
// to have one member do the rest for all. All to all took 300 processes that share memory
// and two cores 15 s of CPU time for one block of 1 KiB.
const crowd = 256

// crowded reports whether one member is to reduce what all have, in place of all.
func crowded(_, size int) bool { return size >= crowd }

// pick returns the first row that suits.
func pick(rows []algorithm, bytes, size int) *algorithm {
	for i := range rows {
		if suits := rows[i].suits; suits == nil || suits(bytes, size) {
			return &rows[i]
		}
	}
	panic("schedule: no algorithm suits")
}

// WireBytes returns the payload bytes that a member which offers the blocks in
// sends in the message schedule of a call: the number in Result.Wire. bytes is
// the length of the block that is broadcast or reduced.
func WireBytes(kind Kind, s Position, in []Block, bytes, align int) int {
	return pick(kindRows[kind].message, bytes, s.Size).wire(s, in, bytes, align)
}

// Sends returns how many payload bytes the member sends to each other in the message
// schedule of a call, by group rank: WireBytes is their sum. Its arguments are those of
// WireBytes.
func Sends(kind Kind, s Position, in []Block, bytes, align int) []int {
	to := make([]int, s.Size)
	for _, st := range pick(kindRows[kind].message, bytes, s.Size).steps(s) {
		if st.Do == DoSend {
			to[st.Peer] += sentLen(st.Src[0], s, in, bytes, align)
		}
	}
	return to
}

// sentLen returns the length of a part that a member sends.
func sentLen(p Part, s Position, in []Block, bytes, align int) int {
	block := Block{Rows: 1, Width: bytes} // that is broadcast or reduced
	switch {
	case p.Mem == MemIn:
		block = in[p.Block]
	case p.Mem == MemSlot && p.Block == s.Rank: // the member's chunk of it; the slot of another has all that came from that
		block.Width = ChunkLen(bytes, align, s.Rank, s.Size)
	}
	return p.Span(block, align).Len()
}

// noSteps is the schedule of Barrier: that the members have compared their
// calls is all there is to it.
func noSteps(Position) []Step { return nil }

func sendsNothing(Position, []Block, int, int) int { return 0 }

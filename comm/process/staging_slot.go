package process

import "sync/atomic"

// A stagingWriter is the writing end of a slot.
type stagingWriter struct {
	slotPlan
	own     *ownStagingBuffer
	slot    int
	length  int
	readers []slotReader
	done    int         // pieces that were put in
	exposed exposedSpan // where the data are that are exposed, of address 0 if they are put in
}

// A slotReader is one who takes what is put into a slot.
type slotReader struct {
	taken *atomic.Uint64
	futex futex
}

// open announces the data of a slot, before the contract is sent. The number
// of the use comes first: who reads the length then knows of which use it is.
func (o *stagingWriter) open(align, size int) {
	o.slotPlan = planSlot(len(o.own.data), o.slot, size, o.length, align)
	if o.exposed.address != 0 {
		o.pieces = 1
	}
	o.own.written(o.slot).Store(counted(o.own.use, 0))
	o.own.length(o.slot).Store(uint64(o.length))
	o.own.setExposed(o.slot, o.exposed)
}

// addReader adds the rank at an index to the readers.
func (o *stagingWriter) addReader(index int, several bool) {
	l := &o.own.stagingBuffer
	o.readers = append(o.readers, slotReader{l.taken(index, several), l.segment.futex(index)})
}

// markPending notes what the readers are to have taken before the staging buffer is used again.
func (o *stagingWriter) markPending() {
	for _, r := range o.readers {
		if o.pieces > 0 {
			o.own.pending = append(o.own.pending, pendingRead{r.taken, counted(o.own.use, o.pieces)})
		}
	}
}

// IsDone reports whether all pieces were put in.
func (o *stagingWriter) IsDone() bool { return o.done == o.pieces }

// hasSpace reports whether the next piece can be put in.
func (o *stagingWriter) hasSpace() bool {
	if o.done < o.depth {
		return true
	}
	for _, r := range o.readers {
		if o.done-countIn(r.taken.Load(), o.own.use) >= o.depth {
			return false
		}
	}
	return true
}

// next returns where the next piece goes. There is room.
func (o *stagingWriter) next() []byte {
	return o.pieceAt(o.own.data, o.done, o.pieceLen(o.done, o.length))
}

// publish makes the piece visible that was written to next.
func (o *stagingWriter) publish() {
	o.done++
	o.own.written(o.slot).Store(counted(o.own.use, o.done))
	for _, r := range o.readers {
		r.futex.wake()
	}
}

// A stagingReader is a reading end of a slot.
type stagingReader struct {
	slotPlan
	buffer  stagingBuffer
	use     uint32
	slot    int
	index   int   // of the reader
	several bool  // whether others read the slot too
	futex   futex // of the writer
	length  int
	exposed exposedSpan // where the data are in the writer's memory, of address 0 if they are put in
	stale   bool        // whether the writer has given the call up, so that nothing will come
	done    int         // pieces that were taken
}

// open learns what will come. The writer's contract is there.
func (in *stagingReader) open(align, size int) {
	in.length = int(in.buffer.length(in.slot).Load())
	in.exposed = in.buffer.exposed(in.slot)
	if in.past() {
		in.stale, in.pieces = true, 1
		return
	}
	in.slotPlan = planSlot(len(in.buffer.data), in.slot, size, in.length, align)
}

// past reports whether the writer uses the staging buffer for another call by now.
func (in *stagingReader) past() bool { return uint32(in.buffer.written(in.slot).Load()>>32) != in.use }

func (in *stagingReader) IsDone() bool { return in.done == in.pieces }

// CanStep reports whether the next piece is there.
func (in *stagingReader) CanStep() bool {
	return countIn(in.buffer.written(in.slot).Load(), in.use) > in.done
}

// next returns the next piece, which is ready.
func (in *stagingReader) next() []byte {
	return in.pieceAt(in.buffer.data, in.done, in.pieceLen(in.done, in.length))
}

// release lets the writer use the memory of the piece that next returned.
func (in *stagingReader) release() {
	in.done++
	in.buffer.taken(in.index, in.several).Store(counted(in.use, in.done))
	in.futex.wake()
}

package shm

import "sync/atomic"

// A StagingWriter is the writing end of a slot.
type StagingWriter struct {
	slotPlan
	Own     *OwnStagingBuffer
	Slot    int
	Length  int
	readers []slotReader
	done    int         // pieces that were put in
	exposed ExposedSpan // where the data are that are exposed, of address 0 if they are put in
}

// A slotReader is a member that takes the pieces put into a slot.
type slotReader struct {
	taken *atomic.Uint64
	futex Futex
}

// Open announces the data of a slot, before the contract is sent. The number
// of the use comes first: a reader of the length then knows of which use it is.
func (o *StagingWriter) Open(align, size int) {
	o.slotPlan = PlanSlot(len(o.Own.data), o.Slot, size, o.Length, align)
	if o.exposed.Address != 0 {
		o.Pieces = 1
	}
	o.Own.written(o.Slot).Store(counted(o.Own.Use, 0))
	o.Own.Length(o.Slot).Store(uint64(o.Length))
	o.Own.SetExposed(o.Slot, o.exposed)
}

// AddReader adds the rank at an index to the readers.
func (o *StagingWriter) AddReader(index int, several bool) {
	b := &o.Own.StagingBuffer
	o.readers = append(o.readers, slotReader{b.taken(index, several), b.segment.Futex(index)})
}

// MarkPending notes the counts that readers are to have come to before the staging buffer is used again.
func (o *StagingWriter) MarkPending() {
	for _, r := range o.readers {
		o.Own.pending = append(o.Own.pending, pendingRead{r.taken, counted(o.Own.Use, o.Pieces)})
	}
}

// IsDone reports whether all pieces were put in.
func (o *StagingWriter) IsDone() bool { return o.done == o.Pieces }

// hasSpace reports whether the next piece can be put in.
func (o *StagingWriter) hasSpace() bool {
	if o.done < o.depth {
		return true
	}
	for _, r := range o.readers {
		if o.done-countIn(r.taken.Load(), o.Own.Use) >= o.depth {
			return false
		}
	}
	return true
}

// next returns where the next piece goes. There is room.
func (o *StagingWriter) next() []byte {
	return o.pieceAt(o.Own.data, o.done, o.pieceLen(o.done, o.Length))
}

// publish makes the piece visible that was written to next.
func (o *StagingWriter) publish() {
	o.done++
	o.Own.written(o.Slot).Store(counted(o.Own.Use, o.done))
	for _, r := range o.readers {
		r.futex.Wake()
	}
}

// A StagingReader is a reading end of a slot.
type StagingReader struct {
	slotPlan
	Buffer  StagingBuffer
	Use     uint32
	Slot    int
	Index   int   // of the reader
	Several bool  // whether others read the slot too
	Futex   Futex // of the writer
	Length  int
	Exposed ExposedSpan // where the data are in the writer's memory, of address 0 if they are put in
	Stale   bool        // whether the writer has given the call up, so that nothing will come
	done    int         // pieces that were taken
}

// Open learns the length of the data. The writer's contract is there.
func (in *StagingReader) Open(align, size int) {
	in.Length = int(in.Buffer.Length(in.Slot).Load())
	in.Exposed = in.Buffer.exposed(in.Slot)
	if in.past() {
		in.Stale, in.Pieces = true, 1
		return
	}
	in.slotPlan = PlanSlot(len(in.Buffer.data), in.Slot, size, in.Length, align)
}

// past reports whether the writer uses the staging buffer for another call by now.
func (in *StagingReader) past() bool { return uint32(in.Buffer.written(in.Slot).Load()>>32) != in.Use }

func (in *StagingReader) IsDone() bool { return in.done == in.Pieces }

// CanStep reports whether the next piece is there.
func (in *StagingReader) CanStep() bool {
	return countIn(in.Buffer.written(in.Slot).Load(), in.Use) > in.done
}

// next returns the next piece, which is ready.
func (in *StagingReader) next() []byte {
	return in.pieceAt(in.Buffer.data, in.done, in.pieceLen(in.done, in.Length))
}

// release lets the writer use the memory of the piece that next returned.
func (in *StagingReader) release() {
	in.done++
	in.Buffer.taken(in.Index, in.Several).Store(counted(in.Use, in.done))
	in.Futex.Wake()
}

package comm

import "sync/atomic"

// A laneOut is the writing end of a channel.
type laneOut struct {
	channelPlan
	own     *ownLane
	channel int
	length  int
	readers []laneReader
	done    int      // pieces that were put in
	lent    lentSpan // where the data are that are lent, of address 0 if they are put in
}

// A laneReader is one who takes what is put into a channel.
type laneReader struct {
	taken *atomic.Uint64
	bell  bell
}

// open announces the data of a channel, before the contract is sent. The number
// of the use comes first: who reads the length then knows of which use it is.
func (o *laneOut) open(align, size int) {
	o.channelPlan = planChannel(len(o.own.data), o.channel, size, o.length, align)
	if o.lent.address != 0 {
		o.pieces = 1
	}
	o.own.put(o.channel).Store(counted(o.own.use, 0))
	o.own.length(o.channel).Store(uint64(o.length))
	o.own.lend(o.channel, o.lent)
}

// read adds the rank at a place to the readers.
func (o *laneOut) read(place int, several bool) {
	l := &o.own.lane
	o.readers = append(o.readers, laneReader{l.taken(place, several), l.segment.bell(place)})
}

// owe notes what the readers are to have taken before the lane is used again.
func (o *laneOut) owe() {
	for _, r := range o.readers {
		if o.pieces > 0 {
			o.own.owed = append(o.own.owed, debt{r.taken, counted(o.own.use, o.pieces)})
		}
	}
}

// over reports whether all pieces were put in.
func (o *laneOut) over() bool { return o.done == o.pieces }

// room reports whether the next piece can be put in.
func (o *laneOut) room() bool {
	if o.done < o.slots {
		return true
	}
	for _, r := range o.readers {
		if o.done-countIn(r.taken.Load(), o.own.use) >= o.slots {
			return false
		}
	}
	return true
}

// next returns where the next piece goes. There is room.
func (o *laneOut) next() []byte { return o.slot(o.own.data, o.done, o.size(o.done, o.length)) }

// publish makes the piece visible that was written to next.
func (o *laneOut) publish() {
	o.done++
	o.own.put(o.channel).Store(counted(o.own.use, o.done))
	for _, r := range o.readers {
		r.bell.ring()
	}
}

// A laneIn is a reading end of a channel.
type laneIn struct {
	channelPlan
	lane    lane
	use     uint32
	channel int
	place   int  // of the reader
	several bool // whether others read the channel too
	bell    bell // of the writer
	length  int
	lent    lentSpan // where the data are in the writer's memory, of address 0 if they are put in
	stale   bool     // whether the writer has given the call up, so that nothing will come
	done    int      // pieces that were taken
}

// open learns what will come. The writer's contract is there.
func (in *laneIn) open(align, size int) {
	in.length = int(in.lane.length(in.channel).Load())
	in.lent = in.lane.lent(in.channel)
	if in.past() {
		in.stale, in.pieces = true, 1
		return
	}
	in.channelPlan = planChannel(len(in.lane.data), in.channel, size, in.length, align)
}

// past reports whether the writer uses the lane for another call by now.
func (in *laneIn) past() bool { return uint32(in.lane.put(in.channel).Load()>>32) != in.use }

func (in *laneIn) over() bool { return in.done == in.pieces }

// ready reports whether the next piece is there.
func (in *laneIn) ready() bool { return countIn(in.lane.put(in.channel).Load(), in.use) > in.done }

// next returns the next piece, which is ready.
func (in *laneIn) next() []byte { return in.slot(in.lane.data, in.done, in.size(in.done, in.length)) }

// release lets the writer use the memory of the piece that next returned.
func (in *laneIn) release() {
	in.done++
	in.lane.taken(in.place, in.several).Store(counted(in.use, in.done))
	in.bell.ring()
}

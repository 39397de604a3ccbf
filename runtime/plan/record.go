package plan

import (
	"math"
	"slices"
)

// A Recorder notes what one rank does. Its methods are for the rank's goroutine.
type Recorder struct {
	Memory     Memory           // set in the end
	Moments    Moments          // likewise
	Parameters map[string]int64 // elements of whole parameters, by path and shape; likewise
	Steps      func() uint64    // instructions that the interpreter has carried out; nil if nobody counts

	program   *Program
	events    []Event
	groups    []Group
	named     map[string]int32 // groups by name
	channels  []Channel
	channelOf map[channelKey]int32

	ops    map[Operation]int32 // what the program has of these, without its lock
	calls  map[Call]int32
	sent   map[string]int64 // of Program.Sent, -1 where members send as many
	lists  map[*int]int64   // likewise, by the first element of a list, which this keeps
	texts  [3]map[string]int32
	region int32
	path   []int32
	issues int32
	short  shortening
	joint  map[string]bool // see Joint
	marks  int
	views  int    // since the last event
	steps  uint64 // until then
}

// Recorder returns one for a rank of p.
func (p *Program) Recorder() *Recorder {
	r := &Recorder{program: p, named: map[string]int32{}, channelOf: map[channelKey]int32{}, ops: map[Operation]int32{}, calls: map[Call]int32{}, sent: map[string]int64{}, lists: map[*int]int64{}}
	for i := range r.texts {
		r.texts[i] = map[string]int32{"": 0}
	}
	return r
}

func (r *Recorder) text(space int, s string) int32 {
	i, ok := r.texts[space][s]
	if !ok {
		i = r.program.text(space, s)
		r.texts[space][s] = i
	}
	return i
}

// Enter says that what follows is in the region at path, until the function it
// returns is called.
func (r *Recorder) Enter(path string) (leave func()) {
	was := r.region
	r.region = r.text(regionSpace, path)
	return func() { r.region = was }
}

// Compute notes an operation that the host brings about in a manner, at line.
func (r *Recorder) Compute(o Operation, how Manner, phase Phase, line string) {
	i, ok := r.ops[o]
	if !ok {
		i = r.program.operation(o)
		r.ops[o] = i
	}
	r.add(Event{Do: Compute, Index: i, Manner: how, Phase: phase}, line)
}

// View notes an operation that moves and computes nothing.
func (r *Recorder) View() { r.views++ }

func (r *Recorder) add(e Event, line string) *Event {
	e.Views, r.views = uint8(min(r.views, math.MaxUint8)), 0
	if r.Steps != nil {
		n := r.Steps()
		if n >= r.steps { // or else another file runs
			e.Script = uint32(min(n-r.steps, math.MaxUint32))
		}
		r.steps = n
	}
	e.Region, e.Line = r.region, r.text(lineSpace, line)
	r.events = append(r.events, e)
	return &r.events[len(r.events)-1]
}

// Group returns the number of the group called name, of the mesh dims dims, that
// of returns the members of. What calls cost there is the machine's, or what the mesh
// was given.
func (r *Recorder) Group(name, dims string, given Cost, of func(rank int) []int) int32 {
	i, ok := r.named[name]
	if !ok {
		i = int32(len(r.groups))
		r.groups = append(r.groups, Group{Of: of, Dims: r.text(dimSpace, dims), Name: name, Cost: given, named: dims != name})
		r.named[name] = i
	}
	return i
}

// A Pending is a call that is noted and not complete: what it sends is not known.
type Pending int

// Begin notes a call of a group: Collective, Issue, Send or Recv. Finish completes
// it. An Issue is numbered: that is what Wait wants.
func (r *Recorder) Begin(do Do, group int32, phase Phase, line, forward string) (p Pending, issue int32) {
	if do == Issue {
		issue = r.issues
		r.issues++
	}
	r.add(Event{Do: do, Group: group, Index: -1, Phase: phase, Forward: r.text(lineSpace, forward)}, line)
	return Pending(len(r.events) - 1), issue
}

// Peer sets the other end of a message, a place of its group: of says that of each rank of the
// kind, and is nil if it is the same for all.
func (r *Recorder) Peer(p Pending, peer int, of func(rank int) int, tag int, stage bool) {
	e := &r.events[p]
	key := channelKey{e.Do, e.Group, int32(tag), int32(peer)}
	i, ok := r.channelOf[key]
	if !ok {
		i = int32(len(r.channels))
		r.channels = append(r.channels, newChannel(key, of))
		r.channelOf[key] = i
	}
	e.Channel, e.Stage = i, stage
}

// Finish says what a call has put in, and how many bytes its rank sends.
func (r *Recorder) Finish(p Pending, c Call, wire int64) {
	i, ok := r.calls[c]
	if !ok {
		i = r.program.call(c)
		r.calls[c] = i
	}
	r.events[p].Index, r.events[p].Wire = i, wire
}

// Unlike says what members of a call send, if they do not send as many bytes: sent returns it, or
// nil if they do, and is asked once for the calls of all ranks with the same key.
func (r *Recorder) Unlike(p Pending, key []byte, sent func() Sends) {
	i, ok := r.sent[string(key)]
	if !ok {
		i = r.program.unlike("key"+string(key), sent)
		r.sent[string(key)] = i
	}
	r.unlike(p, i)
}

// UnlikeList is Unlike of a list that does not change, which calls like this one have in common.
func (r *Recorder) UnlikeList(p Pending, list []int) {
	i, ok := r.lists[&list[0]]
	if !ok {
		i = -1
		if slices.Min(list) != slices.Max(list) {
			i = r.program.unlikeList(list)
		}
		r.lists[&list[0]] = i
	}
	r.unlike(p, i)
}

// unlike has a call refer to Program.Sent, or, if i is -1, to nothing there.
func (r *Recorder) unlike(p Pending, i int64) {
	if i >= 0 {
		r.events[p].Wire, r.events[p].Unlike = i, true
	}
}

// Wait notes that the rank waits for an Issue.
func (r *Recorder) Wait(issue int32, phase Phase, line string) {
	r.add(Event{Do: Wait, Index: issue, Phase: phase}, line)
}

// Read notes that the host waits for the device.
func (r *Recorder) Read(phase Phase, line string) { r.add(Event{Do: Read, Phase: phase}, line) }

// Mark notes the end of a step.
func (r *Recorder) Mark(phase Phase, line string) {
	r.marks++
	r.add(Event{Do: Mark, Phase: phase}, line)
}

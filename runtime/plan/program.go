package plan

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tpsh/runtime/hardware"
)

// A Program is what the ranks of a job do.
type Program struct {
	Ranks      int
	Kinds      []*Kind // by first rank
	KindOf     []int32 // by rank
	Operations []Operation
	Calls      []Call
	Regions    []string // paths, "" first
	Lines      []string // file:line:col, "" first
	Dims       []string // names of mesh dims, "" first
	Sent       []Sends  // of calls whose members do not send as many bytes
	ToldApart  []string // the lines that have told ranks apart
	Joint      []string // functions whose backward passes a schedule could not split
	Parameters int64    // elements of the whole model

	// Laps says that pipelines need no more micro-batches than fill them, if it is 1,
	// and so many more, less one: what follows repeats, and keeps no more memory.
	// 0 is all of them. Seconds tells the time of the whole.
	Laps int
	// Brief says that the first pipeline may have a single lap: it is of a first step,
	// which makes what the others find.
	Brief bool

	counted map[string]bool // parameters
	short   shortening

	// mu guards the maps below, which hold the indices of what is in Operations, Calls, Sent,
	// Regions, Lines and Dims, and these while recorders note.
	mu     sync.Mutex
	ops    map[Operation]int32
	calls  map[Call]int32
	sent   map[string]int64    // by key; -1 where members send as many
	spaces [3]map[string]int32 // of Regions, Lines and Dims
}

// An Operation is what a device computes at once.
type Operation struct {
	Name string
	hardware.Operation
}

// A Call is what members put into a collective or a message.
type Call struct {
	Op    string
	Bytes int64  // of each member that puts anything in: see At
	Sole  int32  // 1 and the place of the only member that does; 0 if all do, or those at which pairs begin
	Pairs string // of a permutation: "0>1 1>2", who sends to whom by their places in the group
	Joins bool   // every member gets what all put in
}

// At returns the bytes that the member at place of the group puts in.
func (c *Call) At(place int) int64 {
	if c.Sole > 0 && int(c.Sole) != place+1 || c.Pairs != "" && !strings.Contains(" "+c.Pairs, fmt.Sprintf(" %d>", place)) {
		return 0
	}
	return c.Bytes
}

// Sends are the bytes that members of a call send, by their places.
type Sends func(place int) int

// A Kind is ranks that do the same.
type Kind struct {
	Ranks    []int32
	Events   []Event
	Groups   []Group
	Channels []Channel
	Memory   Memory
	Moments  Moments

	// Gathered is bytes of the largest tensor that a collective of the forward pass, or
	// the gradient of one, gathers or reduces.
	Gathered int64
}

// Moments are what a rank had when the sum was the most, when activations were, and
// when temporaries were: one of them is the fullest on any machine, whatever its
// library holds of each kind.
type Moments [3]Memory

// A Group is one that ranks of a kind communicate in: of each its own.
type Group struct {
	// Of returns the members of that of rank, in the group's order.
	Of   func(rank int) []int
	Dims int32 // of Program.Dims
	Name string
	Cost Cost // that the mesh of its dims was given; zero: the machine's

	named  bool          // Dims are of a mesh, and not the group's own name
	tables map[int][]int // the members of groups of ranks that have joined a kind
	rest   func(rank int) []int
}

// A Cost is what a call takes on a mesh that was given its costs: Alpha seconds, and
// Beta for each byte that a rank sends. It goes before the machine's, as it does in
// predicted_seconds and where redistributions are planned.
type Cost struct{ Alpha, Beta float64 }

// Do says what an Event is.
type Do uint8

const (
	Compute    Do = iota // an operation
	Collective           // of all members, waited for
	Issue                // of all members, and the rank goes on
	Wait                 // for an Issue
	Send                 // a message
	Recv                 // waits for a message
	Read                 // the host waits for the device
	Mark                 // the end of a step
	Lap                  // the end of a micro-batch, on the last stage, in a Program with Laps
)

// A Phase is a part of a step.
type Phase uint8

const (
	Forward Phase = iota
	Backward
	Optimizer
	Recompute // of a checkpoint, in backward
)

// A Manner is how the host brings an operation about.
type Manner struct {
	Placed   bool // on blocks of distributed tensors
	Recorded bool // so that gradients can go back through it
}

// An Event is one thing that a rank does.
type Event struct {
	Do      Do
	Phase   Phase
	Manner        // Compute
	Stage   bool  // Send, Recv: of a pipeline's schedule
	Unlike  bool  // Collective, Issue: not all members send as many bytes
	Views   uint8 // operations before it that move and compute nothing, 255 at most
	Index   int32 // Compute: of Operations; Collective, Issue, Send, Recv: of Calls; Wait: of the rank's Issues
	Group   int32 // of Kind.Groups
	Channel int32 // Send, Recv: of Kind.Channels
	Region  int32
	Line    int32
	Forward int32  // of a call in backward: the line of what it is the gradient of
	Script  uint32 // instructions of the interpreter before it
	Wire    int64  // Collective, Issue, Send: bytes that a rank sends; of Program.Sent if Unlike
}

// calls reports whether e has a Group: whether it is a collective or a message.
func (e *Event) calls() bool {
	return e.Do == Collective || e.Do == Issue || e.Do == Send || e.Do == Recv
}

// Memory is bytes of one rank: the most at a time of each kind, and of the sum.
type Memory struct {
	Peak          int64 `json:"peak"`
	Parameters    int64 `json:"parameters"`
	Gradients     int64 `json:"gradients"`
	Optimizer     int64 `json:"optimizer"`
	Activations   int64 `json:"activations"`
	Temporaries   int64 `json:"temporaries"`
	Communication int64 `json:"communication"`
}

// NewProgram returns a program of ranks that have done nothing.
func NewProgram(ranks int) *Program {
	p := &Program{Ranks: ranks, KindOf: make([]int32, ranks), ops: map[Operation]int32{}, calls: map[Call]int32{}, counted: map[string]bool{}, sent: map[string]int64{}}
	for i, list := range p.lists() {
		p.spaces[i] = map[string]int32{"": 0}
		*list = []string{""}
	}
	return p
}

func (p *Program) lists() [3]*[]string { return [3]*[]string{&p.Regions, &p.Lines, &p.Dims} }

const (
	regionSpace = iota
	lineSpace
	dimSpace
)

// text returns the index of s in one of the lists of texts.
func (p *Program) text(space int, s string) int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.spaces[space][s]
	if !ok {
		list := p.lists()[space]
		i = int32(len(*list))
		*list = append(*list, s)
		p.spaces[space][s] = i
	}
	return i
}

// operation returns the index of o.
func (p *Program) operation(o Operation) int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.ops[o]
	if !ok {
		i = int32(len(p.Operations))
		p.Operations = append(p.Operations, o)
		p.ops[o] = i
	}
	return i
}

// call returns the index of c.
func (p *Program) call(c Call) int32 {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.calls[c]
	if !ok {
		i = int32(len(p.Calls))
		p.Calls = append(p.Calls, c)
		p.calls[c] = i
	}
	return i
}

// unlike returns the index of what members send in calls with the same key; -1 if all send as many
// bytes, for which sent returns nil.
func (p *Program) unlike(key string, sent func() Sends) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	i, ok := p.sent[key]
	if !ok {
		i = -1
		if s := sent(); s != nil {
			i = int64(len(p.Sent))
			p.Sent = append(p.Sent, s)
		}
		p.sent[key] = i
	}
	return i
}

// unlikeList is unlike of a list of what members send, by their places.
func (p *Program) unlikeList(list []int) int64 {
	key := []byte("list")
	for _, n := range list {
		key = binary.AppendUvarint(key, uint64(n))
	}
	return p.unlike(string(key), func() Sends { return func(place int) int { return list[place] } })
}

// Wire returns the bytes that the member at place of its group sends in e, a Collective,
// an Issue or a Send.
func (p *Program) Wire(e *Event, place int) int64 {
	if !e.Unlike {
		return e.Wire
	}
	return int64(p.Sent[e.Wire](place))
}

// Add says that ranks have done what r has noted. Kinds are added by first rank.
func (p *Program) Add(r *Recorder, ranks []int32) {
	k := &Kind{Ranks: ranks, Events: r.events, Groups: r.groups, Channels: r.channels, Memory: r.Memory, Moments: r.Moments}
	k.Gathered = p.gathered(k)
	for name, n := range r.Parameters {
		if !p.counted[name] {
			p.counted[name] = true
			p.Parameters += n
		}
	}
	p.short.add(&r.short, r.marks)
	for name := range r.joint {
		if !slices.Contains(p.Joint, name) {
			p.Joint = append(p.Joint, name)
		}
	}
	slices.Sort(p.Joint)
	for _, rank := range ranks {
		p.KindOf[rank] = int32(len(p.Kinds))
	}
	p.Kinds = append(p.Kinds, k)
}

// gathered returns what k.Gathered is to be: a library has buffers for whole tensors
// beside those that the program keeps. Of calls that have gradients the largest is that
// of a gradient, too.
func (p *Program) gathered(k *Kind) int64 {
	sizes := make([]int64, len(k.Groups)) // of groups, where they were asked for
	most := int64(0)
	for i := range k.Events {
		e := &k.Events[i]
		if e.Forward == 0 || e.Index < 0 || e.Do != Collective && e.Do != Issue {
			continue
		}
		n := p.Calls[e.Index].Bytes
		if p.Calls[e.Index].Joins {
			if sizes[e.Group] == 0 {
				sizes[e.Group] = int64(len(k.Groups[e.Group].Of(int(k.Ranks[0]))))
			}
			n *= sizes[e.Group]
		}
		most = max(most, n)
	}
	return most
}

// KeepMemory lets go of what the ranks do. Fullest still says what memory they take.
func (p *Program) KeepMemory() {
	for _, k := range p.Kinds {
		k.Events = nil
	}
}

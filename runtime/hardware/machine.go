package hardware

import (
	"math"

	"tpsh/runtime/dtype"
)

// A Machine holds the numbers of a hardware file. It is not changed after
// reading, and safe for concurrent use.
type Machine struct {
	Name, Doc string

	Issue    float64 // seconds the host takes to issue an operation
	Call     float64 // seconds more that it takes to issue a collective or a message
	Late     float64 // seconds that of two ranks the later comes to a blocking call; of more, the more doublings there are
	Switch   float64 // seconds more of a call for each further rank of a core, until one that waits has the core again
	Step     float64 // seconds of a step that no operation explains: the loop around it
	Script   float64 // seconds of the host for an instruction of the interpreter
	View     float64 // seconds of the host for an operation that moves and computes nothing: a view
	Placed   float64 // seconds more of the host for an operation on blocks of distributed tensors
	Recorded float64 // seconds more of the host for an operation that gradients are recorded of
	Backward float64 // seconds more of the host for an operation of a backward pass
	Cold     float64 // times more that the host takes after an operation that has filled the near cache
	Levels   []Level // of the network, innermost first

	memory          float64 // bytes a rank has
	cores           float64 // that all ranks share; 0: a rank has a device of its own
	start           float64 // seconds on the device before the first arithmetic
	waits           float64 // 1 where the host waits for the device at a message
	matrices        float64 // of scores that a kernel of attention takes at a time; 0: any number
	odd             float64 // seconds more of the host for attention to a number of them that this does not divide
	spread          float64 // FLOPs for each further core that a product takes; 0: it takes all
	helped          float64 // the share of a core that each further one is worth to a product
	part            float64 // bytes of what else each core has that shares it; 0: one does all
	joined          float64 // the share of a core that each further one is worth to that
	strided         float64 // seconds that each element takes more that is found by strides
	piece           float64 // seconds of each piece of an input that a single stride serves
	row             float64 // seconds that each row takes of what works row by row
	each            float64 // seconds that each matrix of a batch takes more
	helpers         float64 // cores that products of a rank may take: of Among; 0: 1
	crowd           float64 // further ranks of each core: of Among
	cache           float64 // bytes of an operation that do not go to memory
	cacheBandwidth  float64 // bytes a second at which those are read and written
	memoryBandwidth float64 // bytes a second
	memoryShare     float64 // of it that operations reach
	fused           float64 // share of the traffic of operations other than products that is left where a library fuses them
	inner           float64 // times that what a fused kernel would keep to itself is written or read
	products        [dtype.Count]float64
	rest            [dtype.Count]float64
	share           share
	Use             Use
}

// A Level is a ring of the network.
type Level struct {
	Name      string
	Size      int     // members, of the level below
	Latency   float64 // seconds from one member to another
	Bandwidth float64 // bytes a second that a rank sends, one direction
	Reached   float64 // share of the bandwidth that collectives reach

	// SharedBandwidth is what all the ranks of one member of this level (the
	// devices of a node, for the level of nodes) send together at most, in bytes
	// a second; 0 is no limit. SharedLatency is added once for each rank that
	// shares the link.
	SharedBandwidth, SharedLatency float64
}

// share says which part of the peak a product reaches. Of f FLOPs and smallest dim d
// it takes (halfFLOPs + f·(1 + halfDim/d)) / (top · peak), where the peak of halfFLOPs
// is that of the fastest float type, and a small d costs no more than a product with
// each of d vectors at the pace of memory.
type share struct {
	top, halfFLOPs, halfDim float64
}

// Use says how much memory a program takes of what it keeps by kind: a library
// may keep more than tpsh counts, or less.
type Use struct {
	Outside      float64 // bytes of the memory that are no program's, and not counted as its: context, buffers of communication
	Fixed        float64 // bytes that a program has beside what it keeps: workspace of libraries
	Communicator float64 // bytes of buffers for each group of ranks
	Parameters   float64 // bytes held for each byte of parameters
	Gradients    float64
	Optimizer    float64
	Activations  float64
	Temporaries  float64
	Fragments    float64 // bytes lost for each byte of activations and temporaries
	Buffers      float64 // bytes held for each byte of what ranks gather or reduce at a time
}

// Kept is what a program keeps, in bytes by kind, at its fullest moment.
type Kept struct {
	Parameters, Gradients, Optimizer, Activations, Temporaries, Communication float64

	Groups   int     // of ranks it communicates in
	Gathered float64 // bytes of the largest tensor that its ranks gather or reduce in a layer
}

// Peak returns how many bytes of the memory a rank's program takes.
func (m *Machine) Peak(k Kept) float64 {
	u := m.Use
	moving := u.Activations*k.Activations + u.Temporaries*k.Temporaries
	return u.Fixed + u.Communicator*float64(k.Groups) + u.Parameters*k.Parameters + u.Gradients*k.Gradients +
		u.Optimizer*k.Optimizer + moving*(1+u.Fragments) + k.Communication + u.Buffers*k.Gathered
}

// PeakFLOPs returns the FLOP/s that products in d reach at most.
func (m *Machine) PeakFLOPs(d dtype.DType) float64 { return rate(m.products, d) * max(1, m.helpers) }

// Among returns what each of n ranks has of a machine whose cores they share, and m
// itself if each has a device of its own. A rank computes on one core, at the rates of
// the file divided by the cores, but for products, which take those that no rank has as
// well, one for each so many FLOPs. Where there are more ranks than cores all of it takes
// as many times longer, as does what starts an operation or a call.
func (m *Machine) Among(n int) *Machine { return m.AmongBusy(n, float64(n)) }

// AmongBusy is Among where so many of the n ranks compute at a time, in the mean, and the others
// wait: who waits leaves the cores to others.
func (m *Machine) AmongBusy(n int, busy float64) *Machine {
	if m.cores == 0 {
		return m
	}
	out := *m
	out.Levels = append([]Level(nil), m.Levels...)
	turns := max(1, busy/m.cores)
	out.memory /= float64(n)
	share := 1 / (m.cores * turns)
	out.memoryBandwidth *= share
	out.cacheBandwidth *= share
	for d := range out.products {
		out.products[d] *= share
		out.rest[d] *= share
	}
	out.helpers = max(1, math.Floor(m.cores/float64(n)))
	out.crowd = max(0, float64(n)/m.cores-1)
	out.start *= turns
	out.each *= turns
	out.strided *= turns
	out.Issue *= turns
	out.Call *= turns
	out.View *= turns
	out.Placed *= turns
	out.Recorded *= turns
	out.Backward *= turns
	out.piece *= turns
	out.Script *= turns
	out.odd *= turns
	out.row *= turns
	for i := range out.Levels {
		out.Levels[i].Latency *= turns
	}
	return &out
}

// Crowded reports whether n ranks share cores that are fewer.
func (m *Machine) Crowded(n int) bool { return m.cores > 0 && float64(n) > m.cores }

// Carries reports whether calls go on while their ranks compute. Where ranks share cores that are
// fewer, of Among, none is free to move bytes: what a rank computes keeps its calls waiting.
func (m *Machine) Carries() bool { return m.crowd == 0 }

// Shared reports whether ranks share cores, so that the host is the device.
func (m *Machine) Shared() bool { return m.cores > 0 }

// WaitsForMessages reports whether the host waits, when a rank has sent or received a
// message, until the device is done with it and all before it.
func (m *Machine) WaitsForMessages() bool { return m.waits > 0 }

// Memory returns how many bytes of memory a rank has.
func (m *Machine) Memory() int64 { return int64(m.memory) }

// Room returns how many bytes of it a program can have.
func (m *Machine) Room() int64 { return int64(m.memory - m.Use.Outside) }

package hardware

import (
	"fmt"
	"math"
	"strings"

	"tpsh/runtime/dtype"
)

// A field is a number of a hardware file.
type field struct {
	key, unit string
	low, high float64 // what makes sense, both ends included
	needed    bool    // or else it has a default
	otherwise float64
	free      bool    // tpsh plan fit may change it
	shared    bool    // but only where ranks share cores: elsewhere issue stands for it
	typical   float64 // of a free one: what a fit takes 0 for
	spread    float64 // of a free one: how far it is from the file's value, as the logarithm of a factor
	doc       string
	at        func(*Machine, *Level) *float64
}

// top lists the fields that stand in no table.
var top = []field{
	{key: "memory", unit: "bytes", low: 1, high: 1e18, needed: true, doc: "a rank has", at: func(m *Machine, _ *Level) *float64 { return &m.memory }},
	{key: "memory_bandwidth", unit: "bytes a second", low: 1, high: 1e18, needed: true, doc: "of a rank's memory", at: func(m *Machine, _ *Level) *float64 { return &m.memoryBandwidth }},
	{key: "cores", unit: "cores", high: 1e6, doc: "that all ranks share, with the memory and the rates of the file; 0: each rank has a device of its own", at: func(m *Machine, _ *Level) *float64 { return &m.cores }},
	{key: "memory_share", unit: "a share", low: 0.01, high: 1, otherwise: 1, free: true, typical: 0.85, spread: 0.1, doc: "of the memory bandwidth that operations reach", at: func(m *Machine, _ *Level) *float64 { return &m.memoryShare }},
	{key: "cache", unit: "bytes", high: 1e12, doc: "of an operation that do not go to memory", at: func(m *Machine, _ *Level) *float64 { return &m.cache }},
	{key: "cache_bandwidth", unit: "bytes a second", high: 1e18, free: true, shared: true, typical: 5e10, spread: 0.5, doc: "at which those are read and written; 0: there is no cache", at: func(m *Machine, _ *Level) *float64 { return &m.cacheBandwidth }},
	{key: "fused", unit: "a share", low: 0.05, high: 1, otherwise: 1, free: true, typical: 0.7, spread: 0.4, doc: "of the memory traffic outside products that is left where a library fuses operations", at: func(m *Machine, _ *Level) *float64 { return &m.fused }},
	{key: "inner", unit: "times", high: 100, free: true, typical: 3, spread: 0.7, doc: "that attention writes or reads a matrix of scores; 0 where it is fused", at: func(m *Machine, _ *Level) *float64 { return &m.inner }},
	{key: "matrices", unit: "matrices", high: 1e6, doc: "of scores that a kernel of attention takes at a time: their number is a multiple of it, or several operations are issued; 0: any number", at: func(m *Machine, _ *Level) *float64 { return &m.matrices }},
	{key: "odd", unit: "seconds", high: 1, free: true, typical: 5e-04, spread: 1, doc: "more of the host for attention whose matrices of scores are no such multiple", at: func(m *Machine, _ *Level) *float64 { return &m.odd }},
	{key: "waits", unit: "0 or 1", high: 1, doc: "1: at a message the host waits until the device is done with it; 0: it goes on", at: func(m *Machine, _ *Level) *float64 { return &m.waits }},
	{key: "spread", unit: "FLOPs", high: 1e18, doc: "for each further core that a product takes; 0: it takes all that are free", at: func(m *Machine, _ *Level) *float64 { return &m.spread }},
	{key: "helped", unit: "a share", low: 0.1, high: 1, otherwise: 1, free: true, shared: true, typical: 0.8, spread: 0.3, doc: "of a core that each further one is worth to a product", at: func(m *Machine, _ *Level) *float64 { return &m.helped }},
	{key: "part", unit: "elements", high: 1e18, doc: "that each core has at least of an operation that several share, beside products; 0: one core does all of it", at: func(m *Machine, _ *Level) *float64 { return &m.part }},
	{key: "joined", unit: "a share", low: 0.1, high: 1, otherwise: 1, free: true, shared: true, typical: 0.8, spread: 0.3, doc: "of a core that each further one is worth to such an operation", at: func(m *Machine, _ *Level) *float64 { return &m.joined }},
	{key: "each", unit: "seconds", high: 1, free: true, shared: true, typical: 1e-06, spread: 1, doc: "more for each matrix of a batch of products, as the heads of attention are", at: func(m *Machine, _ *Level) *float64 { return &m.each }},
	{key: "strided", unit: "seconds", high: 1, free: true, shared: true, typical: 1e-09, spread: 1, doc: "more for each element that is found by strides: of a transposed input, say", at: func(m *Machine, _ *Level) *float64 { return &m.strided }},
	{key: "piece", unit: "seconds", high: 1, free: true, shared: true, typical: 1e-08, spread: 1, doc: "for each piece of an input that a single stride serves, where there are several", at: func(m *Machine, _ *Level) *float64 { return &m.piece }},
	{key: "row", unit: "seconds", high: 1, free: true, shared: true, typical: 1e-07, spread: 1, doc: "for each row of softmax, norms and losses", at: func(m *Machine, _ *Level) *float64 { return &m.row }},
	{key: "script", unit: "seconds", high: 1, free: true, shared: true, typical: 8e-08, spread: 0.3, doc: "of the host for an instruction of the interpreter, with what it calls", at: func(m *Machine, _ *Level) *float64 { return &m.Script }},
	{key: "view", unit: "seconds", high: 1, free: true, shared: true, typical: 1e-06, spread: 1, doc: "of the host for an operation that moves and computes nothing, as a view", at: func(m *Machine, _ *Level) *float64 { return &m.View }},
	{key: "placed", unit: "seconds", high: 1, free: true, shared: true, typical: 2e-06, spread: 1, doc: "more of the host for an operation on blocks of distributed tensors", at: func(m *Machine, _ *Level) *float64 { return &m.Placed }},
	{key: "recorded", unit: "seconds", high: 1, free: true, shared: true, typical: 1e-06, spread: 1, doc: "more of the host for an operation of which gradients are recorded", at: func(m *Machine, _ *Level) *float64 { return &m.Recorded }},
	{key: "backward", unit: "seconds", high: 1, free: true, shared: true, typical: 1e-06, spread: 1, doc: "more of the host for an operation of a backward pass", at: func(m *Machine, _ *Level) *float64 { return &m.Backward }},
	{key: "cold", unit: "times", high: 100, free: true, shared: true, typical: 1, spread: 1, doc: "more that the host takes after an operation that has filled the cache", at: func(m *Machine, _ *Level) *float64 { return &m.Cold }},
	{key: "call", unit: "seconds", high: 1, free: true, typical: 2e-05, spread: 1, doc: "more of the host to issue a collective or a message", at: func(m *Machine, _ *Level) *float64 { return &m.Call }},
	{key: "late", unit: "seconds", high: 1, free: true, typical: 2e-05, spread: 1, doc: "that the last of two ranks comes late to a blocking call; of four twice that", at: func(m *Machine, _ *Level) *float64 { return &m.Late }},
	{key: "switch", unit: "seconds", high: 1, free: true, shared: true, typical: 1e-05, spread: 1, doc: "more of a call for each further rank of a core, until one that waits has the core again", at: func(m *Machine, _ *Level) *float64 { return &m.Switch }},
	{key: "issue", unit: "seconds", high: 1, free: true, typical: 5e-06, spread: 1, doc: "of the host to issue an operation", at: func(m *Machine, _ *Level) *float64 { return &m.Issue }},
	{key: "start", unit: "seconds", high: 1, free: true, typical: 2e-06, spread: 0.7, doc: "of the device before an operation's first arithmetic", at: func(m *Machine, _ *Level) *float64 { return &m.start }},
	{key: "step", unit: "seconds", high: 100, free: true, typical: 0.005, spread: 1, doc: "of a step that no operation explains", at: func(m *Machine, _ *Level) *float64 { return &m.Step }},
}

// shares lists the fields of [share].
var shares = []field{
	{key: "top", unit: "a share", low: 0.01, high: 1, otherwise: 1, free: true, typical: 0.7, spread: 0.3, doc: "of the peak that the largest products reach", at: func(m *Machine, _ *Level) *float64 { return &m.share.top }},
	{key: "half_flops", unit: "FLOPs", high: 1e15, free: true, typical: 3e+09, spread: 1, doc: "that a product takes more to get going, at the rate of the fastest float type", at: func(m *Machine, _ *Level) *float64 { return &m.share.halfFLOPs }},
	{key: "half_dim", unit: "elements", high: 1e6, free: true, typical: 30, spread: 0.8, doc: "of the smallest dim of a product that reaches half of that, or the pace of memory", at: func(m *Machine, _ *Level) *float64 { return &m.share.halfDim }},
}

// uses lists the fields of [use].
var uses = []field{
	{key: "outside", unit: "bytes", high: 1e15, doc: "of the memory that no program can have, and that are not counted as its: context, buffers of communication", at: func(m *Machine, _ *Level) *float64 { return &m.Use.Outside }},
	{key: "fixed", unit: "bytes", high: 1e15, free: true, typical: 1e+09, spread: 0.7, doc: "that a program has beside what it keeps: workspace of libraries", at: func(m *Machine, _ *Level) *float64 { return &m.Use.Fixed }},
	{key: "communicator", unit: "bytes", high: 1e15, free: true, typical: 1e+08, spread: 1, doc: "of buffers for each group of ranks", at: func(m *Machine, _ *Level) *float64 { return &m.Use.Communicator }},
	{key: "parameters", unit: "a factor", high: 100, otherwise: 1, free: true, typical: 1, spread: 0.3, doc: "bytes held for each byte of parameters", at: func(m *Machine, _ *Level) *float64 { return &m.Use.Parameters }},
	{key: "gradients", unit: "a factor", high: 100, otherwise: 1, free: true, typical: 1, spread: 0.3, doc: "bytes held for each byte of gradients", at: func(m *Machine, _ *Level) *float64 { return &m.Use.Gradients }},
	{key: "optimizer", unit: "a factor", high: 100, otherwise: 1, free: true, typical: 1, spread: 0.3, doc: "bytes held for each byte of optimizer state", at: func(m *Machine, _ *Level) *float64 { return &m.Use.Optimizer }},
	{key: "activations", unit: "a factor", high: 100, otherwise: 1, free: true, typical: 1, spread: 0.4, doc: "bytes held for each byte that backward keeps", at: func(m *Machine, _ *Level) *float64 { return &m.Use.Activations }},
	{key: "temporaries", unit: "a factor", high: 100, otherwise: 1, free: true, typical: 1, spread: 0.6, doc: "bytes held for each byte of temporaries", at: func(m *Machine, _ *Level) *float64 { return &m.Use.Temporaries }},
	{key: "fragments", unit: "a factor", high: 100, free: true, typical: 0.05, spread: 0.7, doc: "bytes lost for each byte of activations and temporaries", at: func(m *Machine, _ *Level) *float64 { return &m.Use.Fragments }},
	{key: "buffers", unit: "a factor", high: 100, free: true, typical: 2, spread: 0.7, doc: "bytes held for each byte of the largest tensor that ranks gather or reduce in a layer", at: func(m *Machine, _ *Level) *float64 { return &m.Use.Buffers }},
}

// levels lists the fields of a [[level]], but for its name and size.
var levels = []field{
	{key: "latency", unit: "seconds", high: 10, needed: true, free: true, typical: 5e-06, spread: 0.7, doc: "from one member to another", at: func(_ *Machine, l *Level) *float64 { return &l.Latency }},
	{key: "bandwidth", unit: "bytes a second", low: 1, high: 1e18, needed: true, doc: "that a rank sends, one direction", at: func(_ *Machine, l *Level) *float64 { return &l.Bandwidth }},
	{key: "reached", unit: "a share", low: 0.001, high: 1, otherwise: 1, free: true, typical: 0.7, spread: 0.6, doc: "of the bandwidth that collectives reach", at: func(_ *Machine, l *Level) *float64 { return &l.Reached }},
	{key: "shared_bandwidth", unit: "bytes a second", high: 1e18, doc: "that the ranks of one member send together; 0 is no limit", at: func(_ *Machine, l *Level) *float64 { return &l.SharedBandwidth }},
	{key: "shared_latency", unit: "seconds", high: 10, doc: "more for each rank that shares a member's link", at: func(_ *Machine, l *Level) *float64 { return &l.SharedLatency }},
}

// rates returns the fields of [peak] or [rest]: FLOP/s by dtype.
func rates(doc string, of func(*Machine) *[dtype.Count]float64) []field {
	var out []field
	for _, d := range dtype.Reals {
		out = append(out, field{key: d.String(), unit: "FLOP/s", low: 1, high: 1e21, needed: d == dtype.Float32, doc: doc + " in " + d.String(),
			at: func(m *Machine, _ *Level) *float64 { return &of(m)[d] }})
	}
	return out
}

// tables lists the tables of a file with one of each.
var tables = []struct {
	name   string
	fields []field
}{
	{"", top},
	{"peak", rates("of products", func(m *Machine) *[dtype.Count]float64 { return &m.products })},
	{"rest", rates("of everything else", func(m *Machine) *[dtype.Count]float64 { return &m.rest })},
	{"share", shares},
	{"use", uses},
}

// fieldsOf returns the fields of the table called name, nil if there is none.
func fieldsOf(name string) []field {
	if name == "level" {
		return levels
	}
	for _, t := range tables {
		if t.name == name {
			return t.fields
		}
	}
	return nil
}

// check reports why v cannot be f's value, "" if it can.
func (f *field) check(v float64) string {
	if math.IsNaN(v) || v < f.low || v > f.high {
		return fmt.Sprintf("got %v, want %v to %v (%s %s)", v, f.low, f.high, f.unit, f.doc)
	}
	return ""
}

// A Constant is a number of a machine that a fit may change.
type Constant struct {
	Name      string  // "share.top", "node.latency"
	Unit, Doc string  //
	Low, High float64 // what makes sense, both ends included
	Typical   float64 // what stands for 0 where a logarithm is needed
	Spread    float64 // how far it usually is from a file's value, as the logarithm of a factor
	field     *field
	level     int // of Machine.Levels, -1 for none
}

// Constants lists the numbers of m that a fit may change, in a file's order.
func (m *Machine) Constants() []Constant {
	var out []Constant
	add := func(prefix string, level int, fields []field) {
		for i := range fields {
			if f := &fields[i]; f.free && (m.cores > 0 || !f.shared) {
				out = append(out, Constant{prefix + f.key, f.unit, f.doc, f.low, f.high, f.typical, f.spread, f, level})
			}
		}
	}
	for _, t := range tables {
		add(strings.TrimPrefix(t.name+".", "."), -1, t.fields)
	}
	for i := range m.Levels {
		add(m.Levels[i].Name+".", i, levels)
	}
	return out
}

// at returns where c stands in m.
func (c *Constant) at(m *Machine) *float64 {
	if c.level < 0 {
		return c.field.at(m, nil)
	}
	return c.field.at(m, &m.Levels[c.level])
}

// Value returns c's value in m.
func (c *Constant) Value(m *Machine) float64 { return *c.at(m) }

// Set returns m with other values of the constants named; m itself stays as it
// is. Names that are none of m's are passed over.
func (m *Machine) Set(values map[string]float64) *Machine {
	out := *m
	out.Levels = append([]Level(nil), m.Levels...)
	for _, c := range out.Constants() {
		if v, ok := values[c.Name]; ok {
			*c.at(&out) = v
		}
	}
	return &out
}

package hardware

import "math"

// A Collective is one call as one group makes it.
type Collective struct {
	Op    string  // as comm_trace names it; "send" goes from Ranks[0] to Ranks[1]
	Ranks []int   // of the world, in the group's order
	Bytes float64 // that a rank puts in: all_gather its own part, all_reduce and reduce_scatter all they reduce
}

// Collective returns the seconds of c from the arrival of its last member.
func (m *Machine) Collective(c Collective) float64 {
	return m.CollectiveOn(c.Op, m.GroupOf(c.Ranks), c.Bytes)
}

// CollectiveOn returns the seconds of op on a group of shape g, each rank of
// which puts in so many bytes. Operations that this package does not know cost
// as a broadcast does.
//
// An operation of several levels is done level by level: an all-reduce reduces
// and scatters inside, all-reduces what is left across, and gathers inside. Each
// level takes the ring or the tree, whichever is sooner.
func (m *Machine) CollectiveOn(op string, g Group, bytes float64) float64 {
	if g.n <= 1 {
		return 0
	}
	var t float64
	switch op {
	case "all_reduce":
		t = m.allReduce(g, bytes)
	case "all_gather":
		t = m.allGather(g, bytes)
	case "reduce_scatter":
		t = m.allGather(g, bytes/float64(g.n))
	case "all_to_all":
		t = m.allToAll(g, bytes)
	case "gather", "scatter":
		t = m.rooted(g, op, bytes)
	case "collective_permute", "ring_forward", "send", "recv":
		t = m.message(g, bytes)
	case "barrier":
		t = m.broadcast(g, 0)
	default: // broadcast, reduce, objects
		t = m.broadcast(g, bytes)
	}
	return t + m.start + m.Late*math.Log2(float64(g.n)) + m.Switch*m.crowd
}

// A link is what a rank has on one level while all ranks of its machine use it.
type link struct{ latency, bandwidth float64 }

// link returns what a rank has on level i. Groups of one mesh dim run at the
// same time on all ranks, so what leaves a member of the level is shared by all
// of its ranks.
func (m *Machine) link(i int) link {
	l := m.Levels[min(i, len(m.Levels)-1)]
	sharing := 1.
	for _, below := range m.Levels[:min(i, len(m.Levels)-1)] {
		sharing *= float64(below.Size)
	}
	bw := l.Bandwidth
	if l.SharedBandwidth > 0 {
		bw = min(bw, l.SharedBandwidth/sharing)
	}
	return link{l.Latency + l.SharedLatency*sharing, bw * l.Reached}
}

// allReduce reduces bytes by the sooner of two: level by level, or down and up a
// tree of all members in segments.
func (m *Machine) allReduce(g Group, bytes float64) float64 {
	return min(m.reduceByLevel(g, 0, bytes), 2*m.broadcast(g, bytes))
}

// reduceByLevel reduces bytes over the levels of g from i on.
func (m *Machine) reduceByLevel(g Group, i int, bytes float64) float64 {
	if i > g.outermost() {
		return 0
	}
	n := float64(g.sizes[i])
	return 2*m.exchange(i, n, bytes/n) + m.reduceByLevel(g, i+1, bytes/n)
}

// exchange gathers parts of n members of level i on each: around a ring, or by
// doubling, in fewer steps of larger messages that go further.
func (m *Machine) exchange(i int, n, part float64) float64 {
	if n == 1 {
		return 0
	}
	l := m.link(i)
	carried := (n - 1) * part / l.bandwidth
	return min((n-1)*l.latency+carried, log2(n)*l.latency+carried/doublingReach)
}

// doublingReach is the share of a ring's bandwidth that doubling reaches: its
// partners are far apart, and a power of two.
const doublingReach = 0.75

// allGather gathers parts of so many bytes: across first, then what came
// together inside. A reduce-scatter is the same backwards.
func (m *Machine) allGather(g Group, part float64) float64 {
	t := 0.
	for i := g.outermost(); i >= 0; i-- {
		n := float64(g.sizes[i])
		t += m.exchange(i, n, part)
		part *= n
	}
	return t
}

// allToAll sends every other member its part of bytes.
func (m *Machine) allToAll(g Group, bytes float64) float64 {
	t, within := 0., 1.
	for i := 0; i <= g.outermost(); i++ {
		others := within * float64(g.sizes[i]-1) // members first reached on this level
		within *= float64(g.sizes[i])
		if others == 0 {
			continue
		}
		l := m.link(i)
		t += others*l.latency + bytes*others/float64(g.n)/l.bandwidth
	}
	return t
}

// rooted moves a part of each member to or from a root, whose link is the
// bottleneck. A scatter's bytes are those of all parts.
func (m *Machine) rooted(g Group, op string, bytes float64) float64 {
	if op == "scatter" {
		bytes /= float64(g.n)
	}
	return m.allToAll(g, bytes*float64(g.n))
}

// message sends bytes over the outermost level that g spans; a rank copies those
// to itself.
func (m *Machine) message(g Group, bytes float64) float64 {
	if g.outermost() < 0 {
		return 2 * bytes / (m.memoryBandwidth * m.memoryShare)
	}
	l := m.link(g.outermost())
	return l.latency + bytes/l.bandwidth
}

// broadcast sends bytes down a tree in segments, over all levels at once.
func (m *Machine) broadcast(g Group, bytes float64) float64 {
	t, slowest := 0., 0.
	for i := g.outermost(); i >= 0; i-- {
		if n := float64(g.sizes[i]); n > 1 {
			l := m.link(i)
			t += log2(n) * l.latency
			slowest = max(slowest, bytes/l.bandwidth)
		}
	}
	return t + slowest
}

// log2 returns the depth of a tree of n.
func log2(n float64) float64 { return math.Ceil(math.Log2(n)) }

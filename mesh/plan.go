package mesh

import (
	"fmt"
	"slices"
)

// An Op is what a step of a plan does. Along the dims of the step each rank
// goes from the step's source placements to its target placements.
type Op uint8

const (
	// Slice drops what a rank no longer needs. It moves nothing.
	Slice Op = iota
	// AllGather goes from Shard to Replicate.
	AllGather
	// AllToAll goes from Shard to Shard.
	AllToAll
	// ReduceScatter goes from Partial to Shard.
	ReduceScatter
	// AllReduce goes from Partial to Replicate.
	AllReduce
	// Direct goes from anything to anything that is not Partial by the
	// Exchange of the two layouts.
	Direct
	// MakePartial goes from Replicate to Partial. It moves nothing: for sum and
	// prod the first rank of each line keeps the value, and the others hold
	// zeros or ones; for mean, max and min all keep it.
	MakePartial
)

var ops = [...]string{Slice: "slice", AllGather: "all_gather", AllToAll: "all_to_all", ReduceScatter: "reduce_scatter",
	AllReduce: "all_reduce", Direct: "exchange", MakePartial: "make_partial"}

// String returns the name of op as scripts know it.
func (op Op) String() string { return ops[op] }

// A Step is one step of a plan, in which the ranks of each line along Dims
// communicate with each other and with no others.
type Step struct {
	Op       Op
	Dims     []int // of the mesh, ascending
	Src, Dst *Placed
	Bytes    int // the most that any rank receives
	Seconds  float64
}

// Communicates reports whether a step moves anything.
func (s *Step) Communicates() bool { return s.Op != Slice && s.Op != MakePartial }

// Reduces returns the operation that combines terms in s, if one does.
func (s *Step) Reduces() (op ReduceOp, ok bool) {
	for _, i := range s.Dims {
		if p := s.Src.placements[i]; p.kind == partial && p != s.Dst.placements[i] {
			return p.op, true
		}
	}
	return 0, false
}

// Group returns the ranks that rank communicates with in s and rank itself, in
// the order in which they add.
func (s *Step) Group(rank int) []int { return s.Src.mesh.Line(rank, s.Dims...) }

// Exchange returns what the ranks of rank's group send each other in s. It is
// not for MakePartial, and a large AllReduce sends less: see AllReduceBytes.
//
// Exchange computes it anew each time.
func (s *Step) Exchange(rank int) *Exchange {
	x, err := NewExchange(s.Src, s.Dst, s.Group(rank))
	if err != nil {
		panic(fmt.Sprintf("mesh: step %v of dims %v from %v to %v: %v", s.Op, s.Dims, s.Src, s.Dst, err))
	}
	return x
}

// Traffic returns the bytes that rank sends and receives in s, for elements of
// itemSize bytes.
func (s *Step) Traffic(rank, itemSize int) (sent, received int) {
	switch {
	case !s.Communicates():
		return 0, 0
	case s.Op == AllReduce:
		group := s.Group(rank)
		n := AllReduceBytes(total(s.Src.Boxes(rank))*itemSize, itemSize, len(group), slices.Index(group, rank))
		return n, n
	}
	sent, received = s.Exchange(rank).Traffic(rank)
	return sent * itemSize, received * itemSize
}

// A Plan takes a tensor from one layout to another.
type Plan struct {
	Steps   []Step
	Bytes   int // the most that any rank receives in all steps together
	Seconds float64
}

// CheckTarget returns an *Error if a script may not ask for dst where it has
// src: a target is Partial only where the source is so already.
func CheckTarget(src, dst *Placed) error {
	for i, p := range dst.placements {
		if p.kind == partial && p != src.placements[i] {
			return &Error{"placements", fmt.Sprintf("%s at index %d", p.Script(), i), "Replicate() or Shard(dim)",
				"Partial is what operators leave, no target: the tensor is " + List(src.placements)}
		}
	}
	return nil
}

// NewPlan returns the cheapest plan from src to dst, two layouts of one shape on
// one mesh, for elements of itemSize bytes.
//
// The cost is that of the fixed model. The candidates are paths of steps each of
// which takes some mesh dims to their targets by one collective, or by dropping
// what is not needed; a reduction may also leave a Shard where the target is
// Replicate, to be gathered later. A direct exchange may take the place of the
// rest of a path. Where two candidates cost the same, the one with fewer steps
// wins, and then the one that a fixed order has first.
//
// No candidate lets a rank receive more bytes than it lacks, and for a source
// that is a sum those of an all-reduce of what it holds. A source that is no sum
// therefore moves exactly what is lacking; but where that takes longer than to gather
// the whole tensor on every rank and keep what is wanted, as latency may have it of a
// small one, that is the plan.
//
// Mesh dims that are Partial with one operation are reduced together, and their
// terms are added in the order of the ranks of the mesh: a sum has the same bits
// whatever the target and the path. Different operations apply innermost first.
//
// A dim may be Partial in both src and dst. Where it is so in dst alone, it is
// taken to Replicate and the last step makes it Partial.
//
// NewPlan returns an *Error if the layouts are of different shapes or meshes, or
// if a dim cannot be reduced before one inside it that stays Partial.
func NewPlan(src, dst *Placed, itemSize int) (*Plan, error) {
	return newPlan(src, dst, itemSize, src.with)
}

// newPlan is NewPlan; with makes the layouts on the way.
func newPlan(src, dst *Placed, itemSize int, with func([]Placement) *Placed) (*Plan, error) {
	if err := checkPair(src, dst); err != nil {
		return nil, err
	}
	value := valueTarget(src, dst, with)
	s := newSearch(src, value, itemSize, with)
	best := s.run(false, func(*path) {})
	if p := s.quickly(best); p != nil {
		best = p
	}
	return best.plan(dst), nil
}

// valueTarget returns dst with Replicate where it is Partial and src is not so.
func valueTarget(src, dst *Placed, with func([]Placement) *Placed) *Placed {
	placements := slices.Clone(dst.placements)
	for i, p := range placements {
		if p.kind == partial && p != src.placements[i] {
			placements[i] = Replicate()
		}
	}
	if slices.Equal(placements, dst.placements) {
		return dst
	}
	return with(placements)
}

// plan returns the steps of p, and one that makes the end of it dst if it is not
// yet.
func (p *path) plan(dst *Placed) *Plan {
	plan := &Plan{Bytes: slices.Max(p.received), Seconds: p.seconds}
	end := p.at.Placed
	for ; p.before != nil; p = p.before {
		plan.Steps = append(plan.Steps, p.step)
	}
	slices.Reverse(plan.Steps)
	var made []int
	for i, q := range dst.placements {
		if q != end.placements[i] {
			made = append(made, i)
		}
	}
	if made != nil {
		plan.Steps = append(plan.Steps, Step{Op: MakePartial, Dims: made, Src: end, Dst: dst})
	}
	return plan
}

// checkPair returns an error unless there is a plan from src to dst.
func checkPair(src, dst *Placed) error {
	if !slices.Equal(src.shape, dst.shape) {
		return &Error{"shape", Tuple(dst.shape), Tuple(src.shape), "a redistribution keeps the shape"}
	}
	if !src.mesh.Equal(dst.mesh) {
		return &Error{"mesh", dst.mesh.String(), src.mesh.String(), "a plan is for one mesh"}
	}
	for i, p := range src.placements {
		if p.kind != partial || p == dst.placements[i] {
			continue
		}
		for j := i + 1; j < len(src.placements); j++ {
			if q := src.placements[j]; q.kind == partial && q.op != p.op && q == dst.placements[j] {
				return &Error{"placements", List(dst.placements), fmt.Sprintf("no %v at index %d", q, j),
					fmt.Sprintf("%v at index %d applies first", q, j)}
			}
		}
	}
	return nil
}

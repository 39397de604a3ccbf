package shard

import (
	"errors"
	"fmt"

	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A Host is the part of its rank that an Engine needs.
type Host interface {
	// Self returns the number of the rank that runs. In a plan it may run for others
	// (Alike), and nothing may hang on the number that differs between them.
	Self() int
	// Alike reports whether the rank runs for others, too.
	Alike() bool
	// ID is Self, and tells apart all ranks that the rank runs for.
	ID() int
	// Part tells apart those of whom f says something else, as each sees m: f is a
	// pure function of a rank of m.
	Part(m *mesh.Mesh, f func(rank int) string)
	// Member reports whether the rank is in m.
	Member(m *mesh.Mesh) bool
	// EqualRanks reports whether a and b have the same ranks.
	EqualRanks(a, b *mesh.Mesh) bool
	// SameRanks returns to, of ranks of m: each rank means by it those in the same
	// places of the mesh that it means by m.
	SameRanks(m, to *mesh.Mesh) *mesh.Mesh
	// MeshGroup returns the one group of the ranks of m, and LineGroup that of those
	// along dims of m that hold the rank.
	MeshGroup(m *mesh.Mesh) (*comm.Group, error)
	LineGroup(m *mesh.Mesh, dims ...int) (*comm.Group, error)
	// GroupIn returns the one group of ranks, which are in m: each rank means by it
	// those in the same places of the mesh that it means by m.
	GroupIn(m *mesh.Mesh, ranks []int) (*comm.Group, error)
	// Layouts returns the rank's meshes, layouts and plans.
	Layouts() *mesh.Cache
	// Ops returns the context of the rank's operators.
	Ops() *op.Ctx
	// SharedGroup returns the one group of ranks in that order, and tells apart as ID
	// does.
	SharedGroup(ranks []int) (*comm.Group, error)
	// Communicate calls o on g. x is the tensor that the rank puts in, and bytes how much
	// of it counts, for traces.
	Communicate(g *comm.Group, o *comm.Op, x *tensor.Tensor, bytes int) (comm.Result, error)
	// RNG returns the seed of random numbers and the number of draws.
	RNG() (seed, draws uint64)
	// SetRNG restores a state that RNG returned.
	SetRNG(seed, draws uint64)
	// Quietly runs fn without traces.
	Quietly(fn func() error) error
	// Here returns the source line that the program is at.
	Here() string
	// Spot is Here, to be made text when it is wanted.
	Spot() fmt.Stringer
	// Tell prints a line beside the program's output.
	Tell(line string)
}

// An Engine applies operators to placed tensors, and moves them, for one rank.
type Engine struct {
	// Implicit says whether operators may move their inputs where that
	// communicates.
	Implicit Permission
	// Verify compares the results of every operator with those of the whole.
	Verify bool

	// ExactSums has sums and means between ranks not depend on the order of ranks, and rounded
	// once.
	ExactSums bool

	host      Host
	tape      *grad.Recorder
	decisions memo
	stepPlans map[*mesh.Step]*stepPlan
	slices    map[*mesh.Step]mesh.Box // what sliceOf has returned
	crossings map[crossing]*stepPlan
	notes     map[*mesh.Mesh]*notes
	memories  map[*mesh.Mesh]*memory
	told      map[string]bool       // the lines warned of
	parted    map[*mesh.Placed]bool // layouts whose blocks are of one shape on all ranks that the rank runs for
	within    []*op.Call            // the operators that are being composed, outermost first
	drew      bool                  // the last operator drew random numbers
	backward  int                   // not 0 while gradients are computed
	observer  func(*Explanation)    // is told of each operator, if it is set
	running   *decision             // the operator whose blocks are computed; nil outside
	bringing  *decision             // the operator whose inputs are moved; nil outside
	spare     *blockCall            // room for the next call on blocks; nil while it is in use
}

// New returns an Engine for host, and has tape apply operators to placed tensors
// through it.
func New(host Host, tape *grad.Recorder) *Engine {
	e := &Engine{host: host, tape: tape, decisions: memo{all: map[string]*decision{}}, stepPlans: map[*mesh.Step]*stepPlan{}, slices: map[*mesh.Step]mesh.Box{}, crossings: map[crossing]*stepPlan{},
		notes: map[*mesh.Mesh]*notes{}, memories: map[*mesh.Mesh]*memory{}, told: map[string]bool{}, parted: map[*mesh.Placed]bool{}}
	tape.Placed = e
	return e
}

// Running returns how the tensors of the distributed operation lie of which the rank
// computes a block now, as "Shard(0), Replicate -> Shard(0)"; nil if it computes none.
func (e *Engine) Running() fmt.Stringer {
	if e.running == nil {
		return nil
	}
	return e.running
}

// Bringing returns the name of the operator one of whose inputs is being moved to
// where it can be used, unasked; "" if none is.
func (e *Engine) Bringing() string {
	if e.bringing == nil || e.backward > 0 {
		return ""
	}
	if len(e.within) > 0 {
		return e.within[0].Def.Name
	}
	return e.bringing.call.Def.Name
}

// Backward implements grad.Placer.
func (e *Engine) Backward() (end func()) {
	e.backward++
	return func() { e.backward-- }
}

// InBackward reports whether gradients are being computed.
func (e *Engine) InBackward() bool { return e.backward > 0 }

// A Permission says whether operators may do something unasked.
type Permission uint8

const (
	Allow  Permission = iota // they may
	Warn                     // they may, and say so once a line
	Refuse                   // it is an error
)

// member reports whether the rank is in m.
func (e *Engine) member(m *mesh.Mesh) bool { return e.host.Member(m) }

// LocalShape returns the shape of the rank's block of l; nil outside of its mesh. In a plan it
// tells apart the ranks whose blocks have other shapes.
func (e *Engine) LocalShape(l *mesh.Placed) []int {
	e.partByShape(l)
	return l.LocalShape(e.host.Self())
}

// partByShape tells apart, in a plan, the ranks whose blocks of l have other shapes.
func (e *Engine) partByShape(l *mesh.Placed) {
	if !e.host.Alike() || e.parted[l] || !e.member(l.Mesh()) {
		return
	}
	e.parted[l] = true
	if !l.Even() {
		e.host.Part(l.Mesh(), func(rank int) string { return fmt.Sprint(l.LocalShape(rank)) })
	}
}

// place returns the interned layout of a tensor of a shape.
func (e *Engine) place(m *mesh.Mesh, s shape.Shape, placements []mesh.Placement) (*mesh.Placed, error) {
	return e.host.Layouts().Place(m, s, placements)
}

// Replicated returns the layout of a tensor that every rank of m holds.
func (e *Engine) Replicated(m *mesh.Mesh, s shape.Shape) *mesh.Placed {
	l, err := e.place(m, s, make([]mesh.Placement, m.NDim()))
	if err != nil {
		panic(fmt.Sprintf("shard: replicating shape %v: %v", s, err)) // a tensor has that shape
	}
	return l
}

// with returns l with other placements, which suit it.
func (e *Engine) with(l *mesh.Placed, placements []mesh.Placement) *mesh.Placed {
	m, err := e.place(l.Mesh(), l.Shape(), placements)
	if err != nil {
		panic(fmt.Sprintf("shard: placing %v as %v: %v", l, placements, err))
	}
	return m
}

// GradLayout returns how the gradient of a tensor with layout l lies: like the
// tensor, but replicated where that is a sum.
func (e *Engine) GradLayout(l *mesh.Placed) *mesh.Placed {
	if !l.IsPartial() {
		return l
	}
	placements := append([]mesh.Placement(nil), l.Placements()...)
	for i, p := range placements {
		if _, ok := p.Partial(); ok {
			placements[i] = mesh.Replicate()
		}
	}
	return e.with(l, placements)
}

// outside returns the empty block of a rank outside the mesh of a tensor like s.
func (e *Engine) outside(s op.Spec) (*tensor.Tensor, error) {
	return tensor.New(e.host.Ops().Alloc, s.DType, make(shape.Shape, max(1, len(s.Shape))))
}

// OfMesh returns err, if it is an argument error of package mesh, as one of the function fn.
func OfMesh(fn string, err error) error {
	var bad *mesh.Error
	if errors.As(err, &bad) {
		return &op.ArgError{Func: fn, Param: bad.Param, Got: bad.Got, Want: bad.Want, Rule: bad.Rule}
	}
	return err
}

// ofWhole returns err, an error of an operator on the rank's blocks, with the element
// that it is about, if it is one of an input, counted in the whole of it.
func (e *Engine) ofWhole(dec *decision, err error) error {
	var bad *op.ArgError
	if !errors.As(err, &bad) || bad.Element == nil {
		return err
	}
	for i, l := range dec.in {
		if l == nil || dec.call.InName(i) != bad.Param || len(l.Shape()) != len(bad.Element.At) {
			continue
		}
		box, _ := l.Box(e.host.Self())
		at := make([]int, len(box.Lo))
		for d, lo := range box.Lo {
			at[d] = lo + bad.Element.At[d]
		}
		bad.Element = &op.Element{At: at, Of: l.Shape(), Position: bad.Element.Position}
		break
	}
	return err
}

// Describe returns x as errors show it: float32[4, 8] as [S(0)] on (tp=2).
func Describe(x *tensor.Tensor) string {
	if x == nil || !x.Placed() {
		return op.Describe(x)
	}
	return DescribeAs(x, x.Layout())
}

// DescribeAs is Describe of a tensor like x that lies as l.
func DescribeAs(x *tensor.Tensor, l *mesh.Placed) string {
	return fmt.Sprintf("%s as %s on %s", op.Describe(x), mesh.List(l.Placements()), l.Mesh().Short())
}

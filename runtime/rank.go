package runtime

import (
	"context"
	"fmt"

	"tpsh/comm"
	"tpsh/comm/alike"
	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/plan"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

// An Output is where a rank's printed lines go. Operations that join all
// ranks cut it into sections.
type Output = interface {
	// Dirty reports whether lines have been printed since the last Cut.
	Dirty() bool
	// Cut ends the section.
	Cut()
}

// A Group is a group of ranks.
type Group = comm.Group

// A Rank is one participant of a job. Its methods are called by the goroutine
// that runs its program.
type Rank struct {
	// Tape applies operators and records them.
	Tape *grad.Recorder
	// Hooks of the front end, set before a program runs.
	Output Output
	// Line returns the source line that the program is at, as file:line:col.
	// It is called on the program's goroutine, or while that is blocked.
	Line func() string
	// Position returns the line as Line does, to be made text when it is wanted.
	Position func() fmt.Stringer
	// Instructions, if set, returns how many the interpreter has carried out.
	Instructions func() uint64
	// Holdings, if set, returns the tensors that the program's modules and optimizers hold.
	Holdings func() Holdings
	// Waits, if set, is told on the rank's goroutine of each call in which the rank is
	// about to wait for others, and whether that is a collective of the script's; the function that
	// it returns is called when the wait is over.
	Waits func(call fmt.Stringer, collective bool) (over func())
	// Note, if set, prints a line beside the program's output.
	Note func(line string)

	// Shard computes with tensors that ranks hold together.
	Shard *shard.Engine

	job        *Job
	kind       *alike.Kind // the ranks that it runs for; nil for itself alone
	families   map[*mesh.Mesh]*alike.Lines
	generation int // of the job's fabrics
	id, size   int
	ops        op.Ctx
	end        *comm.Endpoint
	world      *comm.Group
	groups     map[string]int      // how many groups of these ranks were made
	units      map[*comm.Group]int // how many groups of parameters the members of one store
	layouts    mesh.Cache
	parallel   *parallel // nil before InitParallel
	pipelines  uint64    // how many pipeline schedules the rank has begun
	ctx        context.Context

	seed, draws uint64
	traces      []*Trace
	faults      faults
	untraced    bool                    // it is part of another operation, which counts for it
	recorder    *plan.Recorder          // of the rank's operations and calls; nil where it runs for real
	lineTexts   map[fmt.Stringer]string // of positions that it was told of
	quiet       bool                    // calls are not the script's
	aside       bool                    // nothing is to be communicated; see Aside
	timed       *timed                  // the timeline that is kept, or nil
	whereFn     func() string           // where, bound once
	works       []*issued               // issued and not waited for
	replayed    string                  // the line of the forward call whose gradient runs
	replaying   uint64                  // which call on its group that was; 0 if it was several
	forward     *mark                   // of the operations that a backward pass goes through, or nil
	scope       *scope                  // the region or module that the program is in, or nil
	optimizing  bool                    // an optimizer steps
	inPass      string                  // of a pipeline that is under way, or ""
	steps       int                     // that have ended
	lines       map[*comm.Group]meshLine
	dimsOf      int // the number of meshes by which lines were made
	meters      []*Meter
	meter       *Meter // of a plan
}

// newRank returns rank id of j.
func newRank(j *Job, id int) (*Rank, error) {
	r := &Rank{job: j, id: id, size: j.cfg.Size, groups: map[string]int{}, units: map[*comm.Group]int{}, seed: j.cfg.Seed, ctx: context.Background()}
	r.layouts.Store = &j.layouts
	r.ops = op.Ctx{Alloc: j.alloc, Float: dtype.Float32, Draw: r.draw, Workers: j.workers}
	r.Tape = grad.New(&r.ops)
	if j.alike != nil {
		r.kind = j.alike.KindOf(id)
	}
	if to := j.planned(); to != nil {
		r.record(to)
	}
	r.Shard = shard.New(r, r.Tape)
	r.Line = func() string { return "" }
	r.Position = func() fmt.Stringer { return text(r.Line()) }
	r.Tape.Mark, r.Tape.Replay, r.Tape.MarkAll = r.mark, r.replayMark, j.cfg.Plan != nil
	r.whereFn = r.where
	r.end = j.fabricOf(0).Endpoint(id)
	r.end.Where(r.whereFn)
	var err error
	r.world, err = r.groupLike(j.ranks, "", func() *alike.Lines { return j.alike.Constant(j.ranks) })
	return r, err
}

// Size returns the number of ranks of the job.
func (r *Rank) Size() int { return r.size }

// World returns the group of all ranks.
func (r *Rank) World() *comm.Group { return r.world }

// Layouts returns the rank's meshes, layouts and plans.
func (r *Rank) Layouts() *mesh.Cache { return &r.layouts }

// Ops returns the context of the rank's operators.
func (r *Rank) Ops() *op.Ctx { return &r.ops }

// Context returns the context of the program that runs.
func (r *Rank) Context() context.Context { return r.ctx }

// Begin says that a program starts, which ctx ends.
func (r *Rank) Begin(ctx context.Context) { r.ctx = ctx }

// End says that the rank's program has ended with err. It waits for the
// asynchronous calls that nobody waited for, unless the program failed, and
// returns err or else the first error of theirs.
func (r *Rank) End(err error) error {
	if err == nil {
		err = r.waitAll()
	}
	if r.recorder != nil {
		r.StopMeter(r.meter)
		r.recorder.Memory, r.recorder.Moments = r.meter.Most, r.meter.Moments
	}
	r.end.End(err)
	return err
}

// NoteCaught says that the program goes on after an error of this rank's own at a
// source line, "" if that is not known.
func (r *Rank) NoteCaught(text, where string) { r.end.NoteCaught(text + comm.AtLine(where)) }

// Apply applies the operator d and returns its results.
func (r *Rank) Apply(d *op.Def, in []*tensor.Tensor, args []op.Arg) ([]*tensor.Tensor, error) {
	return r.Tape.Apply(d, in, args)
}

// Do applies the operator called name and returns its first result.
func (r *Rank) Do(name string, in []*tensor.Tensor, args ...op.Arg) (*tensor.Tensor, error) {
	return r.Tape.ApplyOne(op.Lookup(name), in, args)
}

// where returns the line of the call under way: in a backward pass, that of
// the forward call.
func (r *Rank) where() string {
	if r.replayed != "" {
		return r.replayed
	}
	return r.Line()
}

// Here returns the source line that the program is at.
func (r *Rank) Here() string { return r.where() }

// Spot is Here, to be made text when it is wanted.
func (r *Rank) Spot() fmt.Stringer {
	if r.replayed != "" {
		return text(r.replayed)
	}
	return r.Position()
}

// Tell prints a line beside the program's output.
func (r *Rank) Tell(line string) {
	if r.Note != nil {
		r.Note(line)
	}
}

// ManualSeed sets the seed, and the draw counter to 0.
func (r *Rank) ManualSeed(seed uint64) { r.seed, r.draws = seed, 0 }

// RNG returns the seed and the number of draws since it was set.
func (r *Rank) RNG() (seed, draws uint64) { return r.seed, r.draws }

// SetRNG restores a state that RNG returned.
func (r *Rank) SetRNG(seed, draws uint64) { r.seed, r.draws = seed, draws }

func (r *Rank) draw() (seed, draw uint64) {
	r.draws++
	return r.seed, r.draws - 1
}

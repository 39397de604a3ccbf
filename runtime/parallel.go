package runtime

import (
	"fmt"
	"slices"

	"tpsh/comm"
	"tpsh/comm/alike"
	"tpsh/internal/units"
	"tpsh/mesh"
	"tpsh/runtime/op"
)

// A Mode names one of the groups into which InitParallel puts a rank.
type Mode int

const (
	// GlobalMode is the group of all ranks.
	GlobalMode Mode = iota
	// DataMode is the group of the ranks that do the same on other data.
	DataMode
	// PipelineMode is the group of the stages of a pipeline, in their order.
	PipelineMode
	// TensorMode is the group of the ranks that share one stage.
	TensorMode
	// ModelMode is the group of the ranks that hold one model: all stages.
	ModelMode
)

var modeNames = [...]string{"GLOBAL", "DATA", "PIPELINE", "TENSOR", "MODEL"}

// Modes are all modes.
var Modes = []Mode{GlobalMode, DataMode, PipelineMode, TensorMode, ModelMode}

func (m Mode) String() string { return modeNames[m] }

// A parallel is how ranks are laid out: rank d*P*T + p*T + t is tensor rank t
// of stage p of the model that data rank d holds, of P stages of T ranks.
type parallel struct{ data, pipeline, tensor int }

// ranks returns the ranks of the group of mode m that holds rank.
func (p parallel) ranks(m Mode, rank int) []int { return stride(p.span(m, rank)) }

// span returns the first of these ranks, how many they are and how far apart.
func (p parallel) span(m Mode, rank int) (first, n, step int) {
	model := p.pipeline * p.tensor
	switch m {
	case DataMode:
		return rank % model, p.data, model
	case PipelineMode:
		return rank/model*model + rank%p.tensor, p.pipeline, p.tensor
	case TensorMode:
		return rank / p.tensor * p.tensor, p.tensor, 1
	case ModelMode:
		return rank / model * model, model, 1
	}
	return 0, p.data * model, 1
}

// stride returns n integers from first on, step apart.
func stride(first, n, step int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = first + i*step
	}
	return list
}

// InitParallel lays the ranks out in stages of tensor ranks each, pipeline of
// which make a model, of which there are data; 0 for data means as many as the
// ranks make. It does not communicate. A later call replaces the layout.
func (r *Rank) InitParallel(pipeline, tensor, data int) error {
	bad := func(want, rule string) error {
		got := fmt.Sprintf("pipeline=%d, tensor=%d", pipeline, tensor)
		if data > 0 {
			got += fmt.Sprintf(", data=%d", data)
		}
		return &op.ArgError{Func: "init_parallel", Got: got, Want: want, Rule: rule}
	}
	world := "the world has " + units.Count(r.size, "rank")
	if pipeline > r.size || tensor > r.size || r.size%(pipeline*tensor) != 0 {
		return bad(fmt.Sprintf("degrees whose product divides %d", r.size), world)
	}
	if data == 0 {
		data = r.size / (pipeline * tensor)
	}
	if data > r.size || data*pipeline*tensor != r.size {
		return bad(fmt.Sprintf("degrees whose product is %d", r.size), world)
	}
	r.parallel = &parallel{data, pipeline, tensor}
	return nil
}

// ModeGroup returns the group of mode m that holds the rank. Meshes and modes
// of equal ranks share it. The error lacks the function and the parameter.
func (r *Rank) ModeGroup(m Mode) (*comm.Group, error) {
	if r.parallel == nil {
		return nil, &op.ArgError{Got: "ParallelMode." + m.String(), Want: "a mode that is defined", Rule: "call init_parallel first"}
	}
	return r.groupLike(r.parallel.ranks(m, r.id), "", func() *alike.Lines { return r.modeLines(m) })
}

// A Stage is the place of a rank in its pipeline. Prev and Next are the ranks
// of its neighbours; those at the ends are neighbours, too.
type Stage struct {
	Index, Count, Prev, Next int
	Ranks                    []int // of all stages, in order

	lines func() *alike.Lines // the list that each rank means by Ranks, in a plan
}

// Stage returns the rank's, for the function fn.
func (r *Rank) Stage(fn string) (Stage, error) {
	if r.parallel == nil {
		return Stage{}, &op.ArgError{Func: fn, Got: "ranks without a layout", Want: "a pipeline", Rule: "call init_parallel(pipeline=n) first"}
	}
	return r.stageAmong(r.parallel.ranks(PipelineMode, r.id), func() *alike.Lines { return r.modeLines(PipelineMode) }), nil
}

// StageAmong returns the rank's place in a pipeline whose stages are the ranks of m,
// of which it is one.
func (r *Rank) StageAmong(m *mesh.Mesh) Stage {
	return r.stageAmong(m.Ranks(), func() *alike.Lines { return r.Lines(m) })
}

// stageAmong returns the rank's place among the stages ranks, which for each rank
// are those that lines say.
func (r *Rank) stageAmong(ranks []int, lines func() *alike.Lines) Stage {
	if r.kind != nil {
		alike.Ask(r.kind, lines().Place)
	}
	i, n := slices.Index(ranks, r.id), len(ranks)
	return Stage{i, n, ranks[(i+n-1)%n], ranks[(i+1)%n], ranks, lines}
}

// modeLines returns which ranks each rank means by those of mode m.
func (r *Rank) modeLines(m Mode) *alike.Lines {
	p := *r.parallel
	world := r.job.alike.Constant(r.job.ranks)
	return r.job.alike.Along(world, fmt.Sprint("mode ", m, p), alike.Part{
		First: func(rank int) int { first, _, _ := p.span(m, rank); return first },
		All:   func(rank int) []int { return p.ranks(m, rank) },
	})
}

// First reports whether nothing comes before the stage.
func (s Stage) First() bool { return s.Index == 0 }

// Last reports whether nothing comes after the stage.
func (s Stage) Last() bool { return s.Index == s.Count-1 }

package dtensor

import (
	"fmt"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/op"
	"tpsh/runtime/pipeline"
)

// An Order is what PipelineSchedule gives: a schedule to look at. It prints as its picture.
type Order struct {
	env      *builtins.Env
	schedule *pipeline.Schedule
}

var _ starlark.HasAttrs = (*Order)(nil)

func (o *Order) String() string        { return o.schedule.String() }
func (o *Order) Type() string          { return "PipelineSchedule" }
func (o *Order) Freeze()               {}
func (o *Order) Truth() starlark.Bool  { return true }
func (o *Order) Hash() (uint32, error) { return 0, builtins.Unhashable(o) }
func (o *Order) Attr(name string) (starlark.Value, error) {
	return o.env.Attr("PipelineSchedule", o, name)
}
func (o *Order) AttrNames() []string { return builtins.AttrNames("PipelineSchedule") }

// orderExample begins the examples of what PipelineSchedule gives.
const orderExample = ">>> s = PipelineSchedule(\"zbv\", 2, 4)\n"

func init() {
	builtins.Register(&builtins.Row{
		Name: "PipelineSchedule",
		Doc: "PipelineSchedule(schedule, num_stages, num_microbatches, num_chunks=None) returns a schedule of pipeline_schedule to look at: what each stage does, and when.\n" +
			"It prints as a picture, as a Pipeline does. num_chunks is of an interleaved schedule; the\n" +
			"others have a number of their own.\n" +
			">>> print(PipelineSchedule(\"zb1p\", 2, 3))\n" +
			"zb1p: stages 2, micro-batches 3, bubble 10.0%\n" +
			"stage 0  F0 F1 .  I0 W0 F2 I1 W1 I2 W2\n" +
			"stage 1  .  F0 I0 F1 I1 W0 F2 I2 W1 W2",
		Fn: newOrder,
	}, orderRow("bubble", "bubble is the part of the time in which a stage idles, as Pipeline.bubble is.\n"+
		orderExample+">>> s.bubble\n0.0",
		func(s *pipeline.Schedule) starlark.Value { return starlark.Float(s.Bubble()) },
	), orderRow("positions", "positions is a list of the places in the model of each stage's chunks.\n"+
		orderExample+">>> s.positions\n[[0, 3], [1, 2]]",
		func(s *pipeline.Schedule) starlark.Value {
			return perStage(s, func(stage int) starlark.Value {
				var list []starlark.Value
				for chunk := range s.Chunks {
					list = append(list, starlark.MakeInt(s.Position(stage, chunk)))
				}
				return starlark.NewList(list)
			})
		},
	), orderRow("in_flight", "in_flight is how many micro-batches each stage holds at most, counted once for each chunk: forward done, gradients of weights not.\n"+
		orderExample+">>> s.in_flight\n[4, 4]",
		func(s *pipeline.Schedule) starlark.Value {
			return perStage(s, func(stage int) starlark.Value { return starlark.MakeInt(s.InFlight(stage)) })
		},
	), orderRow("order", "order is what each stage computes, in order, as PyTorch writes it: \"3I0\" is the gradient of the inputs of position 3 for micro-batch 0.\n"+
		"F is the forward pass, W the gradient of the weights, B both gradients.\n"+
		">>> PipelineSchedule(\"zb1p\", 2, 2).order[1]\n[\"1F0\", \"1I0\", \"1F1\", \"1I1\", \"1W0\", \"1W1\"]",
		func(s *pipeline.Schedule) starlark.Value {
			return perStage(s, func(stage int) starlark.Value {
				var list []starlark.Value
				for _, pass := range s.Notation(stage) {
					list = append(list, starlark.String(pass))
				}
				return starlark.NewList(list)
			})
		},
	), orderRow("home", "home is the stage that has the loss and the outputs in the end: that of the model's last position.\n"+
		orderExample+">>> s.home\n0",
		func(s *pipeline.Schedule) starlark.Value { return starlark.MakeInt(s.Home()) },
	))
}

// orderRow returns the row of an attribute of a PipelineSchedule.
func orderRow(name, doc string, get func(s *pipeline.Schedule) starlark.Value) *builtins.Row {
	return &builtins.Row{Name: "PipelineSchedule." + name, Doc: doc, Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
		return get(x.(*Order).schedule), nil
	}}
}

// perStage returns the list of f of each stage.
func perStage(s *pipeline.Schedule, f func(stage int) starlark.Value) starlark.Value {
	list := make([]starlark.Value, s.Stages)
	for stage := range list {
		list[stage] = f(stage)
	}
	return starlark.NewList(list)
}

// mostPasses is how many passes a PipelineSchedule has at most, on all stages: what is to be looked at.
const mostPasses = 1 << 20

func newOrder(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		schedule              arg.String
		stages, micro, chunks arg.Int
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "schedule", &schedule, "num_stages", &stages, "num_microbatches", &micro, "num_chunks?", &chunks); err != nil {
		return nil, err
	}
	name, err := scheduleName(b.Name(), string(schedule))
	if err != nil {
		return nil, err
	}
	if chunks == 0 {
		chunks = arg.Int(max(1, pipeline.ChunksOf(name)))
	}
	for i, n := range []arg.Int{stages, micro} {
		if n < 1 {
			return nil, &op.ArgError{Func: b.Name(), Param: []string{"num_stages", "num_microbatches"}[i], Got: fmt.Sprint(int(n)), Want: "a positive int"}
		}
	}
	if m := pipeline.Misfits(name, int(stages), int(micro), int(chunks)); m != nil {
		return nil, misfit(b.Name(), "num_microbatches", m, int(stages), int(micro), int(chunks))
	}
	if passes := float64(stages) * float64(micro) * float64(chunks); passes > mostPasses {
		return nil, &op.ArgError{Func: b.Name(), Got: fmt.Sprintf("%.0f passes forward", passes), Want: fmt.Sprintf("%d at most", mostPasses), Rule: "num_stages times num_microbatches times chunks"}
	}
	return &Order{e, e.Runtime.Schedule(name, int(stages), int(micro), int(chunks))}, nil
}

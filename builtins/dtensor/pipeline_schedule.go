package dtensor

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/spell"
	"tpsh/internal/units"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/pipeline"
	"tpsh/runtime/tensor"
)

// A Pipeline is what pipeline_schedule gives. It prints as the picture of its
// schedule.
type Pipeline struct {
	env           *builtins.Env
	schedule      *pipeline.Schedule
	loss, outputs starlark.Value // None off the last stage
}

var _ starlark.HasAttrs = (*Pipeline)(nil)

func (p *Pipeline) String() string                           { return p.schedule.String() }
func (p *Pipeline) Type() string                             { return "Pipeline" }
func (p *Pipeline) Freeze()                                  { p.loss.Freeze(); p.outputs.Freeze() }
func (p *Pipeline) Truth() starlark.Bool                     { return true }
func (p *Pipeline) Hash() (uint32, error)                    { return 0, builtins.Unhashable(p) }
func (p *Pipeline) Attr(name string) (starlark.Value, error) { return p.env.Attr("Pipeline", p, name) }
func (p *Pipeline) AttrNames() []string                      { return builtins.AttrNames("Pipeline") }

// pipelineExample begins the examples of what pipeline_schedule gives.
const pipelineExample = ">>> init_parallel()\n" +
	">>> w = tensor([[2.0]], requires_grad=True)\n" +
	">>> p = pipeline_schedule(lambda h: h.matmul(w), ones(4, 1), zeros(4, 1), F.mse_loss, 2)\n"

func init() {
	builtins.Register(&builtins.Row{
		Name:         "pipeline_schedule",
		Communicates: true,
		Doc: "pipeline_schedule(stage_fn, inputs, targets, loss_fn, num_microbatches, schedule=\"1f1b\", mesh=None, keep_outputs=True) returns a Pipeline: it takes a batch forward and backward through the stages of init_parallel, or the ranks of a mesh of one dim.\n" +
			"stage_fn(x) computes the output of the caller's stage, one tensor. inputs counts on the\n" +
			"first stage, targets and loss_fn(output, target), of one element, on the last; elsewhere\n" +
			"they may be None. Both are cut along dim 0 into micro-batches: as chunk does or, where\n" +
			"that would leave one empty, as evenly as can be. The gradients of the mean of their\n" +
			"losses are added to .grad of what stage_fn uses, in the order of the micro-batches in\n" +
			"every schedule.\n" +
			"\"gpipe\" takes all micro-batches forward before any goes back; \"1f1b\" takes one back for\n" +
			"each that goes forward, as soon as it can, and stage s of S holds S-s at most; for\n" +
			"\"interleaved\" stage_fn is a list of v functions, the caller's chunks: chunk c of stage s\n" +
			"is position c*S + s of the model, and the number of micro-batches is a multiple of S.\n" +
			"The others split backward passes: gradients of inputs first, those of weights later, in\n" +
			"what would be idle. \"zb1p\" (ZB-H1) is 1f1b with a third of its bubble; \"zb2p\" (ZB-H2) has\n" +
			"none, and holds twice as much. In \"zbv\", \"vhalf\", \"vmin\" and \"dualpipev\" stage_fn is a list\n" +
			"of two functions, positions s and 2S-1-s: the model goes down the stages and back up, and\n" +
			"both its ends are on stage 0. zbv has no bubble and holds what 1f1b does, vhalf half of both,\n" +
			"vmin a third with two thirds of the bubble. \"dualpipe\" has the model twice, positions s and\n" +
			"S-1-s: the first half of the micro-batches go down the stages, the second up, inputs and\n" +
			"targets count on both ends, the loss is on the last stage, and the gradients of a position's\n" +
			"two copies are to be added. It takes an even number of stages, and with dualpipev 2S\n" +
			"micro-batches or more. PipelineSchedule tells how they compare. Names are also as in papers\n" +
			"and as PyTorch's classes have them: \"ZB-H1\", \"ScheduleZBVZeroBubble\".\n" +
			"Without keep_outputs the outputs of the last stage go as soon as they have gone back.\n" +
			"All stages give the same schedule and numbers. The schedule is checked before it runs.\n" +
			pipelineExample +
			">>> p.loss.item(), w.grad.tolist()\n(4.0, [[4.0]])\n" +
			">>> print(p)\n1f1b: stages 1, micro-batches 2, bubble 0.0%\nstage 0  F0 B0 F1 B1",
		Fn: pipelineSchedule,
	}, &builtins.Row{
		Name: "Pipeline",
		Doc: "Pipeline is the type of what pipeline_schedule returns. It prints as a picture of the schedule.\n" +
			"There is a line for each stage and a column for each unit of time, in which a pass is\n" +
			"done: F3 takes micro-batch 3 forward, B3 back, and a dot is an idle unit. With several\n" +
			"chunks, a letter says which. Where backward passes are split, I3 makes the gradients of the\n" +
			"inputs and W3 those of the weights; a B3 beside these makes both and takes two units.",
	}, pipelineRow("loss", "loss is the mean of the losses of the micro-batches on the stage that ends the model, and None elsewhere.\n"+
		pipelineExample+">>> p.loss.item()\n4.0",
		func(p *Pipeline) starlark.Value { return p.loss },
	), pipelineRow("outputs", "outputs is what the model gives for the whole batch, on the stage that ends it, and None elsewhere.\n"+
		"The outputs of the micro-batches are joined along dim 0; those of no dim are stacked.\n"+
		pipelineExample+">>> p.outputs.shape\n(4, 1)",
		func(p *Pipeline) starlark.Value { return p.outputs },
	), pipelineRow("bubble", "bubble is the part of the time in which a stage idles: (S-1) / (v*M + S-1), with v chunks and M micro-batches.\n"+
		"That is for gpipe, 1f1b and interleaved. Where backward passes are split, it is that of the\n"+
		"stage that idles most between its first pass and its last, each of one unit of time.\n"+
		pipelineExample+">>> p.bubble\n0.0",
		func(p *Pipeline) starlark.Value { return starlark.Float(p.schedule.Bubble()) },
	))
}

// pipelineRow returns the row of an attribute of Pipelines.
func pipelineRow(name, doc string, get func(p *Pipeline) starlark.Value) *builtins.Row {
	return &builtins.Row{Name: "Pipeline." + name, Doc: doc, Get: func(_ *builtins.Env, x starlark.Value) (starlark.Value, error) {
		return get(x.(*Pipeline)), nil
	}}
}

// A pipelineCall holds the arguments of pipeline_schedule.
type pipelineCall struct {
	e               *builtins.Env
	fn              string
	stage           runtime.Stage
	stages          []starlark.Callable // by chunk
	inputs, targets builtins.OptTensor
	loss            arg.OptCallable
	micro           arg.Int
	schedule        arg.String
	mesh            optMesh // whose ranks are the stages; None is init_parallel's
	keep            arg.Bool
	made            *pipeline.Schedule
	cut             []*tensor.Tensor // targets, by micro-batch
}

func pipelineSchedule(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	c := &pipelineCall{e: e, fn: b.Name(), schedule: "1f1b", keep: true}
	var stageFn starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "stage_fn", &stageFn, "inputs", &c.inputs, "targets", &c.targets,
		"loss_fn", &c.loss, "num_microbatches", &c.micro, "schedule?", &c.schedule, "mesh?", &c.mesh, "keep_outputs?", &c.keep); err != nil {
		return nil, err
	}
	var err error
	if c.stage, err = c.place(); err != nil {
		return nil, err
	}
	if err := c.check(stageFn); err != nil {
		return nil, err
	}
	p := &runtime.Pipeline{Loss: c.lossOf, Stage: c.stage, Forget: !bool(c.keep), Schedule: c.made}
	for _, fn := range c.stages {
		p.Chunks = append(p.Chunks, c.chunk(fn))
	}
	if _, first := c.made.First(c.stage.Index); first {
		if p.Inputs, err = c.split("inputs", c.inputs.T); err != nil {
			return nil, err
		}
	}
	if _, last := c.made.Last(c.stage.Index); last {
		if c.cut, err = c.split("targets", c.targets.T); err != nil {
			return nil, err
		}
	}
	loss, outputs, err := e.Runtime.RunPipeline(p)
	if err != nil {
		return nil, err
	}
	return c.result(p.Schedule, loss, outputs)
}

// place returns the caller's stage.
func (c *pipelineCall) place() (runtime.Stage, error) {
	if !c.mesh.Set {
		return c.e.Runtime.Stage(c.fn)
	}
	m := c.mesh.V.Mesh()
	bad := func(want, rule string) error {
		return &op.ArgError{Func: c.fn, Param: "mesh", Got: m.String(), Want: want, Rule: rule}
	}
	switch {
	case m.NDim() != 1:
		return runtime.Stage{}, bad("a mesh of one dim", `mesh["pp"] is one of a mesh of several`)
	case !c.e.Runtime.Member(m):
		return runtime.Stage{}, bad("a mesh that holds this rank", "its ranks are the stages")
	}
	return c.e.Runtime.StageAmong(m), nil
}

// check checks the sizes of the schedule, makes it, and takes over stage_fn.
func (c *pipelineCall) check(stageFn starlark.Value) error {
	name, err := scheduleName(c.fn, string(c.schedule))
	if err != nil {
		return err
	}
	if c.micro < 1 {
		return &op.ArgError{Func: c.fn, Param: "num_microbatches", Got: fmt.Sprint(int(c.micro)), Want: "a positive int"}
	}
	if m := pipeline.Misfits(name, c.stage.Count, int(c.micro), max(1, pipeline.ChunksOf(name))); m != nil {
		return misfit(c.fn, "num_microbatches", m, c.stage.Count, int(c.micro), 0)
	}
	if c.stages, err = stageFunctions(stageFn, name); err != nil {
		return arg.In(c.fn, "stage_fn", err)
	}
	c.made = c.e.Runtime.Schedule(name, c.stage.Count, int(c.micro), len(c.stages))
	if _, last := c.made.Last(c.stage.Index); last && !c.loss.Set {
		return &op.ArgError{Func: c.fn, Param: "loss_fn", Got: "None", Want: "a function", Rule: "this rank has the last stage"}
	}
	return nil
}

// scheduleName returns which schedule name is.
func scheduleName(fn, name string) (string, error) {
	canonical, ok := pipeline.Canonical(name)
	if ok {
		return canonical, nil
	}
	err := &op.ArgError{Func: fn, Param: "schedule", Got: starlark.String(name).String(), Want: `one of "` + strings.Join(pipeline.Names(), `", "`) + `"`}
	var names []string
	for _, n := range pipeline.AllNames() {
		names = append(names, strings.ToLower(n))
	}
	if near := spell.Nearest(strings.ToLower(name), names); near != "" {
		canonical, _ := pipeline.Canonical(near)
		err.Rule = fmt.Sprintf("did you mean %q?", canonical)
	}
	return "", err
}

// misfit is the error of sizes that a schedule cannot have; param is the parameter of micro-batches.
func misfit(fn, param string, m *pipeline.Misfit, stages, micro, chunks int) error {
	switch m.Of {
	case "stages":
		return &op.ArgError{Func: fn, Got: units.Count(stages, "stage"), Want: m.Want, Rule: m.Rule}
	case "chunks":
		return &op.ArgError{Func: fn, Param: "num_chunks", Got: fmt.Sprint(chunks), Want: m.Want, Rule: m.Rule}
	}
	return &op.ArgError{Func: fn, Param: param, Got: fmt.Sprint(micro), Want: m.Want, Rule: m.Rule}
}

// stageFunctions returns v, a function, or a list of as many as the schedule called name has chunks.
func stageFunctions(v starlark.Value, name string) ([]starlark.Callable, error) {
	chunks := pipeline.ChunksOf(name)
	if chunks == 1 {
		fn, ok := v.(starlark.Callable)
		if !ok {
			return nil, arg.Bad(v, "a function", name+" has one chunk on a stage: other schedules take a list")
		}
		return []starlark.Callable{fn}, nil
	}
	want := "a list of functions"
	if chunks > 0 {
		want = fmt.Sprintf("a list of %d functions", chunks)
	}
	var list arg.List
	if err := list.Unpack(v); err != nil || len(list) == 0 || chunks > 0 && len(list) != chunks {
		return nil, arg.Bad(v, want, "the chunks of this stage")
	}
	var fns []starlark.Callable
	for i, v := range list {
		fn, ok := v.(starlark.Callable)
		if !ok {
			return nil, arg.BadItem(v, i, "a function")
		}
		fns = append(fns, fn)
	}
	return fns, nil
}

// split cuts x, the argument param, into micro-batches.
func (c *pipelineCall) split(param string, x *tensor.Tensor) ([]*tensor.Tensor, error) {
	bad := func(got, want, rule string) error {
		return &op.ArgError{Func: c.fn, Param: param, Got: got, Want: want, Rule: rule}
	}
	if x == nil {
		return nil, bad("None", "a tensor", fmt.Sprintf("this rank has stage %d of %d", c.stage.Index, c.stage.Count))
	}
	if x.Ndim() == 0 || x.Shape()[0] < int(c.micro) {
		return nil, bad(op.Describe(x), "at least "+units.Count(int(c.micro), "row"), "one for each micro-batch")
	}
	list := make([]*tensor.Tensor, c.micro)
	lo := 0
	for i, n := range microSizes(x.Shape()[0], int(c.micro)) {
		var err error
		if list[i], err = c.e.Runtime.Do("narrow", []*tensor.Tensor{x}, op.Int1(0), op.Int1(lo), op.Int1(n)); err != nil {
			return nil, err
		}
		lo += n
	}
	return list, nil
}

// microSizes returns the sizes of the parts in which n rows are cut: those of
// chunk or, where that would leave a part empty, as even as can be. There are
// no more parts than rows.
func microSizes(n, parts int) []int {
	sizes := make([]int, parts)
	size := (n + parts - 1) / parts
	for i := range sizes {
		if size*(parts-1) < n {
			sizes[i] = min(size, n-i*size)
			continue
		}
		sizes[i] = n / parts
		if i < n%parts {
			sizes[i]++
		}
	}
	return sizes
}

// chunk returns what computes the output of a chunk.
func (c *pipelineCall) chunk(fn starlark.Callable) func(*tensor.Tensor) (*tensor.Tensor, error) {
	return func(x *tensor.Tensor) (*tensor.Tensor, error) {
		v, err := c.e.Call(fn, c.e.Wrap(x))
		if err != nil {
			return nil, err
		}
		y, ok := v.(*builtins.Tensor)
		if !ok {
			return nil, &op.ArgError{Func: c.fn, Param: "stage_fn", Got: "a result of " + arg.Show(v), Want: "a tensor"}
		}
		return y.Tensor()
	}
}

// lossOf calls loss_fn on the output y of micro-batch m.
func (c *pipelineCall) lossOf(y *tensor.Tensor, m int) (*tensor.Tensor, error) {
	v, err := c.e.Call(c.loss.V.Fn, c.e.Wrap(y), c.e.Wrap(c.cut[m]))
	if err != nil {
		return nil, err
	}
	got := arg.Show(v)
	if x, ok := v.(*builtins.Tensor); ok {
		loss, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		if loss.Numel() == 1 && loss.DType().IsFloat() {
			return loss, nil
		}
		got = op.Describe(loss)
	}
	return nil, &op.ArgError{Func: c.fn, Param: "loss_fn", Got: "a result of " + got, Want: "a float tensor of one element"}
}

// result makes the value of the script.
func (c *pipelineCall) result(s *pipeline.Schedule, loss *tensor.Tensor, outputs []*tensor.Tensor) (starlark.Value, error) {
	p := &Pipeline{c.e, s, c.e.WrapOrNone(loss), starlark.None}
	if len(outputs) == 0 {
		return p, nil
	}
	join := "cat"
	if outputs[0].Ndim() == 0 {
		join = "stack"
	}
	y, err := c.e.Runtime.Do(join, outputs, op.Int1(0))
	if err != nil {
		return nil, arg.Rename(c.fn, err)
	}
	p.outputs = c.e.Wrap(y)
	return p, nil
}

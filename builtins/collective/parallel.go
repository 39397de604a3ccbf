package collective

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime"
)

// A ParallelMode stands for the group of that mode which holds the rank.
type ParallelMode struct {
	env  *builtins.Env
	mode runtime.Mode
}

var (
	_ Grouped       = (*ParallelMode)(nil)
	_ arg.Described = (*ParallelMode)(nil)
)

func (m *ParallelMode) String() string                     { return "ParallelMode." + m.mode.String() }
func (m *ParallelMode) Describe() string                   { return m.String() }
func (m *ParallelMode) Type() string                       { return "ParallelMode" }
func (m *ParallelMode) Freeze()                            {} // it cannot be changed
func (m *ParallelMode) Truth() starlark.Bool               { return true }
func (m *ParallelMode) Hash() (uint32, error)              { return starlark.String(m.String()).Hash() }
func (m *ParallelMode) CommGroup() (*runtime.Group, error) { return m.env.Runtime.ModeGroup(m.mode) }

// docModes says of each mode which group it is.
var docModes = map[runtime.Mode]string{
	runtime.GlobalMode:   "of all ranks",
	runtime.DataMode:     "of the ranks that do the same as the caller on other data",
	runtime.PipelineMode: "of the stages of the caller's pipeline, in their order",
	runtime.TensorMode:   "of the ranks that share the caller's stage",
	runtime.ModelMode:    "of the ranks that hold the caller's model: all stages of it",
}

func init() {
	builtins.Register(&builtins.Row{
		Name: "init_parallel",
		Doc: "init_parallel(pipeline=1, tensor=1, data=None) returns None and lays all ranks out as (data, pipeline, tensor), tensor fastest.\n" +
			"With P stages of T ranks each, rank d*P*T + p*T + t is tensor rank t of stage p of the\n" +
			"model that data rank d holds. Without data there are as many models as the ranks make.\n" +
			"The product of the degrees is the number of ranks, or else that is an error. It defines\n" +
			"the groups of ParallelMode and the neighbours of the pipeline functions. Every rank\n" +
			"calls it with the same degrees; it does not communicate. A later call replaces the layout.\n" +
			">>> init_parallel(pipeline=1, tensor=1, data=world_size())\n" +
			">>> all_gather(tensor([rank()]), group=ParallelMode.PIPELINE).tolist() == [rank()]\nTrue",
		Fn: initParallel,
	}, &builtins.Row{
		Name:      "ParallelMode",
		Namespace: true,
		Doc: "ParallelMode holds the groups that init_parallel defines, for group= or parallel_mode=: GLOBAL, DATA, PIPELINE, TENSOR, MODEL.\n" +
			"Each stands for the one of these groups that the caller is in. Before init_parallel\n" +
			"they are errors. Modes of the same ranks share one group.\n" +
			">>> init_parallel()\n" +
			">>> all_reduce(tensor([2.0]), group=ParallelMode.TENSOR).tolist()\n[2.0]",
	})
	for _, m := range runtime.Modes {
		builtins.Register(&builtins.Row{
			Name: "ParallelMode." + m.String(),
			Doc: m.String() + " is the group " + docModes[m] + ", once init_parallel has been called.\n" +
				">>> init_parallel()\n" +
				">>> all_gather(tensor([7]), group=ParallelMode." + m.String() + ").tolist()[0]\n7",
			Own: func(e *builtins.Env) starlark.Value { return &ParallelMode{e, m} },
		})
	}
}

// Degree is an argument that is a number of ranks.
type Degree int

// Unpack implements starlark.Unpacker.
func (p *Degree) Unpack(v starlark.Value) error {
	n, err := arg.ToInt(v)
	if err == nil && n < 1 {
		err = arg.Bad(v, "a positive int", "")
	}
	*p = Degree(n)
	return err
}

func initParallel(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	pipeline, tensor, data := Degree(1), Degree(1), Degree(0)
	if err := arg.Unpack(b.Name(), args, kwargs, "pipeline?", &pipeline, "tensor?", &tensor, "data??", &data); err != nil {
		return nil, err
	}
	return starlark.None, e.Runtime.InitParallel(int(pipeline), int(tensor), int(data))
}

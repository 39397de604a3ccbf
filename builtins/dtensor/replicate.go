package dtensor

import (
	"fmt"
	"hash/fnv"
	"io"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/nn"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{Name: "replicate", Fn: replicateModule,
		Doc: "replicate(module, mesh=None) makes the ranks of a mesh of one dim train copies of a module on data of their own, and returns the module.\n" +
			"Its parameters and buffers take the values of the mesh's first rank. When backward returns, their gradients are the means over\n" +
			"the ranks, computed at once for many parameters: of the same ones on each. Parameters that are distributed over other ranks stay so: each rank\n" +
			"averages its blocks. mesh None is all ranks in a line.\n" +
			">>> m = replicate(nn.Linear(2, 1), DeviceMesh(\"cpu\", [0]))\n>>> m(ones(4, 2)).sum().backward()\n>>> m.bias.grad.tolist()\n[4.0]"})
	builtins.Register(&builtins.Row{Name: "no_sync", Fn: noSync,
		Doc: "no_sync(module, fn) returns fn(), in which backward leaves the gradients of a module that replicate or fully_shard was given as they are.\n" +
			"They are averaged, with what has accumulated, by the next backward outside: of fully_shard they are kept whole until then, and not in .grad.\n" +
			">>> m = replicate(nn.Linear(2, 1), DeviceMesh(\"cpu\", [0]))\n>>> no_sync(m, lambda: m(ones(4, 2)).sum().backward())\n>>> m.bias.grad.tolist()\n[4.0]"})
	builtins.Register(&builtins.Row{Name: "distribute_module", Fn: distributeModule,
		Doc: "distribute_module(module, device_mesh, partition_fn=None, input_fn=None, output_fn=None) makes the parameters of a module distributed tensors, and returns the module.\n" +
			"partition_fn(name, module, device_mesh) is called for the module, under the name \"\", and each below it, and may give\n" +
			"them distributed parameters; the others are replicated. input_fn(inputs, device_mesh) is given the tuple of\n" +
			"arguments of each call of the module and returns those that it gets, output_fn(output, device_mesh) what it returns.\n" +
			">>> m = distribute_module(nn.Linear(2, 3), DeviceMesh(\"cpu\", [0]))\n>>> m.weight.placements\n(Replicate(),)"})
}

// ModuleArg is an argument that is a module.
type ModuleArg struct{ M *nn.Module }

// Unpack implements starlark.Unpacker.
func (p *ModuleArg) Unpack(v starlark.Value) error {
	if p.M = nn.ModuleOf(v); p.M == nil {
		return arg.Bad(v, "a module", "")
	}
	return nil
}

// A replica is a module whose gradients are averaged over ranks.
type replica struct {
	e     *builtins.Env
	group *runtime.Group
	list  []*builtins.Tensor // the parameters
	names []string           // theirs
	sync  bool
	due   map[*builtins.Tensor]bool // what the pass under way has given a gradient
}

// replicaMark is the key under which a module has its replica.
type replicaMark struct{}

// replicaOf returns the replica that m is, or nil.
func replicaOf(m *nn.Module) *replica {
	r, _ := m.Marked(replicaMark{}).(*replica)
	return r
}

func replicateModule(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		m  ModuleArg
		dm optMesh
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "module", &m, "mesh|device_mesh?", &dm); err != nil {
		return nil, err
	}
	on, err := worldMesh(e, dm)
	if err != nil {
		return nil, err
	}
	if err := m.M.MayChange(b.Name()); err != nil {
		return nil, err
	}
	if on.NDim() != 1 {
		return nil, &op.ArgError{Func: b.Name(), Param: "mesh", Got: on.String(), Want: "a mesh of one dim", Rule: `mesh["dp"] is one of a mesh of several`}
	}
	if replicaOf(m.M) != nil {
		return nil, &op.ArgError{Func: b.Name(), Param: "module", Got: "a module that replicate has been given", Want: "another"}
	}
	g, err := e.Runtime.MeshGroup(on)
	if err != nil {
		return nil, err
	}
	r := newReplica(e, g)
	m.M.Mark(replicaMark{}, r)
	if !g.Holds() {
		return m.M.Value, nil
	}
	for _, p := range m.M.Parameters("", true) {
		if err := r.add(p.X, p.Path); err != nil {
			return nil, err
		}
	}
	for _, p := range m.M.Buffers("", true) {
		if err := r.adopt(p.X); err != nil {
			return nil, err
		}
	}
	return m.M.Value, nil
}

// newReplica returns a replica over g, of no parameters yet.
func newReplica(e *builtins.Env, g *runtime.Group) *replica {
	return &replica{e: e, group: g, sync: true, due: map[*builtins.Tensor]bool{}}
}

// add adopts x, a parameter.
func (r *replica) add(x *builtins.Tensor, name string) error {
	r.list, r.names = append(r.list, x), append(r.names, name)
	return r.adopt(x)
}

// adopt gives x the values of the first rank, and has its gradients averaged.
func (r *replica) adopt(x *builtins.Tensor) error {
	t, err := x.Tensor()
	if err != nil {
		return err
	}
	first, err := r.e.Runtime.Run(r.group, runtime.Collective{Op: "broadcast"}, t.Local().Detach())
	if err != nil {
		return err
	}
	restore := r.e.Runtime.Tape.SetEnabled(false)
	_, err = r.e.Runtime.Do("copy_", []*tensor.Tensor{t.Local().Detach(), first})
	restore()
	if err != nil || !t.RequiresGrad() {
		return err
	}
	t.Auto.Hooks = append(t.Auto.Hooks, func(*tensor.Tensor) (*tensor.Tensor, error) {
		if r.sync && len(r.due) == 0 {
			r.e.Runtime.Tape.AfterBackward(r.average)
		}
		if r.sync {
			r.due[x] = true
		}
		return nil, nil
	})
	return nil
}

// bucketBytes is how much of gradients is averaged by one call at most, unless
// one parameter is larger: their copies must not cost much memory.
const bucketBytes = 32 << 20

// average makes the gradients that are due the means over the ranks. Several
// travel in one call; the order is that of the module's parameters.
func (r *replica) average() error {
	due := r.due
	r.due = map[*builtins.Tensor]bool{}
	var bucket []*tensor.Tensor
	size := 0
	missing := r.missing(due)
	flush := func() error {
		list := bucket
		bucket, size = nil, 0
		return r.averageOf(list, missing)
	}
	for _, x := range r.list {
		if !due[x] || x.T.Auto.Grad == nil {
			continue
		}
		g := x.T.Auto.Grad.Local()
		n := g.Numel() * g.DType().Size()
		if len(bucket) > 0 && (size+n > bucketBytes || g.DType() != bucket[0].DType()) {
			if err := flush(); err != nil {
				return err
			}
		}
		bucket, size = append(bucket, g), size+n
	}
	return flush()
}

// missing says which parameters are not due, "without=b.weight,b.bias", or "" if all are. The ranks compare it, so that none
// adds the gradient of one parameter to that of another.
func (r *replica) missing(due map[*builtins.Tensor]bool) string {
	var names []string
	for i, x := range r.list {
		if x.T.RequiresGrad() && !due[x] {
			names = append(names, r.names[i])
		}
	}
	if len(names) == 0 {
		return ""
	}
	all := strings.Join(names, ",")
	if len(names) > mostNames {
		h := fnv.New32()
		io.WriteString(h, all)
		all = fmt.Sprintf("%s,+%d:%x", strings.Join(names[:mostNames], ","), len(names)-mostNames, h.Sum32())
	}
	return "without=" + all
}

// mostNames is how many parameters are named; of more a sum tells whether they are the same.
const mostNames = 4

// averageOf averages tensors of one dtype, in place. missing is what missing returned.
func (r *replica) averageOf(list []*tensor.Tensor, missing string) error {
	if len(list) == 0 {
		return nil
	}
	rank := r.e.Runtime
	flat := make([]*tensor.Tensor, len(list))
	sizes := make([]int, len(list))
	for i, g := range list {
		y, err := rank.Do("reshape", []*tensor.Tensor{g.Detach()}, op.IntsN(g.Numel()))
		if err != nil {
			return err
		}
		flat[i], sizes[i] = y, g.Numel()
	}
	one := flat[0]
	var err error
	if len(flat) > 1 {
		if one, err = rank.Do("cat", flat, op.Int1(0)); err != nil {
			return err
		}
	}
	mean, err := rank.Run(r.group, runtime.Collective{Op: "all_reduce", Reduce: "mean", Setting: missing}, one)
	if err != nil {
		return err
	}
	parts, err := rank.Apply(op.Lookup("split"), []*tensor.Tensor{mean}, []op.Arg{op.IntsN(sizes...), op.Int1(0)})
	if err != nil {
		return err
	}
	for i, g := range list {
		y, err := rank.Do("reshape", []*tensor.Tensor{parts[i]}, op.IntsN(g.Shape()...))
		if err == nil {
			_, err = rank.Do("copy_", []*tensor.Tensor{g.Detach(), y})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func noSync(_ *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		m  ModuleArg
		fn arg.Callable
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "module", &m, "fn", &fn); err != nil {
		return nil, err
	}
	r := replicaOf(m.M)
	if r == nil {
		units, err := unitsOf(b.Name(), m.M)
		if err != nil {
			return nil, &op.ArgError{Func: b.Name(), Param: "module", Got: m.M.Describe(), Want: "a module that replicate or fully_shard was given"}
		}
		return unsynced(thread, units, fn)
	}
	was := r.sync
	r.sync = false
	defer func() { r.sync = was }()
	return starlark.Call(thread, fn.Fn, nil, nil)
}

// unsynced returns fn(), in which backward does not reduce the gradients of units.
func unsynced(thread *starlark.Thread, units []*shardUnit, fn arg.Callable) (starlark.Value, error) {
	for _, u := range units {
		was := u.unsynced
		u.setSync(false)
		defer func() { u.setSync(!was) }()
	}
	return starlark.Call(thread, fn.Fn, nil, nil)
}

func distributeModule(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		m             ModuleArg
		dm            optMesh
		part, in, out arg.OptCallable
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "module", &m, "device_mesh|mesh?", &dm, "partition_fn?", &part, "input_fn?", &in, "output_fn?", &out); err != nil {
		return nil, err
	}
	if err := m.M.MayChange(b.Name()); err != nil {
		return nil, err
	}
	on, err := worldMesh(e, dm)
	if err != nil {
		return nil, err
	}
	value := DeviceMeshOf(e, on)
	if part.Set {
		for _, sub := range m.M.Modules("") {
			if _, err := starlark.Call(thread, part.V.Fn, starlark.Tuple{starlark.String(sub.Path), sub.M.Value, value}, nil); err != nil {
				return nil, err
			}
		}
	}
	for _, p := range m.M.Parameters("", true) {
		if t, err := p.X.Tensor(); err != nil {
			return nil, err
		} else if t.Placed() {
			continue
		}
		if err := replicateParameter(e, b.Name(), p, on); err != nil {
			return nil, err
		}
	}
	m.M.Around(moduleFunctions(e, b.Name(), m.M, on, in, out).around)
	return m.M.Value, nil
}

// replicateParameter makes a plain parameter a replicated distributed tensor.
func replicateParameter(e *builtins.Env, fn string, p nn.NamedTensor, m *mesh.Mesh) error {
	if m.NDim() == 1 {
		l, err := layoutOfParameter(e, fn, p.Path, p.X, m, mesh.Replicate())
		if err != nil || l == nil {
			return err
		}
		return distributeParameter(e, fn, p.X, l, firstPlace)
	}
	return distributeParameter(e, fn, p.X, e.Runtime.Shard.Replicated(m, p.X.T.Shape()), firstPlace)
}

// moduleFunctions returns the preparation by input_fn and output_fn. A function of
// three arguments is given the module first, as in today's PyTorch.
func moduleFunctions(e *builtins.Env, fn string, m *nn.Module, on *mesh.Mesh, in, out arg.OptCallable) *preparation {
	value := DeviceMeshOf(e, on)
	call := func(thread *starlark.Thread, f starlark.Callable, v starlark.Value) (starlark.Value, error) {
		args := starlark.Tuple{v, value}
		if def, ok := f.(*starlark.Function); ok && def.NumParams() == 3 {
			args = starlark.Tuple{m.Value, v, value}
		}
		return starlark.Call(thread, f, args, nil)
	}
	p := &preparation{e: e, mesh: on, by: fn}
	if in.Set {
		p.in = func(thread *starlark.Thread, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Tuple, []starlark.Tuple, error) {
			v, err := call(thread, in.V.Fn, args)
			if err != nil || v == starlark.None {
				return args, kwargs, err
			}
			switch v := v.(type) {
			case starlark.Tuple:
				return v, kwargs, nil
			case *builtins.Tensor:
				return starlark.Tuple{v}, kwargs, nil
			}
			return nil, nil, &op.ArgError{Func: fn, Param: "input_fn", Got: fmt.Sprintf("a result of %s", arg.Show(v)), Want: "a tuple of the arguments"}
		}
	}
	if out.Set {
		p.out = func(thread *starlark.Thread, v starlark.Value) (starlark.Value, error) {
			return call(thread, out.V.Fn, v)
		}
	}
	return p
}

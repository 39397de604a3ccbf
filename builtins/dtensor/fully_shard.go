package dtensor

import (
	"fmt"
	"slices"
	"strconv"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/nn"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{Name: "fully_shard", Fn: fullyShard,
		Doc: "fully_shard(module, mesh=None, reshard_after_forward=True, ignored_params=None, mp_policy=None, offload_policy=None) makes the ranks of a mesh store the parameters of a module in parts, and returns the module.\n" +
			"A list of modules stands for a call with each, in which those that share a parameter share its part.\n" +
			"Each parameter becomes a ShardedFlatParameter of which a rank stores ceil(numel / ranks) elements, of the values that\n" +
			"the mesh's first rank has; gradients and the optimiser's state are of these parts. Of a mesh of two dims they are the\n" +
			"ranks along the second, and those along the first hold copies, whose gradients are averaged by an all_reduce of the\n" +
			"parts at the end of backward. A distributed parameter stays so over other ranks: the blocks are cut. Those in\n" +
			"ignored_params stay as they are, and theirs is no communication. Parameters are gathered in units just before a unit computes, in one all_gather\n" +
			"that is issued while the unit before computes, and forgotten after; so again in backward, which leaves in .grad the\n" +
			"parts of the means over the ranks, by one reduce_scatter a unit. The units are the modules in it that were given to\n" +
			"fully_shard before, each with all that is in it, as in PyTorch; of the rest the children, those of a Sequential or ModuleList\n" +
			"each, and the module's own parameters. A module without a forward function has its children for units even if it was given before.\n" +
			"A child's parameters are there while it is called, and from where the function of a module that calls it, or holds it,\n" +
			"reads them (self.tok.weight) to the end of that. With reshard_after_forward=False they stay until the unit's\n" +
			"backward; None is for True. state_dict() gives distributed tensors of full shape, cut along dim 0 by the mesh's last dim, or as they were distributed before,\n" +
			"and so does that of an optimiser; load_state_dict() takes these or whole ones. Every rank calls them.\n" +
			"mesh None is all ranks in a line. mp_policy, a MixedPrecisionPolicy, says in which dtypes they are gathered and gradients reduced; offload_policy is None, since\n" +
			"tensors are in the memory of the processor already.\n" +
			"At its peak a rank holds, for p ranks, 1/p of the parameters, of their gradients and of the optimiser's state, three\n" +
			"times the largest unit (its parameters, their gradients and the next unit's parameters), and activations.\n" +
			">>> m = fully_shard(nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1)), DeviceMesh(\"cpu\", [0]))\n" +
			">>> m(ones(4, 2)).sum().backward()\n>>> m[1].bias.grad.tolist()\n[4.0]"})
	builtins.Register(
		nn.ModuleRow("unshard", "unshard(async_op=False) gathers the parameters of a module that fully_shard was given, until reshard() or a backward pass through them.\n"+
			"Their values can be read then; changes of them are lost. With async_op it only begins to, and returns a handle whose wait() does the rest.\n"+exampleFullyShard+">>> m.unshard()\n>>> m.weight.shape\n(3, 2)", unshardModule),
		nn.ModuleRow("reshard", "reshard() forgets the gathered parameters of a module that fully_shard was given: each stands for this rank's part again.\n"+
			exampleFullyShard+">>> m.unshard()\n>>> m.reshard()\n>>> m.weight.shape\n(6,)", reshardModule),
	)
}

// exampleFullyShard begins the examples of fully sharded modules.
const exampleFullyShard = ">>> m = fully_shard(nn.Linear(2, 3), DeviceMesh(\"cpu\", [0]))\n"

// A shardUnit is a module whose parameters are gathered together.
type shardUnit struct {
	e           *builtins.Env
	m           *nn.Module
	params      []*shardParam
	paramGroups []*runtime.ParamGroup // of params, one for each dtype
	also        []*shardUnit          // those whose parameters it computes with, too
	early       bool                  // it reshards after forward, and not only after backward

	depth    int  // how often it has been opened and not closed
	manual   bool // once by unshard()
	recorded bool // the parameters that are open have gradients

	before *shardUnit   // the unit whose backward is likely to come next
	order  []*shardUnit // as the last call of m, not inside another, opened units

	sharding *fullSharding // the call of fully_shard that made it
	made     []*shardUnit  // that call's units of children, of the unit of the module it was given
	into     *shardUnit    // the unit that has its parameters now, or nil

	unsynced bool // backward keeps gradients for one that reduces them
	kept     bool // backward leaves the parameters gathered

	given  bool         // its module is the one that call was given
	ahead  []*shardUnit // that are gathered while it computes in place of the one that is likely to come, or nil
	behind []*shardUnit // so in backward
}

// unitMark is the key under which a module has its unit.
type unitMark struct{}

// unitOf returns the unit that m is, or nil.
func unitOf(m *nn.Module) *shardUnit {
	u, _ := m.Marked(unitMark{}).(*shardUnit)
	return u
}

// A shardParam is a parameter of a unit: what a flat parameter is part of.
type shardParam struct {
	x      *builtins.Tensor
	mesh   *mesh.Mesh   // that fully_shard was given
	flat   *mesh.Flat   // on the ranks of the group
	layout *mesh.Placed // of a distributed parameter, whose block is cut; else nil
	lens   any
}

// fullShape returns the shape of the parameter.
func (p *shardParam) fullShape() shape.Shape {
	if p.layout != nil {
		return p.layout.Shape()
	}
	return p.flat.Shape()
}

// A fullSharding is a call of fully_shard.
type fullSharding struct {
	e       *builtins.Env
	fn      string
	mesh    *DeviceMesh
	along   *DeviceMesh    // the line of mesh whose ranks store parts: all of it, or of two dims the second
	group   *runtime.Group // of along
	copies  *replica       // over the first of two dims, or nil
	early   bool
	ignored []*builtins.Tensor
	made    []*shardUnit // of children
	policy  *mixedPrecision
}

func fullyShard(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		m       modulesArg
		dm      optMesh
		early   arg.Opt[arg.Bool, *arg.Bool]
		ignored arg.Opt[builtins.TensorValues, *builtins.TensorValues]
		policy  arg.Opt[precisionArg, *precisionArg]
		offload offloadArg
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "module", &m, "mesh?", &dm, "reshard_after_forward?", &early, "ignored_params?", &ignored,
		"mp_policy?", &policy, "offload_policy?", &offload); err != nil {
		return nil, err
	}
	all, err := worldMesh(e, dm)
	if err != nil {
		return nil, err
	}
	calls := make([]*fullSharding, len(m.list))
	for i, sub := range m.list {
		calls[i] = &fullSharding{e: e, fn: b.Name(), mesh: DeviceMeshOf(e, all), early: !early.Set || bool(early.V), ignored: ignored.V, policy: policy.V.mixedPrecision}
		if err := calls[i].check(sub); err != nil {
			return nil, err
		}
	}
	for i, sub := range m.list {
		if err := calls[i].apply(sub); err != nil {
			return nil, err
		}
	}
	return m.value, nil
}

// modulesArg is a module, or a list of different ones.
type modulesArg struct {
	list  []*nn.Module
	value starlark.Value // as it was given
}

// Unpack implements starlark.Unpacker.
func (p *modulesArg) Unpack(v starlark.Value) error {
	p.value = v
	if m := nn.ModuleOf(v); m != nil {
		p.list, p.value = []*nn.Module{m}, m.Value
		return nil
	}
	var list arg.List
	if list.Unpack(v) != nil {
		return arg.Bad(v, "a module, or a list of modules", "")
	}
	for i, item := range list {
		m := nn.ModuleOf(item)
		if m == nil || slices.Contains(p.list, m) {
			return arg.BadItem(item, i, "a module, each once")
		}
		p.list = append(p.list, m)
	}
	return nil
}

// apply shards m, which check has let pass.
func (s *fullSharding) apply(m *nn.Module) error {
	if err := mergeInner(m); err != nil {
		return err
	}
	if err := s.children(m); err != nil {
		return err
	}
	u, err := s.unit(m)
	if err != nil {
		return err
	}
	u.made, u.given = s.made, true
	return nil
}

// check refuses modules and meshes that cannot be meant, and finds the group.
func (s *fullSharding) check(m *nn.Module) error {
	bad := func(param, got, want, rule string) error {
		return &op.ArgError{Func: s.fn, Param: param, Got: got, Want: want, Rule: rule}
	}
	if s.mesh.Mesh().NDim() > 2 {
		return bad("mesh", s.mesh.Mesh().String(), "a mesh of one dim or two", `mesh["dp"] is one of a mesh of several`)
	}
	if !s.e.Runtime.Member(s.mesh.Mesh()) {
		return bad("mesh", s.mesh.Mesh().String(), fmt.Sprintf("a mesh with rank %d in it", s.e.Runtime.Self()), "only the ranks that store the module call fully_shard")
	}
	if err := s.findRanks(); err != nil {
		return err
	}
	if unitOf(m) != nil {
		return bad("module", "a module that fully_shard has been given", "another", "")
	}
	for _, sub := range m.Modules("") {
		if err := sub.M.MayChange(s.fn); err != nil {
			return err
		}
		if replicaOf(sub.M) != nil {
			return bad("module", "a module with one that replicate has been given", "one without", "both average gradients")
		}
		for _, p := range sub.M.Own(sub.Path) {
			if slices.Contains(s.ignored, p.X) {
				continue
			}
			if err := s.checkParameter(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// findRanks finds the ranks that store parts, and those that hold copies.
func (s *fullSharding) findRanks() error {
	s.along = s.mesh
	if m := s.mesh.Mesh(); m.NDim() == 2 {
		s.along = DeviceMeshOf(s.e, s.e.Runtime.SubMesh(m, 1))
		if m.Shape()[0] > 1 {
			g, err := s.e.Runtime.MeshGroup(s.e.Runtime.SubMesh(m, 0))
			if err != nil {
				return err
			}
			s.copies = newReplica(s.e, g)
		}
	}
	var err error
	s.group, err = s.e.Runtime.MeshGroup(s.along.Mesh())
	return err
}

// checkParameter refuses a parameter that cannot be cut.
func (s *fullSharding) checkParameter(p nn.NamedTensor) error {
	t, err := p.X.Tensor()
	switch {
	case err != nil:
		return err
	case flatOf(p.X) != nil && flatOf(p.X).partOf == nil:
		return &op.ArgError{Func: s.fn, Param: "module", Got: fmt.Sprintf("a %s as %q", p.X.Type(), p.Path), Want: "a parameter that is whole on each rank, or distributed"}
	case flatOf(p.X) != nil:
		return nil
	case t.Placed() && t.Layout().IsPartial():
		return &op.ArgError{Func: s.fn, Param: "module", Got: fmt.Sprintf("%s as %q", shard.Describe(t), p.Path), Want: "no Partial"}
	}
	return builtins.CheckFrozen(s.fn, t)
}

// children makes units of the children of m that are none yet.
func (s *fullSharding) children(m *nn.Module) error {
	if m.Class == nn.AttentionClass { // which does not call its child
		return nil
	}
	for _, f := range m.Fields {
		c := nn.ModuleOf(f.Value)
		if c == nil || f.Kind != nn.ModuleField || unitOf(c) != nil {
			continue
		}
		var err error
		if c.Class == nn.SequentialClass || c.Class == nn.ModuleListClass {
			err = s.children(c)
		} else {
			err = s.child(c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// child makes c a unit.
func (s *fullSharding) child(c *nn.Module) error {
	u, err := s.unit(c)
	if err == nil {
		s.made = append(s.made, u)
	}
	return err
}

// unit makes m a unit of the parameters that are in it, but for those of units
// that it contains.
func (s *fullSharding) unit(m *nn.Module) (*shardUnit, error) {
	u := &shardUnit{e: s.e, m: m, early: s.early, sharding: s}
	seen := map[*builtins.Tensor]bool{}
	computes(m, func(x *builtins.Tensor) {
		switch {
		case seen[x] || slices.Contains(s.ignored, x):
		case flatOf(x) != nil:
			u.addAlso(flatOf(x).partOf.unit)
		default:
			p := &shardParam{x: x, mesh: s.mesh.Mesh(), layout: x.T.Layout(), lens: x.T.Lens}
			p.flat = shard.FlatEven(x.T.Local().Shape(), s.group.Size())
			u.params = append(u.params, p)
		}
		seen[x] = true
	})
	for _, list := range u.byType() {
		if err := s.cut(u, list); err != nil {
			return nil, err
		}
	}
	s.onRead(m)
	m.Mark(unitMark{}, u)
	m.Outside(u.around)
	return u, nil
}

// byType returns the parameters of u in lists of one dtype each.
func (u *shardUnit) byType() [][]*shardParam {
	at := map[dtype.DType]int{}
	var lists [][]*shardParam
	for _, p := range u.params {
		i, ok := at[p.x.T.DType()]
		if !ok {
			i = len(lists)
			at[p.x.T.DType()] = i
			lists = append(lists, nil)
		}
		lists[i] = append(lists[i], p)
	}
	return lists
}

// onRead has the parameters of m, and of the modules below it that are no units,
// gathered when they are read.
func (s *fullSharding) onRead(m *nn.Module) {
	m.OnRead(s.read)
	for _, fd := range m.Fields {
		if c := nn.ModuleOf(fd.Value); c != nil && fd.Kind == nn.ModuleField && unitOf(c) == nil {
			s.onRead(c)
		}
	}
}

// computes calls f with every parameter of m and of the modules below it that are
// no units, in every place where one stands.
func computes(m *nn.Module, f func(x *builtins.Tensor)) {
	for _, p := range m.Own("") {
		f(p.X)
	}
	for _, fd := range m.Fields {
		if c := nn.ModuleOf(fd.Value); c != nil && fd.Kind == nn.ModuleField && unitOf(c) == nil {
			computes(c, f)
		}
	}
}

// addAlso notes that u computes with parameters of v.
func (u *shardUnit) addAlso(v *shardUnit) {
	if !slices.Contains(u.also, v) {
		u.also = append(u.also, v)
	}
}

// cut makes params, of one dtype, flat parameters of u whose parts on this rank
// lie one after another in one storage.
func (s *fullSharding) cut(u *shardUnit, params []*shardParam) error {
	for _, p := range params {
		s.e.Runtime.PartFlat(s.group, p.flat)
	}
	parts, err := s.room(params)
	if err != nil {
		return err
	}
	defer s.e.Runtime.Tape.SetEnabled(false)()
	for i, p := range params {
		if err := s.adopt(u, p, parts[i]); err != nil {
			return err
		}
	}
	s.gatherTogether(u, params)
	return nil
}

// room returns storage for this rank's parts of params, of one dtype: one after another.
func (s *fullSharding) room(params []*shardParam) ([]*tensor.Tensor, error) {
	n, me := 0, s.group.Place()
	for _, p := range params {
		n += p.flat.Numel(me)
	}
	store, err := tensor.New(s.e.Runtime.Ops().Alloc, params[0].x.T.DType(), shape.Shape{n})
	if err != nil {
		return nil, &op.ResourceError{Func: s.fn, Err: err}
	}
	parts, lo := make([]*tensor.Tensor, len(params)), 0
	for i, p := range params {
		n := p.flat.Numel(me)
		parts[i] = store.View(shape.Shape{n}, []int{1}, lo)
		lo += n
	}
	return parts, nil
}

// gatherTogether has params, flat parameters of u of one dtype, gathered by one call.
func (s *fullSharding) gatherTogether(u *shardUnit, params []*shardParam) {
	flats, layouts := make([]*mesh.Flat, len(params)), make([]*mesh.Placed, len(params))
	for i, p := range params {
		flats[i], layouts[i] = p.flat, p.layout
	}
	g := s.e.Runtime.NewParamGroup(s.group, flats, layouts, s.policy.dtypes(params[0].x.T.DType()), func() []*tensor.Tensor {
		parts := make([]*tensor.Tensor, len(params))
		for i, p := range params {
			parts[i] = flatOf(p.x).local
		}
		return parts
	})
	g.Restore, g.Ended, g.Unsynced, g.Kept = u.restore, u.ended, u.unsynced, u.kept
	u.paramGroups = append(u.paramGroups, g)
}

// adopt makes p a flat parameter whose part on this rank is stored in part.
func (s *fullSharding) adopt(u *shardUnit, p *shardParam, part *tensor.Tensor) error {
	e, t := s.e, p.x.T
	first, err := e.Runtime.Run(s.group, runtime.Collective{Op: "broadcast"}, t.Local().Detach())
	if err != nil {
		return err
	}
	values, err := e.Runtime.Shard.FlatPart(p.flat, s.group.Place(), first)
	if err != nil {
		return err
	}
	if _, err := e.Runtime.Do("copy_", []*tensor.Tensor{part, values}); err != nil {
		return err
	}
	view := &flatView{param: true, spec: &FlatShardingSpec{e, p.flat}, pg: s.along, group: s.group, local: part, partOf: &shardPart{p, u}}
	p.x.T, p.x.Lens = part, view
	if t.RequiresGrad() {
		if err := builtins.RequireGrad(s.fn, part); err != nil {
			return err
		}
	}
	if s.copies == nil {
		return nil
	}
	return s.copies.add(p.x, strconv.Itoa(len(s.copies.list)))
}

// A shardPart says what a flat parameter is part of.
type shardPart struct {
	*shardParam
	unit *shardUnit
}

// unitsOf returns the units of m and of the modules below it.
func unitsOf(fn string, m *nn.Module) ([]*shardUnit, error) {
	var list []*shardUnit
	for _, sub := range m.Modules("") {
		if u := unitOf(sub.M); u != nil && !slices.Contains(list, u.now()) {
			list = append(list, u.now())
		}
	}
	if list == nil {
		return nil, &op.ArgError{Func: fn, Got: m.Describe(), Want: "a module that fully_shard was given"}
	}
	return list, nil
}

func unshardModule(e *builtins.Env, fn string, m *nn.Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var async arg.Bool
	if err := arg.Unpack(fn, args, kwargs, "async_op?", &async); err != nil {
		return nil, err
	}
	units, err := unitsOf(fn, m)
	if err != nil {
		return nil, err
	}
	if async {
		return &unshardHandle{e, units}, prefetchAll(units)
	}
	return starlark.None, unshardAll(units)
}

// unshardAll gathers the parameters of units until they are resharded.
func unshardAll(units []*shardUnit) error {
	for _, u := range units {
		if u = u.now(); u.manual {
			continue
		}
		if err := u.open(); err != nil {
			return err
		}
		u.manual = true
	}
	return nil
}

func reshardModule(_ *builtins.Env, fn string, m *nn.Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(fn, args, kwargs); err != nil {
		return nil, err
	}
	units, err := unitsOf(fn, m)
	if err != nil {
		return nil, err
	}
	for _, u := range units {
		u.endManual()
		u.release()
	}
	return starlark.None, nil
}

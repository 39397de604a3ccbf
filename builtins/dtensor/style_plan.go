package dtensor

import (
	"fmt"
	"path"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/nn"
	"tpsh/internal/spell"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
)

func init() {
	builtins.Register(&builtins.Row{Name: "parallelize_module", Fn: parallelizeModule,
		Doc: "parallelize_module(module, device_mesh=None, parallelize_plan=None, tp_mesh_dim=0, src_data_rank=0) cuts the parameters of a module for the ranks of a mesh, changes what goes in and comes out, and returns the module.\n" +
			"parallelize_plan is one style, or a dict from paths of modules below it to styles; in a path, * stands for any name\n" +
			"or part of one, and \"\" for the module itself. A path that matches nothing is an error. The whole plan is checked before anything is changed. Of a mesh of several dims it is the line along tp_mesh_dim.\n" +
			"Parameters are distributed tensors afterwards, with the values of the rank at place src_data_rank of the mesh, or with\n" +
			"None each rank's own; optimisers keep them. device_mesh None is the mesh of with_mesh, else all ranks in a line.\n" +
			">>> m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))\n" +
			">>> plan = {\"0\": ColwiseParallel(), \"2\": RowwiseParallel()}\n" +
			">>> parallelize_module(m, DeviceMesh(\"cpu\", [0]), plan)(ones(2, 4)).shape\n(2, 4)"})
}

// A planner carries out a parallelize_module, in two rounds: the first checks all
// that the second does, so that a plan that fails has changed nothing.
type planner struct {
	e        *builtins.Env
	fn       string
	mesh     *mesh.Mesh // of one dim
	src      arg.OptInt // the place in mesh whose data parameters get
	dm       *DeviceMesh
	at       string // the path of the module that gets its style
	checking bool
	// promised holds, while checking, how parameters are going to lie.
	promised map[*builtins.Tensor]*mesh.Placed
}

// A styled is a module that a plan gives a style.
type styled struct {
	m     *nn.Module
	path  string
	style *Style
}

func parallelizeModule(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		v, plan starlark.Value
		m       optMesh
		dim     arg.Int
		src     = arg.OptInt{Set: true}
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "module", &v, "device_mesh|mesh?", &m, "parallelize_plan|plan?", &plan, "tp_mesh_dim?", &dim, "src_data_rank?", &src); err != nil {
		return nil, err
	}
	if plan == nil {
		return nil, &op.ArgError{Func: b.Name(), Param: "parallelize_plan", Got: "None", Want: "a style, or a dict from paths to styles"}
	}
	root := nn.ModuleOf(v)
	if root == nil {
		return nil, &op.ArgError{Func: b.Name(), Param: "module", Got: arg.Show(v), Want: "a module"}
	}
	dm, err := worldMesh(e, m)
	if err != nil {
		return nil, err
	}
	line, err := lineOf(e, b.Name(), dm, int(dim))
	if err != nil {
		return nil, err
	}
	if n := line.Size(); src.Set && (src.V < 0 || int(src.V) >= n) {
		return nil, &op.ArgError{Func: b.Name(), Param: "src_data_rank", Got: fmt.Sprint(src.V), Want: fmt.Sprintf("0..%d or None", n-1), Rule: "a place in the mesh " + line.Short()}
	}
	p := &planner{e: e, fn: b.Name(), mesh: line, src: src, dm: DeviceMeshOf(e, line), promised: map[*builtins.Tensor]*mesh.Placed{}}
	list, err := p.read(root, plan)
	if err != nil {
		return nil, err
	}
	return v, p.applyAll(list)
}

// read returns the modules to which a plan, a style or a dict, gives styles.
func (p *planner) read(root *nn.Module, plan starlark.Value) ([]styled, error) {
	switch plan := plan.(type) {
	case *Style:
		return []styled{{root, "", plan}}, nil
	case *starlark.Dict:
		return p.match(root, plan)
	}
	return nil, &op.ArgError{Func: p.fn, Param: "parallelize_plan", Got: arg.Show(plan), Want: "a style, or a dict from paths to styles"}
}

// lineOf returns the mesh of one dim that holds the caller along a dim of m; on a
// rank outside m, that of its first rank.
func lineOf(e *builtins.Env, fn string, m *mesh.Mesh, dim int) (*mesh.Mesh, error) {
	d, ok := shape.Dim(dim, m.NDim())
	if !ok {
		return nil, &op.ArgError{Func: fn, Param: "tp_mesh_dim", Got: fmt.Sprint(dim), Want: fmt.Sprintf("%d..%d", -m.NDim(), m.NDim()-1), Rule: "the mesh is " + m.String()}
	}
	if m.NDim() == 1 {
		return m, nil
	}
	return e.Runtime.SubMesh(m, d), nil
}

// match returns the modules that the paths of a plan name, with the style of each.
func (p *planner) match(root *nn.Module, plan *starlark.Dict) ([]styled, error) {
	var list []styled
	all := root.Modules("")
	for _, item := range plan.Items() {
		pattern, ok := starlark.AsString(item[0])
		s, isStyle := item[1].(*Style)
		if !ok || !isStyle {
			return nil, &op.ArgError{Func: p.fn, Param: "parallelize_plan", Got: fmt.Sprintf("%s: %s", arg.Show(item[0]), arg.Show(item[1])), Want: "a path and a style"}
		}
		found := len(list)
		for _, m := range all {
			if matches(pattern, m.Path) {
				list = append(list, styled{m.M, m.Path, s})
			}
		}
		if len(list) == found {
			return nil, p.noMatch(pattern, all)
		}
	}
	return list, nil
}

// applyAll gives the modules of a list their styles, if all of them can be.
func (p *planner) applyAll(list []styled) error {
	for _, p.checking = range []bool{true, false} {
		for _, w := range list {
			p.at = w.path
			if err := p.apply(w.m, w.path, w.style); err != nil {
				return err
			}
		}
	}
	return nil
}

// matches reports whether the name at each place of pattern matches that of a
// path. The path "" is that of the root, and * does not stand for it.
func matches(pattern, name string) bool {
	if (pattern == "") != (name == "") || strings.Count(pattern, ".") != strings.Count(name, ".") {
		return false
	}
	names := strings.Split(name, ".")
	for i, part := range strings.Split(pattern, ".") {
		if ok, err := path.Match(part, names[i]); !ok || err != nil {
			return false
		}
	}
	return true
}

// noMatch says that a path of a plan names no module.
func (p *planner) noMatch(pattern string, all []nn.NamedModule) error {
	var paths []string
	for _, m := range all {
		if m.Path != "" {
			paths = append(paths, m.Path)
		}
	}
	rule := "the modules are " + strings.Join(paths, ", ")
	if len(paths) == 0 {
		rule = "the module has none below it"
	} else if near := spell.Nearest(pattern, paths); near != "" {
		rule = fmt.Sprintf("did you mean %q?", near)
	}
	return &op.ArgError{Func: p.fn, Param: "parallelize_plan", Got: fmt.Sprintf("the path %q, which matches nothing", pattern), Want: "the path of a module", Rule: rule}
}

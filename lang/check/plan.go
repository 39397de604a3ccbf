package check

import (
	"path"
	"slices"
	"strings"

	"go.starlark.net/syntax"

	"tpsh/lang/analysis"
)

// argument returns the argument of a call by the name or the place of its parameter,
// or nil.
func argument(call *syntax.CallExpr, at int, names ...string) syntax.Expr {
	for i, a := range call.Args {
		name, v := analysis.Keyword(a)
		if u, ok := a.(*syntax.UnaryExpr); ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR) {
			return nil
		}
		if slices.Contains(names, name) {
			return v
		}
		if name == "" && i == at {
			return a
		}
	}
	return nil
}

// planOf reports arguments that cannot fit in calls that cut modules and tensors.
func (c *checker) planOf(call *syntax.CallExpr) {
	t := c.TypeOf(call.Fn)
	if t == nil {
		return
	}
	switch t.Path {
	case "parallelize_module":
		c.planPaths(call)
	case "distribute_tensor", "DTensor.from_local":
		c.placements(argument(call, 1, "mesh", "device_mesh"), argument(call, 2, "placements"))
	case "init_device_mesh":
		c.meshShape(argument(call, 1, "mesh_shape"), argument(call, 2, "mesh_dim_names"))
	}
	if t.Elem != nil && t.Elem.Name == "DeviceMesh" {
		c.dimArgument(t, call)
	}
}

// planPaths reports keys of a plan that match no module of the one it is for.
func (c *checker) planPaths(call *syntax.CallExpr) {
	plan, ok := argument(call, 2, "parallelize_plan", "plan").(*syntax.DictExpr)
	if !ok {
		return
	}
	module := argument(call, 0, "module")
	if module == nil {
		return
	}
	paths, all := c.Paths(c.TypeOf(module))
	if !all {
		return
	}
	var names []string
	for _, p := range paths {
		names = append(names, p.Name)
	}
	for _, e := range plan.List {
		entry, ok := e.(*syntax.DictEntry)
		if !ok {
			continue
		}
		if key, ok := analysis.Text(entry.Key); ok && key != "" && !matches(key, names) {
			c.report(syntax.Start(entry.Key), "plan", "the plan's path %q matches no module%s%s", key, listed(names), nearest(key, names))
		}
	}
}

func listed(names []string) string {
	if len(names) == 0 {
		return ", there is none below"
	}
	if len(names) > 8 {
		names = append(slices.Clone(names[:8]), "...")
	}
	return " of " + strings.Join(names, ", ")
}

// matches reports whether a key of a plan, in which * and ? stand for parts of a name,
// matches one of some paths.
func matches(key string, paths []string) bool {
	return slices.ContainsFunc(paths, func(p string) bool {
		ok, err := path.Match(strings.ReplaceAll(key, ".", "/"), strings.ReplaceAll(p, ".", "/"))
		return ok || err != nil
	})
}

// placements reports a list of placements that has not one for each dim of its mesh.
func (c *checker) placements(mesh, list syntax.Expr) {
	if mesh == nil || list == nil {
		return
	}
	t := c.TypeOf(mesh)
	items, ok := analysis.Elements(list)
	if ok && t != nil && t.Rank > 0 && len(items) != t.Rank {
		c.report(syntax.Start(list), "plan", "got %d placements, want %d, one for each dim of the mesh", len(items), t.Rank)
	}
}

// meshShape reports names of dims that are not as many as the dims.
func (c *checker) meshShape(shape, names syntax.Expr) {
	if shape == nil || names == nil {
		return
	}
	sizes, known := analysis.Elements(shape)
	list, named := analysis.Elements(names)
	if known && named && len(sizes) != len(list) {
		c.report(syntax.Start(names), "plan", "got %d names of dims, want %d, one for each dim of the mesh", len(list), len(sizes))
	}
}

// meshDim reports mesh["x"] of a mesh without a dim x.
func (c *checker) meshDim(x *syntax.IndexExpr) {
	t := c.TypeOf(x.X)
	if t == nil && isMesh(x.X) {
		c.unknownDim(x.Y)
	}
	if t == nil || t.Name != "DeviceMesh" || t.Dims == nil {
		return
	}
	keys := []syntax.Expr{x.Y}
	if list, ok := analysis.Elements(x.Y); ok {
		keys = list
	}
	for _, key := range keys {
		c.dimName(t, key)
	}
}

// isMesh reports whether an expression is called mesh.
func isMesh(x syntax.Expr) bool {
	switch x := x.(type) {
	case *syntax.Ident:
		return x.Name == "mesh"
	case *syntax.DotExpr:
		return x.Name.Name == "mesh"
	}
	return false
}

// unknownDim reports a dim of a mesh of which nothing is known but that no text of the
// program has its name, and that one has a name like it.
func (c *checker) unknownDim(key syntax.Expr) {
	name, ok := analysis.Text(key)
	if ok && c.meshes && c.words[name] <= 1 {
		c.report(syntax.Start(key), "plan", "no mesh of the program has a dim %q: this text stands here alone", name)
	}
}

// dimArgument reports mesh.get_group("x") of a mesh without a dim x.
func (c *checker) dimArgument(method *analysis.Type, call *syntax.CallExpr) {
	sig, ok := c.lang.Signature(method.Path)
	if ok && method.Elem.Dims != nil && slices.Contains(sig.Params, "mesh_dim") {
		if v := argument(call, slices.Index(sig.Params, "mesh_dim"), "mesh_dim"); v != nil {
			c.dimName(method.Elem, v)
		}
	}
}

func (c *checker) dimName(t *analysis.Type, key syntax.Expr) {
	name, ok := analysis.Text(key)
	if ok && !slices.Contains(t.Dims, name) && !c.joined[name] && !c.joined[""] {
		c.report(syntax.Start(key), "plan", "the mesh has no dim %q, but %s%s", name, strings.Join(t.Dims, ", "), nearest(name, t.Dims))
	}
}

// format reports "%d %s" % x with too few or too many values.
func (c *checker) format(x *syntax.BinaryExpr) {
	text, ok := analysis.Text(x.X)
	if x.Op != syntax.PERCENT || !ok {
		return
	}
	verbs, certain := verbsOf(text)
	values := 1
	switch y := x.Y.(type) {
	case *syntax.ParenExpr:
		t, ok := y.X.(*syntax.TupleExpr)
		if ok {
			values = len(t.List)
		}
		certain = certain && ok
	case *syntax.TupleExpr:
		values = len(y.List)
	case *syntax.Literal:
	default:
		t := c.TypeOf(x.Y)
		certain = certain && t != nil && slices.Contains([]string{"int", "float", "string", "list", "bool"}, t.Name)
	}
	if certain && verbs != values {
		c.report(syntax.Start(x), "format", "got %d values for a format of %d", values, verbs)
	}
}

// verbsOf counts the values that a format takes. It is not certain of one with names
// or stars.
func verbsOf(text string) (n int, certain bool) {
	for i := 0; i < len(text); i++ {
		if text[i] != '%' {
			continue
		}
		i++
		for i < len(text) && strings.IndexByte("-+ #0123456789.", text[i]) >= 0 {
			i++
		}
		switch {
		case i == len(text) || text[i] == '(' || text[i] == '*':
			return 0, false
		case text[i] != '%':
			n++
		}
	}
	return n, true
}

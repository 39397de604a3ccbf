package dtensor

import (
	"fmt"
	"os"
	"path/filepath"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
)

func init() {
	builtins.Register(&builtins.Row{Name: "visualize_sharding", Fn: visualizeSharding,
		Doc: "visualize_sharding(x, header=\"\", use_rich=False) draws which rank holds which block of the distributed tensor x, below header. use_rich changes nothing.\n" +
			"Of more than two dims it shows the two that are cut, the others folded. Nothing is moved.\n" +
			exampleDTensor + ">>> visualize_sharding(d)\n" + exampleDrawing})
	builtins.Register(&builtins.Row{Name: "get_local_shape_and_global_offset", Fn: getLocalShape,
		Doc: "get_local_shape_and_global_offset(dtensor, rank=None) returns the shape of what a rank holds of a distributed tensor, and where in the whole it begins: two tuples.\n" +
			"rank is the caller, or any other: nothing is sent. Of a rank outside the mesh both are ().\n" +
			exampleDTensor + ">>> get_local_shape_and_global_offset(d)\n((2, 3), (0, 0))"})
	builtins.Register(&builtins.Row{Name: "implicit_redistribution", Fn: implicitRedistribution,
		Doc: "implicit_redistribution(mode) says whether operations may redistribute distributed operands unasked, and returns the mode until now.\n" +
			"mode is \"allow\", with which every rank starts; \"warn\", with which each line that does so is told once; or \"error\".\n" +
			"What moves nothing is never refused, and gradients always may, also where they are clipped.\n" +
			">>> implicit_redistribution(\"error\")\n\"allow\"\n>>> implicit_redistribution(\"allow\")\n\"error\""})
}

const exampleDrawing = `(2, 3) as [S(0)] on (1,)

      0:3
    ┌─────┐
0:2 │ 0   │
    └─────┘`

// modes are the names of permissions.
var modes = [...]string{shard.Allow: "allow", shard.Warn: "warn", shard.Refuse: "error"}

func implicitRedistribution(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var mode arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "mode", &mode); err != nil {
		return nil, err
	}
	was := modes[e.Runtime.Shard.Implicit]
	for p, name := range modes {
		if name == string(mode) {
			e.Runtime.Shard.Implicit = shard.Permission(p)
			return starlark.String(was), nil
		}
	}
	return nil, &op.ArgError{Func: b.Name(), Param: "mode", Got: arg.Show(starlark.String(mode)), Want: `"allow", "warn" or "error"`}
}

// pictures counts what a rank has drawn into Options.Pictures.
type pictures struct{ drawn int }

func visualizeSharding(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		v      starlark.Value
		header arg.String
		rich   arg.Bool // the terminal's colours, of which there are none
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "x|tensor|dtensor", &v, "header?", &header, "use_rich?", &rich); err != nil {
		return nil, err
	}
	t, err := placedArg(b.Name(), "x", v)
	if err != nil {
		return nil, err
	}
	row, col := mesh.DrawDims(t.Layout())
	if dir := e.Options.Pictures; dir != "" && e.Runtime.ID() == t.Layout().Mesh().Ranks()[0] {
		n := builtins.StateOf[pictures](e)
		n.drawn++
		path := filepath.Join(dir, fmt.Sprintf("%06d-%d.svg", n.drawn, e.Runtime.ID()))
		if err := os.WriteFile(path, []byte(mesh.DrawSVG(t.Layout(), row, col)), 0o644); err != nil {
			return nil, &op.ResourceError{Func: b.Name(), Err: err}
		}
	}
	drawing := mesh.Draw(t.Layout(), row, col)
	if header != "" {
		drawing = string(header) + "\n" + drawing
	}
	builtins.Say(thread, drawing)
	return starlark.None, nil
}

func getLocalShape(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		v    starlark.Value
		rank arg.OptInt
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "dtensor|x", &v, "rank?", &rank); err != nil {
		return nil, err
	}
	t, err := placedArg(b.Name(), "dtensor", v)
	if err != nil {
		return nil, err
	}
	l := t.Layout()
	return localShapeAndOffset(e, b.Name(), l.Mesh(), l.Shape(), l.Placements(), rank)
}

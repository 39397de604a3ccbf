package dtensor

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{Name: "explain", Fn: explain,
		Doc: "explain(x, placements) prints how the distributed tensor x would be taken to placements, and the alternatives.\n" +
			"The first is what redistribute does: its steps, the most bytes that a rank receives, and the time in the fixed\n" +
			"cost model. Nothing is moved.\n" +
			exampleDTensor + ">>> explain(d, [Shard(0)])\n" +
			"float32[2, 3] as [S(0)] to [S(0)] on (1,)\nchosen  nothing to do"})
	builtins.Register(&builtins.Row{Name: "visualize_sharding", Fn: visualizeSharding,
		Doc: "visualize_sharding(x) draws which rank holds which block of the distributed tensor x.\n" +
			"Of more than two dims it shows the two that are cut, the others folded. Nothing is moved.\n" +
			exampleDTensor + ">>> visualize_sharding(d)\n" + exampleDrawing})
	builtins.Register(&builtins.Row{Name: "get_local_shape_and_global_offset", Fn: getLocalShape,
		Doc: "get_local_shape_and_global_offset(dtensor, rank=None) returns the shape of what a rank holds of a distributed tensor, and where in the whole it begins: two tuples.\n" +
			"rank is the caller, or any other: nothing is sent. Of a rank outside the mesh both are ().\n" +
			exampleDTensor + ">>> get_local_shape_and_global_offset(d)\n((2, 3), (0, 0))"})
	builtins.Register(&builtins.Row{Name: "implicit_redistribution", Fn: implicitRedistribution,
		Doc: "implicit_redistribution(mode) says whether operations may redistribute distributed operands unasked, and returns the mode until now.\n" +
			"mode is \"allow\", with which every rank starts; \"warn\", with which each line that does so is told once; or \"error\".\n" +
			"What moves nothing is never refused, and gradients always may.\n" +
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

func explain(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		v starlark.Value
		p placements
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "x|tensor", &v, "placements", &p); err != nil {
		return nil, err
	}
	t, err := placedArg(b.Name(), "x", v)
	if err != nil {
		return nil, err
	}
	src := t.Layout()
	dst, err := layoutArgs(e, b.Name(), src.Mesh(), t.Shape(), optPlacements{V: p, Set: true})
	if err != nil {
		return nil, err
	}
	if err := mesh.CheckTarget(src, dst); err != nil {
		return nil, OfMesh(b.Name(), err)
	}
	ways, err := mesh.Explain(src, dst, t.DType().Size())
	if err != nil {
		return nil, OfMesh(b.Name(), err)
	}
	builtins.Say(thread, explanation(t, dst, ways))
	return starlark.None, nil
}

// explanation returns what explain prints.
func explanation(t *tensor.Tensor, dst *mesh.Placed, ways []mesh.Alternative) string {
	var s strings.Builder
	src := t.Layout()
	fmt.Fprintf(&s, "%s as %s to %s on %s\n", op.Describe(t), mesh.List(src.Placements()), mesh.List(dst.Placements()), src.Mesh().Short())
	for i, w := range ways {
		head := "or"
		if i == 0 {
			head = "chosen"
		}
		if w.Refused != "" {
			head = "not"
		}
		fmt.Fprintf(&s, "%-7s %s", head, cost(w.Plan))
		if w.Refused != "" {
			fmt.Fprintf(&s, " (%s)", w.Refused)
		}
		s.WriteByte('\n')
		for j := range w.Steps {
			step := &w.Steps[j]
			fmt.Fprintf(&s, "        %d. %s %s\n", j+1, stepText(step), mesh.List(step.Dst.Placements()))
		}
	}
	return s.String()
}

// cost returns what a plan costs, in words.
func cost(p *mesh.Plan) string {
	if len(p.Steps) == 0 {
		return "nothing to do"
	}
	return fmt.Sprintf("%d bytes, %.3g us", p.Bytes, p.Seconds*1e6)
}

// stepText returns a step in words: all_gather along tp (4096 bytes, 1.4 us) to.
func stepText(s *mesh.Step) string {
	along := make([]string, len(s.Dims))
	for i, d := range s.Dims {
		along[i] = fmt.Sprintf("dim %d", d)
		if names := s.Src.Mesh().Names(); names != nil {
			along[i] = names[d]
		}
	}
	text := fmt.Sprintf("%s along %s", s.Op, strings.Join(along, " and "))
	if s.Communicates() {
		text += fmt.Sprintf(" (%d bytes, %.3g us)", s.Bytes, s.Seconds*1e6)
	}
	return text + " to"
}

func visualizeSharding(_ *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "x|tensor", &v); err != nil {
		return nil, err
	}
	t, err := placedArg(b.Name(), "x", v)
	if err != nil {
		return nil, err
	}
	row, col := mesh.DrawDims(t.Layout())
	builtins.Say(thread, mesh.Draw(t.Layout(), row, col))
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
	r := e.Runtime.ID()
	if rank.Set {
		r = int(rank.V)
	}
	return localShapeAndOffset(e, b.Name(), l.Mesh(), l.Shape(), l.Placements(), r)
}

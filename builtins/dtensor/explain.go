package dtensor

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shard"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{Name: "explain", Fn: explain,
		Doc: "explain(x, placements=None) prints how the distributed tensor x would be taken to placements, and the alternatives; or of a function what it does.\n" +
			"Of a tensor the first way is what redistribute does: its steps, the most bytes that a rank receives, and the time\n" +
			"in the cost model. Nothing is moved. A function is called without arguments, and its operations on distributed tensors and\n" +
			"what it communicates on this rank are told as a tree of regions and modules: placements in and out, what is moved\n" +
			"to where an operation can use it, at which price, and what its rule allows instead. It returns an Explanation, whose\n" +
			"bytes and seconds are those of all that moves.\n" +
			exampleDTensor + ">>> explain(d, [Shard(0)]).bytes\n" +
			"float32[2, 3] as [S(0)] to [S(0)] on (1,)\nchosen  nothing to do\n0\n" +
			">>> explain(lambda: (d + 1).sum()).tree[0].op\n" +
			"add at example:1:20: [S(0)] -> [S(0)]\nsum at example:1:28: [S(0)] -> [P(sum)]\n0 bytes, 0 us\n\"add\""})
	builtins.Register(
		&builtins.Row{Name: "Explanation", Doc: "Explanation is the type of what explain returns. It has result, tree, bytes and seconds."},
		&builtins.Row{Name: "Explanation.result", Doc: "result is what the function returned; None of a tensor.\n>>> explain(lambda: 3).result\n0 bytes, 0 us\n3"},
		&builtins.Row{Name: "Explanation.tree", Doc: "tree is a list of structs: of parts (name, parts, bytes, seconds), operations (op, where, count, inputs, out, moves, alternatives,\n" +
			"bytes, seconds) and calls (op, where, count, group, bytes, seconds). Of a tensor it is the ways: struct(steps, bytes, seconds, refused).\n" +
			">>> explain(lambda: all_reduce(ones(2))).tree[0].op\nall_reduce at example:1:27 in world: 0 bytes, 1 us\n0 bytes, 1 us\n\"all_reduce\""},
		&builtins.Row{Name: "Explanation.bytes", Doc: "bytes is how many bytes are moved: the most that any rank receives of a redistribution, what this rank sends of a call.\n>>> explain(lambda: 3).bytes\n0 bytes, 0 us\n0"},
		&builtins.Row{Name: "Explanation.seconds", Doc: "seconds is the time of what is moved, in the cost model.\n>>> explain(lambda: 3).seconds\n0 bytes, 0 us\n0.0"},
	)
}

func explain(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		v starlark.Value
		p optPlacements
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "x|tensor|fn", &v, "placements?", &p); err != nil {
		return nil, err
	}
	if fn, ok := v.(starlark.Callable); ok {
		if p.Set {
			return nil, &op.ArgError{Func: b.Name(), Param: "placements", Got: "placements for a function", Want: "a distributed tensor with them, or a function alone"}
		}
		return explainFunction(e, thread, fn)
	}
	if !p.Set {
		return nil, &op.ArgError{Func: b.Name(), Got: arg.Show(v) + " without placements", Want: "a function, or a distributed tensor and placements"}
	}
	return explainTensor(e, thread, b.Name(), v, p)
}

// explainTensor explains a redistribution of v.
func explainTensor(e *builtins.Env, thread *starlark.Thread, fn string, v starlark.Value, p optPlacements) (starlark.Value, error) {
	t, err := placedArg(fn, "x", v)
	if err != nil {
		return nil, err
	}
	src := t.Layout()
	dst, err := layoutArgs(e, fn, src.Mesh(), t.Shape(), p)
	if err != nil {
		return nil, err
	}
	if err := mesh.CheckTarget(src, dst); err != nil {
		return nil, shard.OfMesh(fn, err)
	}
	ways, err := mesh.Explain(src, dst, t.DType().Size())
	if err != nil {
		return nil, shard.OfMesh(fn, err)
	}
	builtins.Say(thread, explanation(t, dst, ways))
	tree := make([]starlark.Value, len(ways))
	for i, w := range ways {
		tree[i] = wayStruct(e, w)
	}
	return newExplanation(starlark.None, tree, ways[0].Bytes, ways[0].Seconds), nil
}

// wayStruct returns a way to redistribute a tensor as scripts have it.
func wayStruct(e *builtins.Env, w mesh.Alternative) starlark.Value {
	fields := starlark.StringDict{}
	planStruct(e, w.Plan).ToStringDict(fields)
	fields["refused"] = starlark.Value(starlark.None)
	if w.Refused != "" {
		fields["refused"] = starlark.String(w.Refused)
	}
	return builtins.NewStruct(fields)
}

// An Explanation is what explain returns: a struct that a shell shows in one line.
type Explanation struct{ *starlarkstruct.Struct }

func (x Explanation) Type() string { return "Explanation" }

func (x Explanation) String() string {
	bytes, _ := x.Attr("bytes")
	seconds, _ := x.Attr("seconds")
	return fmt.Sprintf("Explanation(bytes=%v, seconds=%v)", bytes, seconds)
}

func newExplanation(result starlark.Value, tree []starlark.Value, bytes int, seconds float64) Explanation {
	return Explanation{builtins.NewStruct(starlark.StringDict{"result": result, "tree": starlark.NewList(tree), "bytes": starlark.MakeInt(bytes), "seconds": starlark.Float(seconds)})}
}

// explanation returns what explain prints of a tensor.
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
	return costs(p.Bytes, p.Seconds)
}

// costs returns bytes and seconds in words.
func costs(bytes int, seconds float64) string {
	return fmt.Sprintf("%d bytes, %.3g us", bytes, seconds*1e6)
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
		text += fmt.Sprintf(" (%s)", costs(s.Bytes, s.Seconds))
	}
	return text + " to"
}

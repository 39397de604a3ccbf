package dtensor

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/shard"
)

// An explained is a node of what explain tells of a function: a part of the program,
// an operation, or a call that communicates.
type explained struct {
	name  string // of a part; the operation's or the call's otherwise
	where string
	count int // how often the same is done in a row

	parts     []*explained // of a part
	operation *shard.Explanation
	call      *runtime.Record

	bytes   int
	seconds float64
}

// An explainer listens to a function.
type explainer struct {
	env   *builtins.Env
	trace *runtime.Trace
	seen  int // of the trace's records, how many are in the tree
	root  explained
	path  map[*runtime.Record]string
}

// explainFunction calls fn and tells what it has done on this rank.
func explainFunction(e *builtins.Env, thread *starlark.Thread, fn starlark.Callable) (starlark.Value, error) {
	x := &explainer{env: e, trace: e.Runtime.StartTrace()}
	stop := e.Runtime.Shard.Observe(x.operation)
	result, err := e.Call(fn)
	stop()
	e.Runtime.StopTrace(x.trace)
	if err != nil {
		return nil, err
	}
	x.calls()
	x.root.add()
	var text strings.Builder
	for _, n := range x.root.parts {
		n.write(&text, "", e.Width())
	}
	text.WriteString(costs(x.root.bytes, x.root.seconds))
	builtins.Say(thread, text.String())
	return newExplanation(result, x.values(x.root.parts), x.root.bytes, x.root.seconds), nil
}

// operation notes an operation that is about to be carried out.
func (x *explainer) operation(o *shard.Explanation) {
	x.calls()
	n := &explained{name: o.Name, where: x.env.Runtime.Here(), operation: o, seconds: o.Seconds, count: 1}
	for _, in := range o.Inputs {
		if in.Plan != nil {
			n.bytes += in.Plan.Bytes
		}
	}
	x.root.at(x.env.Runtime.Within()).take(n)
}

// calls notes what was communicated since, but for what operations do to bring their
// inputs: that is told with them.
func (x *explainer) calls() {
	for _, rec := range x.trace.Records[x.seen:] {
		if rec.Implicit != "" {
			continue
		}
		path := strings.Trim(rec.Region+"/"+rec.Module, "/")
		x.root.at(path).take(&explained{name: rec.Op, where: rec.Where, call: rec, bytes: rec.Wire, seconds: rec.Predicted, count: 1})
	}
	x.seen = len(x.trace.Records)
}

// at returns the part at a path, of names with slashes between, after what is there
// already.
func (n *explained) at(path string) *explained {
	if path == "" {
		return n
	}
	for name := range strings.SplitSeq(path, "/") {
		var last *explained
		if len(n.parts) > 0 {
			last = n.parts[len(n.parts)-1]
		}
		if last == nil || !last.isPart() || last.name != name {
			last = &explained{name: name, count: 1}
			n.parts = append(n.parts, last)
		}
		n = last
	}
	return n
}

func (n *explained) isPart() bool { return n.operation == nil && n.call == nil }

// take adds a node, or counts it with the last if that is the same.
func (n *explained) take(m *explained) {
	if len(n.parts) > 0 {
		if last := n.parts[len(n.parts)-1]; last.same(m) {
			last.count++
			return
		}
	}
	n.parts = append(n.parts, m)
}

// same reports whether two nodes are the same operation on the same layouts, or
// the same call, at one line.
func (n *explained) same(m *explained) bool {
	if n.name != m.name || n.where != m.where || n.bytes != m.bytes || n.isPart() {
		return false
	}
	if n.call != nil && m.call != nil {
		return n.call.Group == m.call.Group && slices.Equal(n.call.Shape, m.call.Shape)
	}
	return n.operation != nil && m.operation != nil && n.inputs() == m.inputs() && n.results() == m.results()
}

// add sums up the parts.
func (n *explained) add() {
	if n.call != nil || n.operation != nil {
		return
	}
	for _, p := range n.parts {
		p.add()
		n.bytes += p.bytes * p.count
		n.seconds += float64(p.seconds * float64(p.count))
	}
}

// inputs returns the placements that the inputs have, results those of the results.
func (n *explained) inputs() string {
	list := make([]*mesh.Placed, len(n.operation.Inputs))
	for i, in := range n.operation.Inputs {
		list[i] = in.From
	}
	return shard.PlacementsOf(list)
}

func (n *explained) results() string { return shard.PlacementsOf(n.operation.Out) }

// write writes the lines of a node.
func (n *explained) write(s *strings.Builder, indent string, width int) {
	times := ""
	if n.count > 1 {
		times = fmt.Sprintf(" (%d times)", n.count)
	}
	switch {
	case n.isPart():
		writeFolded(s, indent, width, fmt.Sprintf("%s: %s", n.name, costs(n.bytes, n.seconds)))
		for _, p := range n.parts {
			p.write(s, indent+"  ", width)
		}
	case n.call != nil:
		writeFolded(s, indent, width, fmt.Sprintf("%s at %s in %s: %s%s", n.name, n.where, n.call.Group, costs(n.bytes, n.seconds), times))
	default:
		writeFolded(s, indent, width, fmt.Sprintf("%s at %s: %s -> %s%s", n.name, n.where, n.inputs(), n.results(), times))
		n.writeMoves(s, indent+"    ", width)
	}
}

// writeMoves writes what an operation moves, why, and what it could do instead.
func (n *explained) writeMoves(s *strings.Builder, indent string, width int) {
	o := n.operation
	if o.Exchange {
		writeFolded(s, indent, width, "the ranks exchange what each lacks of the result")
	}
	moved := false
	for _, in := range o.Inputs {
		if in.Plan == nil || len(in.Plan.Steps) == 0 {
			continue
		}
		moved = true
		for i := range in.Plan.Steps {
			step := &in.Plan.Steps[i]
			writeFolded(s, indent, width, fmt.Sprintf("moves %s, %s: %s %s", in.Name, in.What, stepText(step), mesh.List(step.Dst.Placements())))
		}
	}
	if !moved || o.Rows == 0 {
		return
	}
	writeFolded(s, indent, width, fmt.Sprintf("chosen of %d rows of the rule: %.3g us", o.Rows, o.Seconds*1e6))
	for _, other := range o.Others {
		writeFolded(s, indent, width, fmt.Sprintf("not %s -> %s: %.3g us", shard.PlacementsOf(other.In), shard.PlacementsOf(other.Out), other.Seconds*1e6))
	}
}

// writeFolded writes a line, folded where it is longer than width, if that is not 0.
func writeFolded(s *strings.Builder, indent string, width int, line string) {
	room := width - len(indent)
	for first := true; ; first = false {
		if !first {
			line, room = "  "+line, width-len(indent)
		}
		if width == 0 || room < 20 || len(line) <= room {
			s.WriteString(indent + line + "\n")
			return
		}
		cut := strings.LastIndexByte(line[:room+1], ' ')
		if cut <= 2 {
			cut = room
		}
		s.WriteString(indent + strings.TrimRight(line[:cut], " ") + "\n")
		line = strings.TrimLeft(line[cut:], " ")
	}
}

// values returns nodes as scripts have them.
func (x *explainer) values(nodes []*explained) []starlark.Value {
	list := make([]starlark.Value, len(nodes))
	for i, n := range nodes {
		d := starlark.StringDict{"bytes": starlark.MakeInt(n.bytes), "seconds": starlark.Float(n.seconds)}
		if n.isPart() {
			d["name"], d["parts"] = starlark.String(n.name), starlark.NewList(x.values(n.parts))
		} else {
			d["op"], d["where"], d["count"] = starlark.String(n.name), starlark.String(n.where), starlark.MakeInt(n.count)
			if n.call != nil {
				d["group"] = starlark.String(n.call.Group)
			} else {
				x.operationFields(d, n.operation)
			}
		}
		list[i] = builtins.NewStruct(d)
	}
	return list
}

// operationFields sets the fields that an operation has besides.
func (x *explainer) operationFields(d starlark.StringDict, o *shard.Explanation) {
	var inputs, moves, others []starlark.Value
	for _, in := range o.Inputs {
		inputs = append(inputs, placementTuple(x.env, in.From.Placements()))
		if in.Plan != nil && len(in.Plan.Steps) > 0 {
			fields := starlark.StringDict{"input": starlark.String(in.Name)}
			planStruct(x.env, in.Plan).ToStringDict(fields)
			moves = append(moves, builtins.NewStruct(fields))
		}
	}
	for _, other := range o.Others {
		others = append(others, builtins.NewStruct(starlark.StringDict{"inputs": x.layouts(other.In), "out": x.layouts(other.Out), "seconds": starlark.Float(other.Seconds)}))
	}
	d["inputs"], d["out"] = starlark.NewList(inputs), x.layouts(o.Out)
	d["moves"], d["alternatives"] = starlark.NewList(moves), starlark.NewList(others)
}

// layouts returns a list of placements, None for no tensor.
func (x *explainer) layouts(list []*mesh.Placed) starlark.Value {
	values := make([]starlark.Value, len(list))
	for i, l := range list {
		values[i] = starlark.None
		if l != nil {
			values[i] = placementTuple(x.env, l.Placements())
		}
	}
	return starlark.NewList(values)
}

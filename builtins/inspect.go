package builtins

import (
	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime"
)

// traced calls fn and returns what it communicated on this rank.
func (e *Env) traced(fn starlark.Callable) (starlark.Value, []*runtime.Record, error) {
	t := e.rank.StartTrace()
	defer e.rank.StopTrace(t)
	v, err := e.call(fn)
	return v, t.Records, err
}

func init() {
	register(&Row{
		Name: "comm_trace",
		Doc: "comm_trace(fn) returns a list of what fn() communicates on this rank, in order: a struct for each call.\n" +
			"They have op, group, bytes, wire_bytes, shape, dtype, seconds, predicted_seconds and where.\n" +
			">>> [c.op for c in comm_trace(lambda: all_reduce(ones(2)))]\n[\"all_reduce\"]",
		Fn: commTrace,
	}, &Row{
		Name: "comm_counts",
		Doc: "comm_counts(fn) returns a dict of how many calls of each operation fn() makes on this rank.\n" +
			">>> comm_counts(lambda: [barrier(), barrier()])\n{\"barrier\": 2}",
		Fn: commCounts,
	})
	for _, f := range []struct{ name, doc string }{
		{"op", "op is the name of the operation, as a script calls it.\n>>> comm_trace(barrier)[0].op\n\"barrier\""},
		{"group", "group is the group, as text.\n>>> comm_trace(barrier)[0].group\n\"world\""},
		{"bytes", "bytes is the payload that this rank put in: elements times item size, 0 where it only receives.\n>>> comm_trace(lambda: all_reduce(ones(2)))[0].bytes\n8"},
		{"wire_bytes", "wire_bytes is the payload that this rank sends to others in the message form of the operation.\n>>> comm_trace(barrier)[0].wire_bytes\n0"},
		{"shape", "shape is the shape of the tensor, as a tuple.\n>>> comm_trace(lambda: all_reduce(ones(2)))[0].shape\n(2,)"},
		{"dtype", "dtype is the dtype of the tensor, as text; \"object\" of values that are no tensors.\n>>> comm_trace(lambda: all_reduce(ones(2)))[0].dtype\n\"float32\""},
		{"seconds", "seconds is how long the call took here. It differs from one run to the next.\n>>> comm_trace(barrier)[0].seconds >= 0\nTrue"},
		{"predicted_seconds", "predicted_seconds is how long the call takes in the cost model.\n>>> comm_trace(barrier)[0].predicted_seconds > 0\nTrue"},
		{"where", "where is the line of the script, as text: \"file:line:col\".\n>>> type(comm_trace(barrier)[0].where)\n\"string\""},
	} {
		register(&Row{Name: "CommTrace." + f.name, Doc: f.doc})
	}
}

func commTrace(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn arg.Callable
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn); err != nil {
		return nil, err
	}
	_, records, err := e.traced(fn.Fn)
	if err != nil {
		return nil, err
	}
	list := make([]starlark.Value, len(records))
	for i, r := range records {
		list[i] = newStruct(starlark.StringDict{
			"op":                starlark.String(r.Op),
			"group":             starlark.String(r.Group),
			"bytes":             starlark.MakeInt(r.Bytes),
			"wire_bytes":        starlark.MakeInt(r.Wire),
			"shape":             shapeTuple(r.Shape),
			"dtype":             starlark.String(r.DType),
			"seconds":           starlark.Float(r.Seconds),
			"predicted_seconds": starlark.Float(r.Predicted),
			"where":             starlark.String(r.Where),
		})
	}
	return starlark.NewList(list), nil
}

func commCounts(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn arg.Callable
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn); err != nil {
		return nil, err
	}
	_, records, err := e.traced(fn.Fn)
	if err != nil {
		return nil, err
	}
	names, counts := countCalls(records)
	dict := starlark.NewDict(len(names))
	for _, name := range names {
		if err := dict.SetKey(starlark.String(name), starlark.MakeInt(counts[name])); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

// countCalls returns the operations among records, in the order of their first
// calls, and how many calls of each there are.
func countCalls(records []*runtime.Record) (names []string, counts map[string]int) {
	counts = map[string]int{}
	for _, r := range records {
		if counts[r.Op] == 0 {
			names = append(names, r.Op)
		}
		counts[r.Op]++
	}
	return names, counts
}

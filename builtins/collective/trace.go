package collective

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "comm_trace",
		Doc: "comm_trace(fn) returns a list of what fn() communicates on this rank, in order: a struct for each call.\n" +
			"They have op, group, dims, bytes, wire_bytes, shape, dtype, seconds, predicted_seconds,\n" +
			"where, forward_where, phase, region and module.\n" +
			">>> [c.op for c in comm_trace(lambda: all_reduce(ones(2)))]\n[\"all_reduce\"]",
		Fn: commTrace,
	}, &builtins.Row{
		Name: "comm_counts",
		Doc: "comm_counts(fn) returns a dict of how many calls of each operation fn() makes on this rank.\n" +
			">>> comm_counts(lambda: [barrier(), barrier()])\n{\"barrier\": 2}",
		Fn: commCounts,
	})
	for _, f := range []struct{ name, doc string }{
		{"op", "op is the name of the operation, as a script calls it.\n>>> comm_trace(barrier)[0].op\n\"barrier\""},
		{"group", "group is the Group of the ranks that the call joins.\n>>> comm_trace(barrier)[0].group.size() == world_size()\nTrue"},
		{"dims", "dims is the names of the mesh dims along which the group lies, as a tuple; () if it lies along none.\n" +
			">>> m = init_device_mesh(\"cpu\", (world_size(),), mesh_dim_names=(\"dp\",))\n>>> comm_trace(lambda: all_reduce(ones(2), group=m))[0].dims\n(\"dp\",)"},
		{"phase", "phase is the part of a step: \"forward\", \"backward\" or \"optimizer\".\n>>> comm_trace(barrier)[0].phase\n\"forward\""},
		{"region", "region is the names of the regions that the call is made in, joined by /.\n>>> comm_trace(lambda: region(\"load\", barrier))[0].region\n\"load\""},
		{"module", "module is the path of the module whose call the call is made in: \"layers.0.attn\"; of a call of a backward pass, where its forward was.\n>>> comm_trace(barrier)[0].module\n\"\""},
		{"forward_where", "forward_where is the line, as text, of what a call of a backward pass is the gradient of; \"\" of other calls.\n>>> comm_trace(barrier)[0].forward_where\n\"\""},
		{"bytes", "bytes is the payload that this rank put in: elements times item size, 0 where it only receives.\n>>> comm_trace(lambda: all_reduce(ones(2)))[0].bytes\n8"},
		{"wire_bytes", "wire_bytes is the payload that this rank sends to others in the message form of the operation.\n" +
			"Of a small tensor a rank sends all to every other at once, with what the call says: 1200 bytes of 400 on 4 ranks,\n" +
			"which is soonest done. Of a large one it sends shares: 600 kB of 400 kB on 4.\n>>> comm_trace(barrier)[0].wire_bytes\n0"},
		{"shape", "shape is the shape of the tensor, as a tuple.\n>>> comm_trace(lambda: all_reduce(ones(2)))[0].shape\n(2,)"},
		{"dtype", "dtype is the dtype of the tensor, as text; \"object\" of values that are no tensors.\n>>> comm_trace(lambda: all_reduce(ones(2)))[0].dtype\n\"float32\""},
		{"seconds", "seconds is how long the call took here. It differs from one run to the next.\n>>> comm_trace(barrier)[0].seconds >= 0\nTrue"},
		{"predicted_seconds", "predicted_seconds is how long the call takes in the cost model.\n>>> comm_trace(barrier)[0].predicted_seconds > 0\nTrue"},
		{"where", "where is the line of the script, as text: \"file:line:col\".\n>>> type(comm_trace(barrier)[0].where)\n\"string\""},
	} {
		builtins.Register(&builtins.Row{Name: "CommTrace." + f.name, Doc: f.doc})
	}
}

func commTrace(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn arg.Callable
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn); err != nil {
		return nil, err
	}
	_, records, err := builtins.Traced(e, fn.Fn)
	if err != nil {
		return nil, err
	}
	list := make([]starlark.Value, len(records))
	for i, r := range records {
		list[i] = builtins.NewStruct(starlark.StringDict{
			"op":                starlark.String(r.Op),
			"group":             &Group{e, r.On},
			"dims":              builtins.StringTuple(r.Dims),
			"phase":             starlark.String(r.Phase),
			"region":            starlark.String(r.Region),
			"module":            starlark.String(r.Module),
			"forward_where":     starlark.String(r.Forward),
			"bytes":             starlark.MakeInt(r.Bytes),
			"wire_bytes":        starlark.MakeInt(r.Wire),
			"shape":             builtins.ShapeTuple(r.Shape),
			"dtype":             starlark.String(r.DType),
			"seconds":           starlark.Float(r.Seconds),
			"predicted_seconds": starlark.Float(r.Predicted),
			"where":             starlark.String(r.Where),
		})
	}
	return starlark.NewList(list), nil
}

func commCounts(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var fn arg.Callable
	if err := arg.Unpack(b.Name(), args, kwargs, "fn", &fn); err != nil {
		return nil, err
	}
	_, records, err := builtins.Traced(e, fn.Fn)
	if err != nil {
		return nil, err
	}
	names, counts := builtins.CountCalls(records)
	dict := starlark.NewDict(len(names))
	for _, name := range names {
		if err := dict.SetKey(starlark.String(name), starlark.MakeInt(counts[name])); err != nil {
			return nil, err
		}
	}
	return dict, nil
}

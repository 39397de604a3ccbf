package collective

import (
	"errors"
	"strconv"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/object"
	"tpsh/runtime"
	"tpsh/runtime/op"
)

const docObject = "Objects are None, bools, numbers, strings, lists, tuples, and dicts whose keys are strings.\n"

func init() {
	builtins.Register(&builtins.Row{
		Name:         "broadcast_object",
		Communicates: true,
		Doc: "broadcast_object(obj, src=0, group=None) returns the obj of the member src, on every member. Those of the others do not matter.\n" +
			docObject + docGroup +
			">>> broadcast_object({\"lr\": 0.1}, src=0)\n{\"lr\": 0.1}",
		Fn: broadcastObject,
	}, &builtins.Row{
		Name:         "all_gather_object",
		Communicates: true,
		Doc: "all_gather_object(obj, group=None) returns the list of every member's obj, in rank order.\n" +
			docObject + docGroup +
			">>> all_gather_object(rank()) == list(range(world_size()))\nTrue",
		Fn: allGatherObject,
	}, &builtins.Row{
		Name:         "scatter_object",
		Communicates: true,
		Doc: "scatter_object(list, src=0, group=None) returns this member's object of the list of the member src, which has one for each. The lists of the others do not matter.\n" +
			docObject + docGroup +
			">>> scatter_object([\"rank %d\" % r for r in range(world_size())]) == \"rank %d\" % rank()\nTrue",
		Fn: scatterObject,
	})
}

// encode returns the bytes of v, the argument called param of fn.
func encode(fn, param string, v starlark.Value) ([]byte, error) {
	data, err := object.Append(nil, v, builtins.AppendUnknown)
	return data, builtins.BadObject(fn, param, err)
}

// encodeOf is encode of v, and of each rank's if they vary. Ranks whose bytes are not as many are told apart.
func encodeOf(e *builtins.Env, fn, param string, v starlark.Value) (own []byte, of func(rank int) []byte, err error) {
	v, on := builtins.Each(e, v)
	if on == nil {
		own, err = encode(fn, param, v)
		return own, nil, err
	}
	known := map[int][]byte{}
	runtime.Asked(e.Runtime, func(rank int) string {
		v, err := on(rank)
		if err == nil {
			known[rank], err = encode(fn, param, v)
		}
		if err != nil {
			return "! " + err.Error()
		}
		return strconv.Itoa(len(known[rank]))
	})
	own, err = encode(fn, param, v)
	return own, func(rank int) []byte { return known[rank] }, err
}

func broadcastObject(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		obj, group starlark.Value
		src        arg.Int
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "obj", &obj, "src?", &src, "group|parallel_mode??", &group); err != nil {
		return nil, err
	}
	g, err := groupWith(e, b.Name(), group, "src", int(src))
	if err != nil {
		return nil, err
	}
	data, of, ok := encodeOfSrc(e, g, int(src), b.Name(), obj)
	if !ok && isPlace(e, g, int(src)) {
		if data, of, err = encodeOf(e, b.Name(), "obj", obj); err != nil {
			return nil, err
		}
	}
	if data, err = e.Runtime.BroadcastObject(g, data, of, int(src)); err != nil {
		return nil, err
	}
	return object.DecodeWith(data, e.Hole)
}

// encodeOfSrc returns the bytes of v of a rank that is src in g, and which each has that is. It is not ok if they are
// not as many for all of these, and tells nobody apart.
func encodeOfSrc(e *builtins.Env, g *runtime.Group, src int, fn string, v starlark.Value) (own []byte, of func(rank int) []byte, ok bool) {
	on, ok := builtins.EachOf(e, v)
	if !ok {
		return nil, nil, false
	}
	place, known := e.Runtime.PlaceIn(g), map[int][]byte{}
	for _, rank := range e.Runtime.RunsFor() {
		if place(rank) != src {
			continue
		}
		v, err := on(rank)
		if err != nil {
			return nil, nil, false
		}
		data, err := encode(fn, "obj", v)
		if err != nil || own != nil && len(data) != len(own) {
			return nil, nil, false
		}
		own, known[rank] = data, data
	}
	if own == nil {
		return nil, nil, true
	}
	return own, func(rank int) []byte { return known[rank] }, true
}

func allGatherObject(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var obj, group starlark.Value
	if err := arg.Unpack(b.Name(), args, kwargs, "obj", &obj, "group|parallel_mode??", &group); err != nil {
		return nil, err
	}
	g, err := GroupOf(e, b.Name(), group)
	if err != nil {
		var bad *op.ArgError
		if errors.As(err, &bad) && bad.Rule == "" && builtins.IsList(obj) {
			bad.Rule = "all_gather_object returns the list of what members give: list = all_gather_object(obj)"
		}
		return nil, err
	}
	data, of, err := encodeOf(e, b.Name(), "obj", obj)
	if err != nil {
		return nil, err
	}
	all, err := e.Runtime.AllGatherObject(g, data, of)
	if err != nil {
		return nil, err
	}
	list := make([]starlark.Value, len(all))
	for i, data := range all {
		if list[i], err = object.DecodeWith(data, e.Hole); err != nil {
			return nil, err
		}
	}
	return starlark.NewList(list), nil
}

func scatterObject(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		list, group starlark.Value
		src         arg.Int
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "list", &list, "src?", &src, "group|parallel_mode??", &group); err != nil {
		return nil, err
	}
	g, err := groupWith(e, b.Name(), group, "src", int(src))
	if err != nil {
		return nil, err
	}
	var objs [][]byte
	if isPlace(e, g, int(src)) {
		if objs, err = encodeEach(b.Name(), list); err != nil {
			return nil, err
		}
	}
	data, err := e.Runtime.ScatterObject(g, objs, int(src))
	if err != nil {
		return nil, err
	}
	return object.DecodeWith(data, e.Hole)
}

// encodeEach returns the bytes of each element of list, the argument of fn.
func encodeEach(fn string, list starlark.Value) ([][]byte, error) {
	var items arg.List
	if err := arg.Set(fn, "list", &items, list); err != nil {
		return nil, err
	}
	objs := make([][]byte, len(items))
	for i, v := range items {
		data, err := encode(fn, "list", v)
		if err != nil {
			return nil, err
		}
		objs[i] = data
	}
	return objs, nil
}

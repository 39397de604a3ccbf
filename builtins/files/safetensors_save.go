package files

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/safetensors"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "save_safetensors",
		Doc: "save_safetensors(path, dict, metadata=None) writes a dict of names and tensors to a safetensors file, in place of what was there.\n" +
			"The order of the dict does not matter: what is equal is written alike. metadata is a dict of\n" +
			"strings. Who reads the file meanwhile finds the old one or the new one, whole.\n" + docPath +
			">>> path = tmpdir() + \"/x.safetensors\"\n" +
			">>> save_safetensors(path, {\"w\": ones(2, 3), \"b\": zeros(3, dtype=bfloat16)})\n" +
			">>> open_safetensors(path).keys()\n[\"b\", \"w\"]",
		Fn: saveSafetensors,
	})
}

// A namedValue is a tensor and its key in a dict of a script.
type namedValue struct {
	key string
	t   *tensor.Tensor
}

// tensorDict returns v, the argument dict of fn: a dict of names and tensors.
func tensorDict(fn string, v starlark.Value) ([]namedValue, error) {
	const want = "a dict of names and tensors"
	bad := func(got string) error { return &op.ArgError{Func: fn, Param: "dict", Got: got, Want: want} }
	d, ok := v.(*starlark.Dict)
	if !ok {
		return nil, bad(arg.Show(v))
	}
	list := make([]namedValue, 0, d.Len())
	for _, item := range d.Items() {
		key, ok := starlark.AsString(item[0])
		if !ok {
			return nil, bad("the key " + arg.Show(item[0]))
		}
		x, ok := item[1].(*builtins.Tensor)
		if !ok {
			return nil, bad(fmt.Sprintf("%s for %.60q", arg.Show(item[1]), key))
		}
		t, err := x.Tensor()
		if err != nil {
			return nil, err
		}
		if err := builtins.PlainOnly(fn, "dict", t); err != nil {
			return nil, err
		}
		list = append(list, namedValue{key, t.Detach()})
	}
	return list, nil
}

// textDict returns v, the argument called param of fn: a dict of strings, or
// None, for which it returns nil.
func textDict(fn, param string, v starlark.Value) (map[string]string, error) {
	bad := &op.ArgError{Func: fn, Param: param, Want: "a dict of strings or None"}
	d, ok := v.(*starlark.Dict)
	if !ok {
		bad.Got = arg.Show(v)
		return nil, bad
	}
	m := make(map[string]string, d.Len())
	for _, item := range d.Items() {
		key, isText := starlark.AsString(item[0])
		value, isTextToo := starlark.AsString(item[1])
		if !isText || !isTextToo {
			bad.Got = fmt.Sprintf("%s for %s", arg.Show(item[1]), arg.Show(item[0]))
			return nil, bad
		}
		m[key] = value
	}
	return m, nil
}

// stringDict returns m as a dict of a script, in the order of its keys.
func stringDict(m map[string]string) *starlark.Dict {
	d := starlark.NewDict(len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		// A fresh dict takes every string.
		_ = d.SetKey(starlark.String(key), starlark.String(m[key]))
	}
	return d
}

func saveSafetensors(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		path       arg.String
		dict, meta starlark.Value
		metadata   map[string]string
	)
	err := arg.Unpack(b.Name(), args, kwargs, "path", &path, "dict", &dict, "metadata??", &meta)
	if err != nil {
		return nil, err
	}
	values, err := tensorDict(b.Name(), dict)
	if err != nil {
		return nil, err
	}
	if meta != nil {
		if metadata, err = textDict(b.Name(), "metadata", meta); err != nil {
			return nil, err
		}
	}
	list, data := make([]*safetensors.Tensor, len(values)), make(map[string]*tensor.Tensor, len(values))
	for i, v := range values {
		if safetensorsTypes[v.t.DType()] == "" {
			return nil, &op.ArgError{Func: b.Name(), Param: "dict", Got: fmt.Sprintf("%s for %.60q", op.Describe(v.t), v.key), Want: "another dtype",
				Rule: "safetensors files have no " + v.t.DType().String() + ": save_npz writes it"}
		}
		list[i] = &safetensors.Tensor{Name: v.key, DType: safetensorsTypes[v.t.DType()], Shape: v.t.Shape()}
		data[v.key] = v.t
	}
	header, err := safetensors.AppendHeader(nil, list, metadata)
	if err != nil {
		return nil, &op.ArgError{Func: b.Name(), Param: "dict", Got: arg.Show(dict), Want: "what a safetensors file can hold", Rule: err.Error()}
	}
	if done, err := shadowWrite(e, b.Name(), string(path), &shadow{named: shadowNames(values), meta: metadata, text: string(header)}); done {
		return starlark.None, err
	}
	return starlark.None, write(e, b.Name(), string(path), func(w io.Writer) error {
		if _, err := w.Write(header); err != nil {
			return err
		}
		for _, t := range list {
			if err := writeElements(e, w, data[t.Name]); err != nil {
				return err
			}
		}
		return nil
	})
}

package nn

import (
	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Buffers are tensors that belong to the state of a module and are no parameters:
// the running mean of a BatchNorm.

// bufferKind returns the kind of a field that is a buffer.
func bufferKind(persistent bool) fieldKind {
	if persistent {
		return BufferField
	}
	return TransientField
}

// isBuffer reports whether a field of kind k is a buffer.
func (k fieldKind) isBuffer() bool { return k == BufferField || k == TransientField }

func init() {
	builtins.Register(
		&builtins.Row{Name: "nn.Buffer", Fn: newBuffer,
			Doc: "Buffer(data, persistent=True) returns a tensor on the storage of data that a module takes for a buffer when it is assigned.\n" +
				"A buffer is no parameter. It is in the module's state unless persistent is False.\n" +
				">>> m = nn.Identity()\n>>> m.scale = nn.Buffer(ones(2))\n>>> m.state_dict()\n{\"scale\": [1. 1.]}"},
		ModuleRow("register_buffer", "register_buffer(name, tensor, persistent=True) gives the module a buffer: a tensor, or None, that is in its state, unless persistent is False, and no parameter.\n"+
			">>> m = nn.Identity()\n>>> m.register_buffer(\"mean\", zeros(2))\n>>> m.mean\n[0. 0.]", registerBuffer),
		ModuleRow("named_buffers", "named_buffers(prefix=\"\", recurse=True) returns the buffers with their paths: a list of pairs, in the order of definition, each once.\n"+
			">>> [name for name, b in nn.Sequential(nn.BatchNorm1d(2)).named_buffers()]\n"+
			"[\"0.running_mean\", \"0.running_var\", \"0.num_batches_tracked\"]", namedTensors(findBuffers)),
		ModuleRow("buffers", "buffers(recurse=True) returns the buffers as a list, as named_buffers orders them.\n"+
			">>> [b.shape for b in nn.BatchNorm1d(2).buffers()]\n[(2,), (2,), ()]", listedTensors(findBuffers)),
		ModuleRow("get_buffer", "get_buffer(target) returns the buffer of a path.\n"+
			">>> nn.Sequential(nn.BatchNorm1d(2)).get_buffer(\"0.running_mean\")\n[0. 0.]", getBuffer),
	)
}

// findBuffers finds the buffers of m.
func findBuffers(_ *builtins.Env, m *Module, prefix string, recurse bool) []NamedTensor {
	return m.Buffers(prefix, recurse)
}

func newBuffer(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		data       builtins.OneTensor
		persistent = arg.Bool(true)
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "data", &data, "persistent?", &persistent); err != nil {
		return nil, err
	}
	x := e.Wrap(data.T.Detach())
	x.Buffered, x.Transient = true, !bool(persistent)
	return x, nil
}

func registerBuffer(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		name       arg.String
		v          starlark.Value
		persistent = arg.Bool(true)
	)
	if err := arg.Unpack(fn, args, kwargs, "name", &name, "tensor", &v, "persistent?", &persistent); err != nil {
		return nil, err
	}
	if err := m.MayChange(fn); err != nil {
		return nil, err
	}
	if _, ok := v.(*builtins.Tensor); !ok && v != starlark.None {
		return nil, arg.In(fn, "tensor", arg.Bad(v, "a tensor or None", ""))
	}
	if i, ok := m.at[string(name)]; ok && !m.Fields[i].Kind.isBuffer() {
		return nil, arg.In(fn, "name", arg.Bad(starlark.String(name), "another name", "the module has an attribute of that name"))
	}
	if err := m.assign(string(name), starlark.None); err != nil {
		return nil, arg.In(fn, "name", err)
	}
	m.Put(Field{string(name), bufferKind(bool(persistent)), v})
	return starlark.None, nil
}

// ownBuffers returns the buffers of m itself, at path: those that are persistent,
// or all.
func (m *Module) ownBuffers(path string, all bool) []NamedTensor {
	var list []NamedTensor
	for _, f := range m.Fields {
		if x, ok := f.Value.(*builtins.Tensor); ok && (f.Kind == BufferField || all && f.Kind == TransientField) {
			list = append(list, NamedTensor{builtins.JoinPath(path, f.Name), x})
		}
	}
	return list
}

// Buffers returns the buffers of m and, with recurse, of the modules below it,
// each once.
func (m *Module) Buffers(prefix string, recurse bool) []NamedTensor {
	return m.tensors(prefix, recurse, func(m *Module, path string) []NamedTensor { return m.ownBuffers(path, true) })
}

func getBuffer(_ *builtins.Env, fn string, m *Module, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	return named(fn, m.Buffers("", true), "a buffer", args, kwargs)
}

// named returns the one of list whose path is the argument target of fn.
func named(fn string, list []NamedTensor, what string, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var target arg.String
	if err := arg.Unpack(fn, args, kwargs, "target", &target); err != nil {
		return nil, err
	}
	paths := make([]string, len(list))
	for i, x := range list {
		if x.Path == string(target) {
			return x.X, nil
		}
		paths[i] = x.Path
	}
	return nil, arg.In(fn, "target", arg.Bad(starlark.String(target), "the path of "+what, "there are "+builtins.QuotedNames(paths)))
}

// buffer makes t, which nothing else has, the buffer called name.
func (mk *maker) buffer(name string, t *tensor.Tensor, err error) error {
	if err == nil {
		mk.m.Put(Field{name, BufferField, mk.m.env.Wrap(t)})
	}
	return err
}

// constantBuffer makes a buffer of one number: "zeros" or "ones".
func (mk *maker) constantBuffer(name, of string, s ...int) error {
	t, err := mk.create(of, shape.Shape(s))
	return mk.buffer(name, t, err)
}

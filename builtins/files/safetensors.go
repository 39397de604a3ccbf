package files

import (
	"fmt"
	goruntime "runtime"
	"slices"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/safetensors"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// safetensorsTypes gives the dtypes their names in safetensors files. Files
// are little-endian, as the machines are that tpsh runs on.
var safetensorsTypes = map[dtype.DType]safetensors.DType{
	dtype.Float32:  safetensors.F32,
	dtype.Float64:  safetensors.F64,
	dtype.Float16:  safetensors.F16,
	dtype.BFloat16: safetensors.BF16,
	dtype.Int64:    safetensors.I64,
	dtype.Int32:    safetensors.I32,
	dtype.Uint8:    safetensors.U8,
	dtype.Bool:     safetensors.Bool,
	dtype.Int16:    safetensors.I16,
	dtype.Int8:     safetensors.I8,
	dtype.Uint16:   safetensors.U16,
	dtype.Uint32:   safetensors.U32,
	dtype.Uint64:   safetensors.U64,

	dtype.Float8E4M3FN: safetensors.F8E4M3,
	dtype.Float8E5M2:   safetensors.F8E5M2,

	dtype.Complex64: safetensors.C64,
}

// A SafetensorsFile is an open safetensors file.
type SafetensorsFile struct {
	env  *builtins.Env
	path string // as the script wrote it
	f    *safetensors.File

	closed bool // by the script
}

var (
	_ starlark.HasAttrs = (*SafetensorsFile)(nil)
	_ arg.Described     = (*SafetensorsFile)(nil)
)

func (f *SafetensorsFile) String() string       { return fmt.Sprintf("SafetensorsFile(%q)", f.path) }
func (f *SafetensorsFile) Describe() string     { return f.String() }
func (f *SafetensorsFile) Type() string         { return "SafetensorsFile" }
func (f *SafetensorsFile) Freeze()              {} // it cannot be changed
func (f *SafetensorsFile) Truth() starlark.Bool { return true }
func (f *SafetensorsFile) Hash() (uint32, error) {
	return 0, builtins.Unhashable(f)
}
func (f *SafetensorsFile) AttrNames() []string { return builtins.AttrNames("SafetensorsFile") }
func (f *SafetensorsFile) Attr(name string) (starlark.Value, error) {
	return f.env.Attr("SafetensorsFile", f, name)
}

// docFile begins the examples of the methods of files.
const docFile = ">>> path = tmpdir() + \"/x.safetensors\"\n" +
	">>> save_safetensors(path, {\"w\": tensor([[1.0, 2.0], [3.0, 4.0]])}, metadata={\"step\": \"7\"})\n" +
	">>> f = open_safetensors(path)\n"

func init() {
	builtins.Register(&builtins.Row{
		Name: "open_safetensors",
		Doc: "open_safetensors(path) returns a safetensors file as a SafetensorsFile, which reads its tensors as they are asked for.\n" +
			"The file is checked when it is opened: no tensor lacks data, overlaps another or leaves a gap.\n" +
			"It is mapped into memory, and stays open until close(), or as long as the value is in use.\n" + docPath +
			docFile +
			">>> f.get(\"w\").tolist()\n[[1.0, 2.0], [3.0, 4.0]]",
		Fn: openSafetensors,
	}, &builtins.Row{
		Name: "SafetensorsFile",
		Doc:  "SafetensorsFile is the type of what open_safetensors returns.",
	}, &builtins.Row{
		Name: "SafetensorsFile.keys",
		Doc:  "keys() returns the list of the names of the tensors, ascending.\n" + docFile + ">>> f.keys()\n[\"w\"]",
		Fn:   safetensorsKeys,
	}, &builtins.Row{
		Name: "SafetensorsFile.metadata",
		Doc: "metadata() returns the strings that the file holds beside its tensors, as a dict, which may be empty.\n" +
			docFile + ">>> f.metadata()\n{\"step\": \"7\"}",
		Fn: safetensorsMetadata,
	}, &builtins.Row{
		Name: "SafetensorsFile.shape",
		Doc:  "shape(k) returns the shape of the tensor called k, a tuple.\n" + docFile + ">>> f.shape(\"w\")\n(2, 2)",
		Fn:   safetensorsShape,
	}, &builtins.Row{
		Name: "SafetensorsFile.dtype",
		Doc:  "dtype(k) returns the dtype of the tensor called k.\n" + docFile + ">>> f.dtype(\"w\")\nfloat32",
		Fn:   safetensorsDType,
	}, &builtins.Row{
		Name: "SafetensorsFile.get",
		Doc:  "get(k) returns the tensor called k: a copy of what is in the file.\n" + docFile + ">>> f.get(\"w\")[1].tolist()\n[3.0, 4.0]",
		Fn:   safetensorsGet,
	}, &builtins.Row{
		Name: "SafetensorsFile.get_slice",
		Doc: "get_slice(k, dim, start, stop) returns the indices start to stop of dim of the tensor called k, as x.narrow(dim, start, stop - start) does.\n" +
			"It reads them, and no other elements. start and stop lie between 0 and the size of dim.\n" +
			docFile + ">>> f.get_slice(\"w\", 1, 0, 1).tolist()\n[[1.0], [3.0]]",
		Fn: safetensorsGetSlice,
	}, &builtins.Row{
		Name: "SafetensorsFile.close",
		Doc: "close() closes the file. Its names, shapes and dtypes are still there; its elements can no longer be read. A file that\n" +
			"is closed already stays so.\n" +
			docFile + ">>> f.close()\n" +
			">>> f.keys()\n[\"w\"]",
		Fn: safetensorsClose,
	})
}

func openSafetensors(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var path arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "path", &path); err != nil {
		return nil, err
	}
	if s := shadowRead(e, string(path)); s != nil && s.named != nil {
		f, err := s.safetensors()
		return &SafetensorsFile{env: e, path: string(path), f: f}, err
	}
	file, err := open(e, b.Name(), string(path))
	if err != nil {
		return nil, err
	}
	f, err := safetensors.OpenFile(file)
	if err != nil {
		return nil, badFile(e, b.Name(), string(path), "a safetensors file", err)
	}
	return &SafetensorsFile{env: e, path: string(path), f: f}, nil
}

func safetensorsClose(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	f := b.Receiver().(*SafetensorsFile)
	if f.closed {
		return starlark.None, nil
	}
	f.closed = true
	if err := f.f.Close(); err != nil {
		return nil, &op.ResourceError{Func: b.Name(), Err: fmt.Errorf("%q: %s", f.path, pathless(err))}
	}
	return starlark.None, nil
}

func safetensorsKeys(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	return builtins.StringList(b.Receiver().(*SafetensorsFile).f.Names()), nil
}

func safetensorsMetadata(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	return stringDict(b.Receiver().(*SafetensorsFile).f.Metadata()), nil
}

func safetensorsShape(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	t, err := safetensorsKey(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	return builtins.ShapeTuple(t.Shape), nil
}

func safetensorsDType(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	t, err := safetensorsKey(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	dt, err := safetensorsType(b.Name(), t)
	return builtins.DtypeOf(dt), err
}

// safetensorsKey reads the arguments of a method that takes a key, and returns
// the tensor of the receiver that is called so.
func safetensorsKey(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (*safetensors.Tensor, error) {
	var key arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "k", &key); err != nil {
		return nil, err
	}
	return b.Receiver().(*SafetensorsFile).tensor(b.Name(), string(key))
}

// tensor returns the tensor called key, which is the argument k of fn.
func (f *SafetensorsFile) tensor(fn, key string) (*safetensors.Tensor, error) {
	if t := f.f.Tensor(key); t != nil {
		return t, nil
	}
	return nil, noKey(fn, "k", key, f.f.Names())
}

// safetensorsType returns the dtype of t, which the argument k of fn names.
func safetensorsType(fn string, t *safetensors.Tensor) (dtype.DType, error) {
	for dt, name := range safetensorsTypes {
		if t.DType == name {
			return dt, nil
		}
	}
	return 0, &op.ArgError{Func: fn, Param: "k", Got: arg.Show(starlark.String(t.Name)), Want: "a tensor of a dtype of the language",
		Rule: fmt.Sprintf("its elements are of type %s", t.DType)}
}

func safetensorsGet(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	t, err := safetensorsKey(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	f := b.Receiver().(*SafetensorsFile)
	return f.copy(b.Name(), t, t.Shape, func(dst []byte) error { return f.f.Read(dst, t) })
}

func safetensorsGetSlice(_ *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		key              arg.String
		dim, start, stop arg.Int
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "k", &key, "dim", &dim, "start", &start, "stop", &stop); err != nil {
		return nil, err
	}
	f := b.Receiver().(*SafetensorsFile)
	t, err := f.tensor(b.Name(), string(key))
	if err != nil {
		return nil, err
	}
	d, err := arg.Dim(b.Name(), "dim", int(dim), t.Shape)
	if err != nil {
		return nil, err
	}
	s := slices.Clone(t.Shape)
	if err := checkRange(b.Name(), int(start), int(stop), s[d], d, t); err != nil {
		return nil, err
	}
	s[d] = int(stop - start)
	return f.copy(b.Name(), t, s, func(dst []byte) error { return f.f.ReadSlice(dst, t, d, int(start), int(stop)) })
}

// checkRange checks that the arguments start and stop of fn are bounds of
// indices of dim of t, which has size of them.
func checkRange(fn string, start, stop, size, dim int, t *safetensors.Tensor) error {
	bad := &op.ArgError{Func: fn, Param: "start", Got: fmt.Sprint(start), Rule: fmt.Sprintf("dim %d of shape %v", dim, shape.Shape(t.Shape))}
	switch {
	case start < 0 || start > size:
		bad.Want = fmt.Sprintf("0..%d", size)
	case stop < start || stop > size:
		bad.Param, bad.Got, bad.Want = "stop", fmt.Sprint(stop), fmt.Sprintf("%d..%d", start, size)
	default:
		return nil
	}
	return bad
}

// copy returns a tensor of shape s and the dtype of t that read fills.
func (f *SafetensorsFile) copy(fn string, t *safetensors.Tensor, s shape.Shape, read func(dst []byte) error) (starlark.Value, error) {
	if f.closed {
		return nil, &op.ArgError{Func: fn, Got: "a file that was closed, " + f.String(), Want: "one that is open", Rule: "open_safetensors opens it again"}
	}
	dt, err := safetensorsType(fn, t)
	if err != nil {
		return nil, err
	}
	x, err := tensor.New(f.env.Runtime.Ops().Alloc, dt, s)
	if err != nil {
		return nil, &op.ResourceError{Func: fn, Err: err}
	}
	if x.Hollow() {
		return f.env.Wrap(x), nil
	}
	if err := read(x.Bytes()); err != nil {
		return nil, &op.ResourceError{Func: fn, Err: fmt.Errorf("%q of %q: %s", t.Name, f.path, pathless(err))}
	}
	mendBools(x)
	goruntime.KeepAlive(x)
	return f.env.Wrap(x), nil
}

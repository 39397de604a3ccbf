package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/npy"
	"tpsh/builtins/torchfile"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// npyTypes gives the dtypes that .npy files know their names there. What is
// written is little-endian, as the machines are that tpsh runs on.
var npyTypes = map[dtype.DType]string{
	dtype.Float16: "<f2",
	dtype.Float32: "<f4",
	dtype.Float64: "<f8",
	dtype.Int64:   "<i8",
	dtype.Int32:   "<i4",
	dtype.Uint8:   "|u1",
	dtype.Bool:    "|b1",
	dtype.Int16:   "<i2",
	dtype.Int8:    "|i1",
	dtype.Uint16:  "<u2",
	dtype.Uint32:  "<u4",
	dtype.Uint64:  "<u8",

	dtype.Complex64:  "<c8",
	dtype.Complex128: "<c16",
}

func init() {
	builtins.Register(&builtins.Row{
		Name: "load_npy",
		Doc: "load_npy(path) returns the tensor that a file of NumPy's format .npy holds.\n" +
			"Its dtype is one of float16, float32, float64, int8 to int64, uint8 to uint64, bool, complex64 and complex128. The order\n" +
			"of bytes may be either.\n" + docPath +
			">>> path = tmpdir() + \"/x.npy\"\n" +
			">>> save_npy(path, tensor([[1, 2], [3, 4]]))\n" +
			">>> load_npy(path).tolist()\n[[1, 2], [3, 4]]",
		Fn: loadNpy,
	}, &builtins.Row{
		Name: "save_npy",
		Doc: "save_npy(path, x) writes the tensor x to a file of NumPy's format .npy, in place of what was there.\n" +
			"Who reads it meanwhile finds the old file or the new one, whole. The format has no bfloat16 and no floats of 8 bits.\n" + docPath +
			">>> save_npy(tmpdir() + \"/x.npy\", ones(2, 3))",
		Fn: saveNpy,
	})
}

func loadNpy(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var path arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "path", &path); err != nil {
		return nil, err
	}
	if s := shadowRead(e, string(path)); s != nil && s.array != nil {
		x, err := s.array.make(e, b.Name())
		return e.Wrap(x), err
	}
	f, err := open(e, b.Name(), string(path))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := readNpy(e, f)
	if err != nil {
		return nil, badFile(e, b.Name(), string(path), "an .npy file", err)
	}
	return e.Wrap(x), nil
}

// badFile returns err as the error that the file at path, an argument of fn,
// is not what it should be. Errors of the machine stay what they are.
func badFile(e *builtins.Env, fn, path, want string, err error) error {
	switch err := err.(type) {
	case *op.ArgError, *op.ResourceError:
		return err
	case *os.PathError:
		return badPath(e, fn, path, err)
	}
	rule := err.Error()
	if kind := kindOfFile(e, path); kind != "" {
		rule = kind
	}
	return &op.ArgError{Func: fn, Param: "path", Got: starlark.String(path).String(), Want: want, Rule: rule}
}

// kindOfFile says what a file is that has the name of one of torch.save, which
// no function but load_checkpoint reads; it is empty where that is not known.
func kindOfFile(e *builtins.Env, path string) string {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".pt", ".pth", ".bin", ".ckpt":
	default:
		return ""
	}
	abs, err := absolute(e, path)
	if err != nil {
		return ""
	}
	f, err := folders(e).Open(abs)
	if err != nil {
		return ""
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return ""
	}
	switch _, err := torchfile.Open(f, info.Size()); {
	case errors.Is(err, torchfile.ErrAlien):
		return ""
	case err != nil:
		return err.Error()
	}
	return "it is a file of torch.save: load_checkpoint(path, state) reads it"
}

// readNpy reads an .npy file.
func readNpy(e *builtins.Env, f *os.File) (*tensor.Tensor, error) {
	h, err := npy.ReadHeader(f)
	if err != nil {
		return nil, err
	}
	dt, err := npyType(h)
	if err != nil {
		return nil, err
	}
	if err := checkLength(f, h, dt.Size()); err != nil {
		return nil, err
	}
	return readElements(e, "load_npy", f, h, dt)
}

// readElements reads the elements of the array that h says, of dt, for fn.
func readElements(e *builtins.Env, fn string, r io.Reader, h *npy.Header, dt dtype.DType) (*tensor.Tensor, error) {
	s := shape.Shape(h.Shape)
	if h.Fortran {
		s = slices.Clone(s)
		slices.Reverse(s)
	}
	x, err := tensor.New(e.Runtime.Ops().Alloc, dt, s)
	if err != nil {
		return nil, &op.ResourceError{Func: fn, Err: err}
	}
	if x.Hollow() {
		if _, err := io.CopyN(io.Discard, r, int64(len(x.Bytes()))); err != nil {
			return nil, err
		}
		return shaped(e, x, h)
	}
	if _, err := io.ReadFull(r, x.Bytes()); err != nil {
		return nil, err
	}
	h.ToLittle(x.Bytes(), dt.Size())
	mendBools(x)
	return shaped(e, x, h)
}

// shaped returns x, read in the order of an array that h says, as that array.
func shaped(e *builtins.Env, x *tensor.Tensor, h *npy.Header) (*tensor.Tensor, error) {
	if !h.Fortran || x.Ndim() < 2 {
		return x, nil
	}
	x, err := e.Runtime.Do("T", []*tensor.Tensor{x})
	if err != nil {
		return nil, err
	}
	return e.Runtime.Do("contiguous", []*tensor.Tensor{x})
}

// mendBools makes the bools of x, whose bytes come from a file, 0 or 1, as
// tensors have them.
func mendBools(x *tensor.Tensor) {
	if x.DType() != dtype.Bool || x.Hollow() {
		return
	}
	data := x.Bytes()
	for i, v := range data {
		if v != 0 {
			data[i] = 1
		}
	}
	goruntime.KeepAlive(x)
}

// npyType returns the dtype of the elements of a file with the header h.
func npyType(h *npy.Header) (dtype.DType, error) {
	for dt, name := range npyTypes {
		if h.Type() == name[1:] {
			return dt, nil
		}
	}
	return 0, fmt.Errorf("it holds elements of type %q", h.Descr)
}

// checkLength returns an error unless f, which is behind the header h, goes on
// with all elements, size bytes each.
func checkLength(f *os.File, h *npy.Header, size int) error {
	if err := shape.Shape(h.Shape).Check(size); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	want := int64(shape.Shape(h.Shape).Numel() * size)
	if have := info.Size() - at; have < want {
		return fmt.Errorf("it has %d bytes of elements, and its header says %d", have, want)
	}
	return nil
}

func saveNpy(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		path arg.String
		v    starlark.Value
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "path", &path, "x|tensor", &v); err != nil {
		return nil, err
	}
	x, err := e.TensorArg(b.Name(), "x", v)
	if err != nil {
		return nil, err
	}
	if err := builtins.PlainOnly(b.Name(), "x", x); err != nil {
		return nil, err
	}
	descr, ok := npyTypes[x.DType()]
	if !ok {
		return nil, &op.ArgError{Func: b.Name(), Param: "x", Got: op.Describe(x), Want: "another dtype", Rule: ".npy files have no " + x.DType().String() + ": save x.to(float32)"}
	}
	one := shadowOf("", x)
	if done, err := shadowWrite(e, b.Name(), string(path), &shadow{array: &one}); done {
		return starlark.None, err
	}
	err = write(e, b.Name(), string(path), func(w io.Writer) error { return writeNpy(e, w, descr, x.Detach()) })
	return starlark.None, err
}

// writeNpy writes x as an .npy file, which calls its dtype descr.
func writeNpy(e *builtins.Env, w io.Writer, descr string, x *tensor.Tensor) error {
	h := npy.Header{Descr: descr, Shape: x.Shape()}
	if _, err := w.Write(h.Append(nil)); err != nil {
		return err
	}
	return writeElements(e, w, x)
}

// writeElements writes the elements of x, in row-major order.
func writeElements(e *builtins.Env, w io.Writer, x *tensor.Tensor) error {
	x, err := e.Runtime.Do("contiguous", []*tensor.Tensor{x})
	if err != nil {
		return err
	}
	defer goruntime.KeepAlive(x)
	_, err = w.Write(x.Bytes())
	return err
}

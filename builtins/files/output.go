package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	goruntime "runtime"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/dtensor"
	"tpsh/builtins/safetensors"
	"tpsh/builtins/sandbox"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func init() {
	builtins.Register(&builtins.Row{
		Name: "output",
		Doc: "output(name, x) hands x to whoever has started the script: it prints it or, under `tpsh run --out DIR`, writes it to a file.\n" +
			"x is a tensor, a number, or nested lists of numbers. A distributed tensor is handed over whole: it is gathered, so\n" +
			"all ranks of its mesh call output, and the first of them writes DIR/NAME.safetensors. Of any other tensor every\n" +
			"rank that calls writes its own, DIR/NAME.rank0.safetensors and so on. name may have folders in it, as \"step3/loss\".\n" +
			"Of several values of one name the last counts.\n" +
			">>> output(\"loss\", 0.5)\nloss = 0.5 dtype=float64",
		Fn: outputCall,
	})
}

// longestName is the length of the longest name of an output, in bytes: folders and
// ranks come on top, and file systems allow 255 a part.
const longestName = 200

func outputCall(e *builtins.Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		name arg.String
		v    starlark.Value
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "name", &name, "x", &v); err != nil {
		return nil, err
	}
	if rule := badOutputName(string(name)); rule != "" {
		return nil, &op.ArgError{Func: b.Name(), Param: "name", Got: arg.Show(starlark.String(name)), Want: "a name of a file", Rule: rule}
	}
	x, err := outputValue(e, b.Name(), v)
	if err != nil {
		return nil, err
	}
	if e.Options.Out == "" {
		builtins.Say(thread, string(name)+" = "+x.String())
		return starlark.None, nil
	}
	whole, t, err := outputWhole(x, b.Name())
	if err != nil || t == nil || e.Planning() {
		return starlark.None, err
	}
	return starlark.None, writeOutput(e, b.Name(), string(name), whole, t)
}

// badOutputName says what is wrong with the name of an output; "" if nothing is.
func badOutputName(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > longestName:
		return fmt.Sprintf("it has %d bytes, more than %d", len(name), longestName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return "it has characters that files cannot have"
	case !filepath.IsLocal(name) || path.Clean(name) != name || strings.Contains(name, `\`) || name == ".":
		return "it leads elsewhere, or is not written plainly, as \"step3/loss\""
	}
	return ""
}

// outputValue returns v as a tensor: itself, or one of the numbers in it. A float is
// a float64, so that nothing of it is lost.
func outputValue(e *builtins.Env, fn string, v starlark.Value) (*builtins.Tensor, error) {
	if x, ok := v.(*builtins.Tensor); ok {
		return x, nil
	}
	if _, ok := v.(starlark.String); ok {
		return nil, &op.ArgError{Func: fn, Param: "x", Got: arg.Show(v), Want: "a tensor, a number or lists of numbers", Rule: "text is for print and write_text"}
	}
	var dt arg.OptDType
	if _, ok := v.(starlark.Float); ok {
		dt = arg.OptDType{V: arg.DType{D: dtype.Float64}, Set: true}
	}
	t, err := builtins.FromNested(e, v, dt)
	if err != nil {
		return nil, arg.In(fn, "x", err)
	}
	return e.Wrap(t), nil
}

// outputWhole returns what this rank writes of x: nil if another rank does. whole is
// true if ranks hold x together.
func outputWhole(x *builtins.Tensor, fn string) (whole bool, _ *tensor.Tensor, _ error) {
	flat, local, err := dtensor.FlatStored(x, fn)
	if err != nil {
		return false, nil, err
	}
	if flat != nil {
		return false, local.Detach(), nil // its gather is a method, and of its own kind
	}
	t, err := x.Tensor()
	if err != nil {
		return false, nil, err
	}
	t = t.Detach()
	if !t.Placed() {
		return false, t, nil
	}
	m := t.Layout().Mesh()
	t, err = x.Env.Runtime.Shard.Full(fn, t, nil)
	if err != nil || !x.Env.Runtime.FirstOf(m) {
		return true, nil, err
	}
	return true, t, nil
}

// writeOutput writes t under its name into the folder of outputs.
func writeOutput(e *builtins.Env, fn, name string, whole bool, t *tensor.Tensor) error {
	file := name
	if !whole {
		file += fmt.Sprintf(".rank%d", e.Runtime.ID())
	}
	kind, ok := safetensorsTypes[t.DType()]
	if !ok {
		return &op.ArgError{Func: fn, Param: "x", Got: op.Describe(t), Want: "a dtype that safetensors files have"}
	}
	header, err := safetensors.AppendHeader(nil, []*safetensors.Tensor{{Name: name, DType: kind, Shape: t.Shape()}}, nil)
	if err == nil {
		t, err = e.Runtime.Do("contiguous", []*tensor.Tensor{t})
	}
	if err == nil {
		err = writeOutputFile(e, name, file+".safetensors", whole, header, t)
	}
	if err != nil {
		return &op.ResourceError{Func: fn, Err: fmt.Errorf("%s in %s: %s", file, e.Options.Out, pathless(err))}
	}
	return nil
}

// writeOutputFile makes header and the elements of t, which lie one after the other,
// the file of outputs.
func writeOutputFile(e *builtins.Env, name, file string, whole bool, header []byte, t *tensor.Tensor) error {
	defer goruntime.KeepAlive(t)
	root, err := sandbox.Folders{e.Options.Out}.OpenFolder(e.Options.Out, true)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.MkdirAll(path.Dir(file), 0o755); err != nil {
		return err
	}
	if h := handedOf(e); h != nil && len(t.Bytes()) >= leastHanded {
		return h.write(root, name, file, header, t, !whole)
	}
	return replaceFile(root, file, func(draft string) error {
		f, err := root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		if err != nil {
			return err
		}
		return writeParts(f, header, t.Bytes())
	})
}

// writeParts writes parts to f one after the other, and closes it.
func writeParts(f *os.File, parts ...[]byte) (err error) {
	for _, part := range parts {
		if err == nil {
			_, err = f.Write(part)
		}
	}
	return errors.Join(err, f.Close())
}

// replaceFile has put make a draft, and makes that the file of root, in place of the
// one that is there. It does not wait until the disk has it: results can be computed
// again.
func replaceFile(root *os.Root, file string, put func(draft string) error) error {
	folder, base := path.Split(file)
	draft := folder + "." + base
	err := root.Remove(draft)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = put(draft)
	}
	if err == nil {
		err = root.Rename(draft, file)
	}
	if err != nil {
		root.Remove(draft)
	}
	return err
}

package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"strconv"
	"strings"
	"unicode"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins"
	"tpsh/builtins/npy"
	"tpsh/builtins/safetensors"
	"tpsh/internal/lazyregexp"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() { builtins.RegisterInputs(readInputs) }

// An input is a file of the folder of inputs, which stands for a name of programs: of all ranks, or, where its
// name ends in .rank and a number, as output writes, of one.
type input struct {
	name, path string
	rank       int // everyone for all
}

const everyone = -1

// inputKinds are the endings of files that are inputs, and what reads them.
var inputKinds = map[string]func(e *builtins.Env, in input) (starlark.Value, error){
	".safetensors": readTensorInput,
	".npy":         readArrayInput,
	".json":        readJSONInput,
}

// CheckInputs returns what is wrong with dir as a folder of inputs of so many ranks: a file
// whose name no program can write, a name that two files have, one of which some ranks have
// a file and others none, a file that does not hold what its ending says. It reads no elements.
func CheckInputs(dir string, ranks int) error {
	list, err := listInputs(dir)
	if err != nil {
		return err
	}
	type key struct {
		name string
		rank int
	}
	seen, counts := map[key]string{}, map[string]int{}
	for _, in := range list {
		file := filepath.Base(in.path)
		if !isName(in.name) {
			return fmt.Errorf("%s: want a file whose name, without its ending, is one of a variable", file)
		}
		for _, k := range []key{{in.name, in.rank}, {in.name, everyone}} {
			if other := seen[k]; other != "" {
				return fmt.Errorf("%s and %s both stand for %s", other, file, in.name)
			}
		}
		seen[key{in.name, in.rank}] = file
		if in.rank == everyone && counts[in.name] > 0 {
			return fmt.Errorf("%s and files of ranks both stand for %s", file, in.name)
		}
		if in.rank >= ranks {
			return fmt.Errorf("%s: want files of ranks 0 to %d, for that many run", file, ranks-1)
		}
		if in.rank != everyone {
			counts[in.name]++
		}
		if err := checkInput(in.path); err != nil {
			return fmt.Errorf("%s: %s", file, pathless(err))
		}
	}
	for _, in := range list {
		if in.rank != everyone && counts[in.name] < ranks {
			return fmt.Errorf("%s: got files of %d ranks, want one of each of the %d that run", in.name, counts[in.name], ranks)
		}
	}
	return nil
}

// rankOf is how files are called that are one rank's.
var rankOf = lazyregexp.New(`^(.+)\.rank([0-9]{1,9})$`)

// listInputs returns the inputs in dir, by the names of their files.
func listInputs(dir string) ([]input, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var list []input
	for _, entry := range entries {
		ext := filepath.Ext(entry.Name())
		if _, ok := inputKinds[ext]; ok && !strings.HasPrefix(entry.Name(), ".") {
			in := input{strings.TrimSuffix(entry.Name(), ext), filepath.Join(dir, entry.Name()), everyone}
			if m := rankOf.Get().FindStringSubmatch(in.name); m != nil {
				in.name = m[1]
				in.rank, _ = strconv.Atoi(m[2]) // a few digits
			}
			list = append(list, in)
		}
	}
	return list, nil
}

// isName reports whether a program can have a variable of that name.
func isName(name string) bool {
	for i, c := range name {
		if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c)) {
			return false
		}
	}
	_, err := (&syntax.FileOptions{}).ParseExpr("", name, 0)
	return name != "" && err == nil
}

// checkInput reads the header of an input.
func checkInput(path string) error {
	f, err := openInput(path)
	if err != nil {
		return err
	}
	switch filepath.Ext(path) {
	case ".safetensors":
		file, err := safetensors.OpenFile(f)
		if err != nil {
			return err
		}
		defer file.Close()
		for _, name := range file.Names() {
			if _, err := dtypeOf(file.Tensor(name)); err != nil {
				return err
			}
		}
		return nil
	case ".npy":
		defer f.Close()
		_, _, err := arrayHeader(f)
		return err
	}
	return f.Close()
}

// openInput opens a regular file: others may block whoever opens them.
func openInput(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("want a regular file")
	}
	return os.Open(path)
}

// readInputs returns the values of the names that the files of Options.In stand for. A name
// whose file cannot be read is there, too.
func readInputs(e *builtins.Env) (starlark.StringDict, error) {
	list, err := listInputs(e.Options.In)
	if err != nil {
		return nil, inputError(filepath.Base(e.Options.In), err)
	}
	names := starlark.StringDict{}
	rank, _ := e.Rank()
	for _, in := range list {
		if in.rank != everyone && in.rank != rank {
			continue
		}
		v, bad := inputKinds[filepath.Ext(in.path)](e, in)
		if bad != nil {
			v = starlark.None
			if err == nil {
				err = inputError(filepath.Base(in.path), bad)
			}
		}
		names[in.name] = v
	}
	return names, err
}

// inputError says that an input cannot be had; an error of memory stays what it is.
func inputError(file string, err error) error {
	var m *tensor.MemoryError
	if errors.As(err, &m) {
		return &op.ResourceError{Func: "--in", Err: fmt.Errorf("%s: %w", file, m)}
	}
	return &op.ResourceError{Func: "--in", Err: fmt.Errorf("%s: %s", file, pathless(err))}
}

// readTensorInput returns the tensor of a safetensors file that is called as the file,
// if that is all it holds, or else a dict of its tensors by name.
func readTensorInput(e *builtins.Env, in input) (starlark.Value, error) {
	f, err := openInput(in.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := safetensors.Open(f, info.Size())
	if err != nil {
		return nil, err
	}
	all := starlark.NewDict(len(file.Names()))
	for _, name := range file.Names() {
		t := file.Tensor(name)
		dt, err := dtypeOf(t)
		if err != nil {
			return nil, err
		}
		alone := name == in.name && len(file.Names()) == 1
		x, err := elementsOf(e, f, file.Offset(t), dt, t.Shape, alone)
		if err != nil {
			return nil, err
		}
		if alone {
			return e.Wrap(x), nil
		}
		if err := all.SetKey(starlark.String(name), e.Wrap(x)); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// dtypeOf returns the dtype of a tensor of a file.
func dtypeOf(t *safetensors.Tensor) (dtype.DType, error) {
	for dt, name := range safetensorsTypes {
		if t.DType == name {
			return dt, nil
		}
	}
	return 0, fmt.Errorf("tensor %.60q has elements of type %s, which no tensor has", t.Name, t.DType)
}

// readArrayInput returns the tensor of an .npy file.
func readArrayInput(e *builtins.Env, in input) (starlark.Value, error) {
	f, err := openInput(in.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h, dt, err := arrayHeader(f)
	if err != nil {
		return nil, err
	}
	if h.Fortran && len(h.Shape) > 1 || h.BigEndian() {
		x, err := readElements(e, "--in", f, h, dt)
		return e.Wrap(x), err
	}
	at, err := f.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	x, err := elementsOf(e, f, at, dt, h.Shape, false)
	if err != nil {
		return nil, err
	}
	return e.Wrap(x), nil
}

// arrayHeader reads the header of an .npy file.
func arrayHeader(f *os.File) (*npy.Header, dtype.DType, error) {
	h, err := npy.ReadHeader(f)
	if err != nil {
		return nil, 0, err
	}
	dt, err := npyType(h)
	if err != nil {
		return nil, 0, err
	}
	return h, dt, checkLength(f, h, dt.Size())
}

// readJSONInput returns what a file of JSON holds: a value of the rank's own.
func readJSONInput(e *builtins.Env, in input) (starlark.Value, error) {
	f, err := openInput(in.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return nil, err
	}
	return starlark.Call(new(starlark.Thread), json.Module.Members["decode"], starlark.Tuple{starlark.String(text)}, nil)
}

// elementsOf returns a tensor of the elements that lie in f from byte at on. A large one
// is the file itself, mapped into memory once for all ranks of a process, until it is
// changed; the file must not become shorter meanwhile. alone says that the file is an
// input that holds nothing else.
func elementsOf(e *builtins.Env, f *os.File, at int64, dt dtype.DType, s shape.Shape, alone bool) (*tensor.Tensor, error) {
	if err := s.Check(dt.Size()); err != nil {
		return nil, err
	}
	alloc, size := e.Runtime.Ops().Alloc, s.Numel()*dt.Size()
	if mappable && !alloc.Hollow() && size >= alloc.Large && at%int64(dt.Size()) == 0 && dt != dtype.Bool {
		buf, err := alloc.Lend(fmt.Sprintf("%s@%d", f.Name(), at), func() ([]byte, func(), error) { return mapPart(f, at, size) })
		if err == nil {
			x := tensor.NewOn(buf, dt, s)
			if alone && size >= leastHanded {
				handedOf(e).noteInput(f.Name(), x)
			}
			return x, nil
		}
		if errors.As(err, new(*tensor.MemoryError)) {
			return nil, err
		}
	}
	x, err := tensor.New(alloc, dt, s)
	if err != nil || x.Hollow() {
		return x, err
	}
	if _, err := f.ReadAt(x.Bytes(), at); err != nil && (err != io.EOF || size > 0) {
		return nil, err
	}
	mendBools(x)
	goruntime.KeepAlive(x)
	return x, nil
}

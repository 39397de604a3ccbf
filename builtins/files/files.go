package files

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/builtins/sandbox"
	"tpsh/runtime/op"
)

// scriptDirKey is the thread local that holds the path of the script's folder.
const scriptDirKey = "tpsh.script_dir"

const docPath = "path is relative to the script's folder. It leads into that folder, the working folder, one of tmpdir\nor one that --allow names.\n"

func init() {
	builtins.Register(&builtins.Row{
		Name: "read_text",
		Doc: "read_text(path) returns what a file holds, as a string.\n" + docPath +
			">>> path = tmpdir() + \"/note.txt\"\n" +
			">>> write_text(path, \"hello\")\n" +
			">>> read_text(path)\n\"hello\"",
		Fn: readText,
	}, &builtins.Row{
		Name: "write_text",
		Doc: "write_text(path, text) writes a file that holds text, in place of what was there.\n" +
			"Who reads it meanwhile finds the old file or the new one, whole.\n" + docPath +
			">>> write_text(tmpdir() + \"/note.txt\", \"hello\")",
		Fn: writeText,
	}, &builtins.Row{
		Name: "tmpdir",
		Doc: "tmpdir() returns the path of a fresh folder, which is removed after the run or test.\n" +
			"The n-th call gives the same folder on all ranks.\n" +
			">>> len(set(all_gather_object(tmpdir())))\n1",
		Fn: tmpdir,
	})
}

// folders returns those in which the program may read and write.
func folders(e *builtins.Env) sandbox.Folders {
	list := namedFolders(e)
	for _, dir := range []string{e.Options.Scratch, e.Options.Resume} {
		if dir != "" {
			list = append(list, dir)
		}
	}
	return list
}

// namedFolders returns the script's folder, the working folder, and those that
// the user has named.
func namedFolders(e *builtins.Env) sandbox.Folders {
	var list sandbox.Folders
	for _, dir := range append([]string{scriptDir(e), "."}, e.Options.Allow...) {
		if abs, err := filepath.Abs(dir); err == nil && !slices.Contains(list, abs) {
			list = append(list, abs)
		}
	}
	return list
}

// scriptDir returns the script's folder, or the working folder if there is no
// script.
func scriptDir(e *builtins.Env) string {
	if dir, ok := e.Thread.Local(scriptDirKey).(string); ok {
		return dir
	}
	return "."
}

// absolute returns path, of a script, as an absolute path.
func absolute(e *builtins.Env, path string) (string, error) {
	if path == "" {
		return "", errors.New("it is empty")
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	return filepath.Abs(filepath.Join(scriptDir(e), path))
}

// open opens the file at path, an argument of fn, for reading.
func open(e *builtins.Env, fn, path string) (*os.File, error) {
	abs, err := absolute(e, path)
	if err != nil {
		return nil, badPath(e, fn, path, err)
	}
	if err := checkShadow(e, fn, path); err != nil {
		return nil, err
	}
	f, err := folders(e).Open(abs)
	if err != nil {
		return nil, badPath(e, fn, path, err)
	}
	return f, nil
}

// openText opens the text at path, an argument of fn, for reading: the file, or what a
// plan has noted there.
func openText(e *builtins.Env, fn, path string) (io.ReadCloser, error) {
	if s := shadowRead(e, path); s != nil {
		return io.NopCloser(strings.NewReader(s.text)), nil
	}
	return open(e, fn, path)
}

// write lets write write the file at path, an argument of fn.
func write(e *builtins.Env, fn, path string, write func(w io.Writer) error) error {
	abs, err := absolute(e, path)
	if err == nil {
		err = folders(e).Write(abs, write)
	}
	return badPath(e, fn, path, err)
}

// badPath returns err, the reason why the file at path cannot be used, as an
// error about that argument of fn. A lack of memory on the way stays what it is.
func badPath(e *builtins.Env, fn, path string, err error) error {
	if err == nil {
		return nil
	}
	if short := (*op.ResourceError)(nil); errors.As(err, &short) {
		return short
	}
	bad := &op.ArgError{Func: fn, Param: "path", Got: starlark.String(path).String(), Want: "a file that can be used", Rule: pathless(err)}
	var outside *sandbox.OutsideError
	switch {
	case errors.As(err, &outside):
		bad.Want = "a path inside " + strings.Join(namedFolders(e), " or ")
		bad.Rule = "it leads to " + outside.Path + "; --allow DIR allows another folder"
	case errors.Is(err, fs.ErrNotExist):
		bad.Want, bad.Rule = "a file that is there", "there is no such file or folder"
	}
	return bad
}

// noKey returns the error that the argument param of fn names a key that a file does not
// have, which has those in there.
func noKey(fn, param, key string, there []string) error {
	return &op.ArgError{Func: fn, Param: param, Got: arg.Show(starlark.String(key)), Want: "a key of the file", Rule: arg.Nearest(key, there)}
}

// pathless returns the text of err without the path that the error knows.
func pathless(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// readAll returns what is in the file at path, for the function name.
func readAll(e *builtins.Env, name, path string) ([]byte, error) {
	f, err := openText(e, name, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, badPath(e, name, path, err)
	}
	return data, nil
}

func readText(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var path arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "path", &path); err != nil {
		return nil, err
	}
	data, err := readAll(e, b.Name(), string(path))
	if err != nil {
		return nil, err
	}
	return starlark.String(data), nil
}

func writeText(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var path, text arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "path", &path, "text", &text); err != nil {
		return nil, err
	}
	if done, err := shadowWrite(e, b.Name(), string(path), &shadow{text: string(text)}); done {
		return starlark.None, err
	}
	return starlark.None, write(e, b.Name(), string(path), func(w io.Writer) error {
		_, err := io.WriteString(w, string(text))
		return err
	})
}

// tmpDirs is how many folders tmpdir has given the program.
type tmpDirs struct{ n int }

func tmpdir(e *builtins.Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	if e.Options.Scratch == "" {
		return nil, &op.ResourceError{Func: b.Name(), Err: errors.New("there are no temporary folders here")}
	}
	given := builtins.StateOf[tmpDirs](e)
	dir := filepath.Join(e.Options.Scratch, strconv.Itoa(given.n+1))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &op.ResourceError{Func: b.Name(), Err: err}
	}
	given.n++
	return starlark.String(dir), nil
}

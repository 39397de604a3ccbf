package builtins

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

	"tpsh/builtins/arg"
	"tpsh/builtins/sandbox"
	"tpsh/runtime/op"
)

// scriptDirKey is the thread local that holds the path of the script's folder.
const scriptDirKey = "tpsh.script_dir"

const docPath = "path is relative to the script's folder. It leads into that folder, the working folder, one of tmpdir\nor one that --allow names.\n"

func init() {
	register(&Row{
		Name: "read_text",
		Doc: "read_text(path) returns what a file holds, as a string.\n" + docPath +
			">>> path = tmpdir() + \"/note.txt\"\n" +
			">>> write_text(path, \"hello\")\n" +
			">>> read_text(path)\n\"hello\"",
		Fn: readText,
	}, &Row{
		Name: "write_text",
		Doc: "write_text(path, text) writes a file that holds text, in place of what was there.\n" +
			"Who reads it meanwhile finds the old file or the new one, whole.\n" + docPath +
			">>> write_text(tmpdir() + \"/note.txt\", \"hello\")",
		Fn: writeText,
	}, &Row{
		Name: "tmpdir",
		Doc: "tmpdir() returns the path of a fresh folder, which is removed after the run or test.\n" +
			"The n-th call gives the same folder on all ranks.\n" +
			">>> len(set(all_gather_object(tmpdir())))\n1",
		Fn: tmpdir,
	})
}

// folders returns those in which the program may read and write.
func (e *Env) folders() sandbox.Folders {
	list := e.namedFolders()
	for _, dir := range []string{e.opts.Scratch, e.opts.Resume} {
		if dir != "" {
			list = append(list, dir)
		}
	}
	return list
}

// namedFolders returns the script's folder, the working folder, and those that
// the user has named.
func (e *Env) namedFolders() sandbox.Folders {
	var list sandbox.Folders
	for _, dir := range append([]string{e.scriptDir(), "."}, e.opts.Allow...) {
		if abs, err := filepath.Abs(dir); err == nil && !slices.Contains(list, abs) {
			list = append(list, abs)
		}
	}
	return list
}

// scriptDir returns the script's folder, or the working folder if there is no
// script.
func (e *Env) scriptDir() string {
	if dir, ok := e.thread.Local(scriptDirKey).(string); ok {
		return dir
	}
	return "."
}

// absolute returns path, of a script, as an absolute path.
func (e *Env) absolute(path string) (string, error) {
	if path == "" {
		return "", errors.New("it is empty")
	}
	if filepath.IsAbs(path) {
		return path, nil
	}
	return filepath.Abs(filepath.Join(e.scriptDir(), path))
}

// open opens the file at path, an argument of fn, for reading.
func (e *Env) open(fn, path string) (*os.File, error) {
	abs, err := e.absolute(path)
	if err != nil {
		return nil, e.badPath(fn, path, err)
	}
	f, err := e.folders().Open(abs)
	if err != nil {
		return nil, e.badPath(fn, path, err)
	}
	return f, nil
}

// write lets write write the file at path, an argument of fn.
func (e *Env) write(fn, path string, write func(w io.Writer) error) error {
	abs, err := e.absolute(path)
	if err == nil {
		err = e.folders().Write(abs, write)
	}
	return e.badPath(fn, path, err)
}

// badPath returns err, the reason why the file at path cannot be used, as an
// error about that argument of fn. A lack of memory on the way stays what it is.
func (e *Env) badPath(fn, path string, err error) error {
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
		bad.Want = "a path inside " + strings.Join(e.namedFolders(), " or ")
		bad.Rule = "it leads to " + outside.Path + "; --allow DIR allows another folder"
	case errors.Is(err, fs.ErrNotExist):
		bad.Want, bad.Rule = "a file that is there", "there is no such file or folder"
	}
	return bad
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
func (e *Env) readAll(name, path string) ([]byte, error) {
	f, err := e.open(name, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	if err != nil {
		return nil, e.badPath(name, path, err)
	}
	return data, nil
}

func readText(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var path arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "path", &path); err != nil {
		return nil, err
	}
	if s := e.shadowRead(string(path)); s != nil {
		return starlark.String(s.text), nil
	}
	data, err := e.readAll(b.Name(), string(path))
	if err != nil {
		return nil, err
	}
	return starlark.String(data), nil
}

func writeText(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var path, text arg.String
	if err := arg.Unpack(b.Name(), args, kwargs, "path", &path, "text", &text); err != nil {
		return nil, err
	}
	if done, err := e.shadowWrite(b.Name(), string(path), &shadow{text: string(text)}); done {
		return starlark.None, err
	}
	return starlark.None, e.write(b.Name(), string(path), func(w io.Writer) error {
		_, err := io.WriteString(w, string(text))
		return err
	})
}

// tmpDirs is how many folders tmpdir has given the program.
type tmpDirs struct{ n int }

func tmpdir(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if err := arg.Unpack(b.Name(), args, kwargs); err != nil {
		return nil, err
	}
	if e.opts.Scratch == "" {
		return nil, &op.ResourceError{Func: b.Name(), Err: errors.New("there are no temporary folders here")}
	}
	given := StateOf[tmpDirs](e)
	dir := filepath.Join(e.opts.Scratch, strconv.Itoa(given.n+1))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, &op.ResourceError{Func: b.Name(), Err: err}
	}
	given.n++
	return starlark.String(dir), nil
}

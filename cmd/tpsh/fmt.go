package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"tpsh/lang"
	"tpsh/lang/format"
)

var fmtCommand = &command{
	name:  "fmt",
	usage: "[-d | -l | -w] PATH...",
	short: "writes programs in one style; PATH is a file, a folder of .star files, or - for standard input",
	files: ".star",
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		f := new(formatting)
		fs.BoolVar(&f.diff, "d", false, "print what would change")
		fs.BoolVar(&f.list, "l", false, "list the files that would change")
		fs.BoolVar(&f.write, "w", false, "write the files anew")
		return f.run
	},
}

// A formatting is what a call of fmt does with the programs: it prints them,
// unless it is said otherwise.
type formatting struct{ diff, list, write bool }

func (f *formatting) run(std *stdio, paths []string) error {
	if len(paths) == 0 {
		return usagef("fmt: got no path, want files, folders, or - for standard input")
	}
	files, err := programFiles("fmt", paths)
	if err != nil {
		return err
	}
	if f.write && slices.Contains(files, "-") {
		return usagef("for flag -w: got standard input, want files to write")
	}
	failed := false
	for _, file := range files {
		err := f.file(std, file)
		if errors.As(err, new(*outputError)) {
			return err
		}
		if err != nil {
			failed = true
			fmt.Fprintf(std.err, "tpsh: fmt: %v\n", err)
		}
	}
	if failed {
		return status(lang.StatusFailed)
	}
	return nil
}

// file formats one program.
func (f *formatting) file(std *stdio, path string) error {
	name, text, err := readProgram(std, path)
	if err != nil {
		return err
	}
	out, err := format.Source(name, lang.WithoutMark(text))
	if err != nil {
		return err
	}
	if out != text && f.list {
		fmt.Fprintln(std.out, name)
	}
	if out != text && f.diff {
		if _, err := std.out.Write(diff.Diff(name+" (as it is)", []byte(text), name+" (formatted)", []byte(out))); err != nil {
			return err
		}
	}
	if out != text && f.write {
		return replaceFile(path, out)
	}
	if !f.list && !f.diff && !f.write {
		_, err = io.WriteString(std.out, out)
	}
	return err
}

// readProgram returns the name and the text of a program; - is standard input.
func readProgram(std *stdio, path string) (name, text string, err error) {
	if path == "-" {
		data, err := io.ReadAll(std.in)
		return "<stdin>", string(data), err
	}
	data, err := os.ReadFile(path)
	return path, string(data), err
}

// replaceFile gives a file another text, with the permissions that it has. The
// file is the old one or the new one, whatever happens between.
func replaceFile(path, text string) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tpsh-fmt-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.WriteString(text)
	err = errors.Join(err, tmp.Chmod(info.Mode().Perm()), tmp.Close())
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// programFiles returns the files that paths name: files as they are, and the
// *.star files in folders, except in those whose names begin with a dot.
func programFiles(command string, paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		if path == "-" {
			files = append(files, path)
			continue
		}
		info, err := os.Stat(path)
		if err != nil {
			return nil, filef("%s: %w", command, err)
		}
		if !info.IsDir() {
			files = append(files, filepath.Clean(path))
			continue
		}
		found := len(files)
		err = filepath.WalkDir(path, func(file string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && file != path && strings.HasPrefix(d.Name(), "."):
				return fs.SkipDir
			case !d.IsDir() && strings.HasSuffix(file, ".star"):
				files = append(files, file)
			}
			return nil
		})
		if err != nil {
			return nil, filef("%s: %w", command, err)
		}
		if len(files) == found {
			return nil, usagef("%s: %s: no *.star file in this folder", command, path)
		}
	}
	return files, nil
}

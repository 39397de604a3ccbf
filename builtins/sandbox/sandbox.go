// Package sandbox opens files inside given folders, and no others: neither by
// .. nor through symbolic links. It knows paths and files, and no script.
//
// The Folders are those that the command allows a script (its own, the working
// directory, and those of --allow). A path outside is an OutsideError, which
// names the folders that there are; what stands at the path is not looked at. Open
// reads a file, OpenFolder opens a folder as an os.Root, in which nothing leads out,
// and Write replaces a file whole: other programs see the old one or the new one.
//
//	f := sandbox.Folders{"/home/ann/job"}
//	f.Open("/home/ann/job/data/x.npy")   // a file
//	f.Open("/home/ann/job/../key")       // *OutsideError
package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Folders are those in which files may be read and written, by absolute paths.
type Folders []string

// An OutsideError says that a path leads out of the folders.
type OutsideError struct {
	Path    string // where it leads to
	Folders Folders
}

func (e *OutsideError) Error() string {
	return fmt.Sprintf("%s is outside %s", e.Path, strings.Join(e.Folders, ", "))
}

var (
	errFolder  = errors.New("it is a folder")
	errSpecial = errors.New("it is neither a file nor a folder")
	errLinks   = errors.New("too many links")
)

// Open opens the regular file at path, which is absolute, for reading.
func (f Folders) Open(path string) (*os.File, error) {
	root, name, err := f.find(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if _, err := regular(root, name); err != nil {
		return nil, err
	}
	return root.Open(name)
}

// Check returns an *OutsideError if path, which is absolute, leads out of the folders.
func (f Folders) Check(path string) error {
	root, _, err := f.find(path)
	if err != nil {
		return err
	}
	return root.Close()
}

// IsFile reports whether a regular file is at path, which is absolute.
func (f Folders) IsFile(path string) bool {
	root, name, err := f.find(path)
	if err != nil {
		return false
	}
	defer root.Close()
	_, err = regular(root, name)
	return err == nil
}

// OpenFolder opens the folder at path, which is absolute; with create it makes
// the folder, and those on the way to it, unless they are there. Names in it lead
// nowhere else.
func (f Folders) OpenFolder(path string, create bool) (*os.Root, error) {
	root, name, err := f.find(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	if create {
		if err := root.MkdirAll(name, 0o755); err != nil {
			return nil, err
		}
	}
	return root.OpenRoot(name)
}

// Write makes what write writes the contents of the file at path, which is
// absolute. Others see the old file, if there is one, or the new one, but no
// part of it; after an error the old one stands.
func (f Folders) Write(path string, write func(w io.Writer) error) (err error) {
	root, name, err := f.find(path)
	if err != nil {
		return err
	}
	defer root.Close()
	mode, err := regular(root, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err != nil {
		mode = 0o644
	}
	draft := filepath.Join(filepath.Dir(name), fmt.Sprintf(".%s.%08x", filepath.Base(name), rand.Uint32()))
	file, err := root.OpenFile(draft, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			root.Remove(draft)
		}
	}()
	err = write(file)
	if err == nil {
		err = file.Sync() // a name must not come before what it stands for
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return root.Rename(draft, name)
}

// regular returns the permissions of the file called name, and an error
// unless it is a regular one: others may block whoever opens them.
func regular(root *os.Root, name string) (fs.FileMode, error) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		return 0, err
	case info.IsDir():
		return 0, errFolder
	case !info.Mode().IsRegular():
		return 0, errSpecial
	}
	return info.Mode().Perm(), nil
}

// find returns the folder that path leads into, and the name of the file
// there. What the file system changes in between, os.Root keeps inside.
func (f Folders) find(path string) (*os.Root, string, error) {
	real, err := resolve(filepath.Clean(path), 0)
	if err != nil {
		return nil, "", err
	}
	for _, folder := range f {
		folder, err := filepath.EvalSymlinks(folder)
		if err != nil {
			continue // a folder that is not there holds no file
		}
		if name, err := filepath.Rel(folder, real); err == nil && filepath.IsLocal(name) {
			root, err := os.OpenRoot(folder)
			return root, name, err
		}
	}
	return nil, "", &OutsideError{real, slices.Clone(f)}
}

// resolve returns path, which is clean, without symbolic links. The file, and
// folders on the way to it, need not exist.
func resolve(path string, links int) (string, error) {
	const most = 40
	if links > most {
		return "", errLinks
	}
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if target, err := os.Readlink(path); err == nil { // to a file that is not there
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		return resolve(filepath.Clean(target), links+1)
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path, nil
	}
	real, err = resolve(parent, links)
	return filepath.Join(real, filepath.Base(path)), err
}

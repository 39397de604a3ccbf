package tensorfiles

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A Folder is where files are opened by their names.
type Folder interface {
	Open(name string) (*os.File, error)
	Names() ([]string, error) // ascending
}

// plain is a folder of which links may lead anywhere, as those of a cache of
// downloads do: the user has named it.
type plain string

func (p plain) Open(name string) (*os.File, error) { return os.Open(filepath.Join(string(p), name)) }
func (p plain) Names() ([]string, error) {
	list, err := os.ReadDir(string(p))
	return names(list), err
}

// rooted is a folder out of which no link leads.
type rooted struct{ *os.Root }

func (r rooted) Open(name string) (*os.File, error) { return r.Root.Open(name) }
func (r rooted) Names() ([]string, error) {
	list, err := fs.ReadDir(r.FS(), ".")
	return names(list), err
}

// names returns the names of files.
func names(list []fs.DirEntry) []string {
	var all []string
	for _, e := range list {
		if !e.IsDir() {
			all = append(all, e.Name())
		}
	}
	slices.Sort(all)
	return all
}

// Open opens what is at path, a folder or a file. The error is a *FormatError if
// it holds no tensors.
func Open(path string) (*Set, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return OpenFolder(plain(path), nil)
	}
	return OpenFile(plain(filepath.Dir(path)), filepath.Base(path))
}

// OpenRoot is Open for a folder out of which nothing leads.
func OpenRoot(root *os.Root) (*Set, error) { return OpenFolder(rooted{root}, root) }

// OpenRootFile is Open for a file in such a folder.
func OpenRootFile(root *os.Root, name string) (*Set, error) { return OpenFile(rooted{root}, name) }

// local reports whether name, which a file says, is that of a file in its folder.
func local(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\\x00:")
}

// maxOpen is how many files are kept open at a time.
const maxOpen = 100

// files are the data files of a set, opened when they are needed.
type files struct {
	dir   Folder
	names []string
	open  map[int]*os.File
	order []int // of open, the one that was opened first first
}

func newFiles(dir Folder, names []string) *files {
	return &files{dir: dir, names: names, open: map[int]*os.File{}}
}

// get returns a file, open.
func (f *files) get(i int) (*os.File, error) {
	if file := f.open[i]; file != nil {
		return file, nil
	}
	if len(f.order) == maxOpen {
		f.open[f.order[0]].Close()
		delete(f.open, f.order[0])
		f.order = f.order[1:]
	}
	file, err := openRegular(f.dir, f.names[i])
	if err != nil {
		return nil, err
	}
	f.open[i], f.order = file, append(f.order, i)
	return file, nil
}

// size returns the size of a file.
func (f *files) size(i int) (int64, error) {
	file, err := f.get(i)
	if err != nil {
		return 0, err
	}
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f *files) close() {
	for _, file := range f.open {
		file.Close()
	}
}

// openRegular opens a file that is no folder, pipe or device.
func openRegular(dir Folder, name string) (*os.File, error) {
	file, err := dir.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, bad(name, "the file is missing")
	}
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		file.Close()
		return nil, bad(name, "it is no file")
	}
	return file, nil
}

// maxSmall bounds the files of which all is read: indexes and metadata.
const maxSmall = 1 << 30

// readSmall returns what is in a file of metadata.
func readSmall(dir Folder, name string) ([]byte, error) {
	file, err := openRegular(dir, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > maxSmall {
		return nil, bad(name, "it has %d bytes, want at most %d", info.Size(), maxSmall)
	}
	data := make([]byte, info.Size())
	if n, err := file.ReadAt(data, 0); n < len(data) {
		return nil, err
	}
	return data, nil
}

package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A tree is a folder with files for tests:
//
//	in/a.txt  in/sub/b.txt  in/link -> a.txt  in/out -> ../outside
//	in/leak -> ../outside/secret  in/new -> ../outside/new  in/later -> sub/later
//	in/circle -> circle  outside/secret
type tree struct {
	dir     string
	folders Folders // in
}

func newTree(t *testing.T) *tree {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	must(os.MkdirAll(at("in/sub"), 0o755))
	must(os.Mkdir(at("outside"), 0o755))
	must(os.WriteFile(at("in/a.txt"), []byte("a"), 0o600))
	must(os.WriteFile(at("in/sub/b.txt"), []byte("b"), 0o644))
	must(os.WriteFile(at("outside/secret"), []byte("secret"), 0o644))
	for name, target := range map[string]string{
		"in/link": "a.txt", "in/out": "../outside", "in/leak": "../outside/secret", "in/new": "../outside/new",
		"in/later": "sub/later", "in/circle": "circle", "in/abs": at("outside/secret"),
	} {
		must(os.Symlink(target, at(name)))
	}
	return &tree{dir, Folders{at("in")}}
}

func (tr *tree) read(path string) (string, error) {
	f, err := tr.folders.Open(filepath.Join(tr.dir, path))
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

func (tr *tree) write(path, text string) error {
	return tr.folders.Write(filepath.Join(tr.dir, path), func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

func TestOpen(t *testing.T) {
	tr := newTree(t)
	for path, want := range map[string]string{"in/a.txt": "a", "in/sub/b.txt": "b", "in/link": "a", "in/sub/../a.txt": "a"} {
		if got, err := tr.read(path); got != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", path, got, err, want)
		}
	}
}

func TestOutside(t *testing.T) {
	tr := newTree(t)
	for _, path := range []string{
		"outside/secret", "in/../outside/secret", "in/out/secret", "in/leak", "in/abs", "in/new", "in/out/new",
		"in/out/deep/er", "absent", "inside",
	} {
		var outside *OutsideError
		if _, err := tr.read(path); !errors.As(err, &outside) {
			t.Errorf("read %s: got %v, want an OutsideError", path, err)
		}
		if err := tr.write(path, "x"); !errors.As(err, &outside) {
			t.Errorf("write %s: got %v, want an OutsideError", path, err)
		}
	}
	if names, _ := os.ReadDir(filepath.Join(tr.dir, "outside")); len(names) != 1 {
		t.Errorf("got %v in the folder outside, want one file", names)
	}
}

func TestIsFile(t *testing.T) {
	tr := newTree(t)
	for path, want := range map[string]bool{"in/a.txt": true, "in/link": true, "in/sub": false, "in/absent": false, "outside/secret": false, "in/leak": false} {
		if got := tr.folders.IsFile(filepath.Join(tr.dir, path)); got != want {
			t.Errorf("%s: got %v, want %v", path, got, want)
		}
	}
}

func TestErrors(t *testing.T) {
	tr := newTree(t)
	if _, err := tr.read("in/absent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: got %v", err)
	}
	if err := tr.write("in/absent/x", "x"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder that is not there: got %v", err)
	}
	if _, err := tr.read("in/sub"); err != errFolder {
		t.Errorf("a folder: got %v", err)
	}
	if err := tr.write("in/sub", "x"); err != errFolder {
		t.Errorf("write to a folder: got %v", err)
	}
	if _, err := tr.read("in/circle"); err == nil {
		t.Errorf("a link to itself: got no error")
	}
}

func TestWrite(t *testing.T) {
	tr := newTree(t)
	for _, path := range []string{"in/new.txt", "in/a.txt", "in/link", "in/later"} {
		if err := tr.write(path, path); err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got, err := tr.read(path); got != path || err != nil {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
	if info, err := os.Stat(filepath.Join(tr.dir, "in/a.txt")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got mode %v, want the old file's, 0600", info.Mode())
	}
	if info, err := os.Lstat(filepath.Join(tr.dir, "in/link")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("a link that was written through is no link any more")
	}
}

// A file that cannot be written to its end leaves the old one as it was.
func TestWriteFails(t *testing.T) {
	tr := newTree(t)
	full := errors.New("disk full")
	err := tr.folders.Write(filepath.Join(tr.dir, "in/a.txt"), func(w io.Writer) error {
		io.WriteString(w, "half")
		return full
	})
	if !errors.Is(err, full) {
		t.Errorf("got %v, want %v", err, full)
	}
	if got, _ := tr.read("in/a.txt"); got != "a" {
		t.Errorf("got %q, want the old contents", got)
	}
	names, _ := os.ReadDir(filepath.Join(tr.dir, "in"))
	for _, n := range names {
		if strings.HasPrefix(n.Name(), ".") {
			t.Errorf("%s was left behind", n.Name())
		}
	}
}

// A folder that is itself reached through a link is allowed.
func TestFolderBehindLink(t *testing.T) {
	tr := newTree(t)
	link := filepath.Join(tr.dir, "alias")
	if err := os.Symlink("in", link); err != nil {
		t.Fatal(err)
	}
	tr.folders = Folders{filepath.Join(tr.dir, "nowhere"), link}
	for _, path := range []string{"alias/a.txt", "in/a.txt"} {
		if got, err := tr.read(path); got != "a" || err != nil {
			t.Errorf("%s: got %q, %v", path, got, err)
		}
	}
}

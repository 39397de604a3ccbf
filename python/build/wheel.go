package main

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A wheel is one in the making.
type wheel struct {
	version string
	tags    []string // of its platforms, ascending
	entries []entry
}

// An entry is a file of a wheel.
type entry struct {
	path string
	mode fs.FileMode
	data []byte
}

// epoch is the time of all entries: the earliest that zip archives know.
var epoch = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// metadata is the file METADATA, but for the version and the text behind it.
const metadata = `Metadata-Version: 2.1
Name: tpsh
Version: %s
Summary: The shell for sharded tensor programs, and programs of it run from Python, pytest and notebooks
License: Apache-2.0
Requires-Python: >=3.9
Provides-Extra: numpy
Requires-Dist: numpy; extra == 'numpy'
Provides-Extra: kernel
Requires-Dist: ipykernel; extra == 'kernel'
Description-Content-Type: text/markdown

%s`

// entryPoints is what others find in the package: the command, and the plugin of pytest.
const entryPoints = `[console_scripts]
tpsh = tpsh.__main__:main

[pytest11]
tpsh = tpsh.pytest_plugin
`

// kernelSpec is how Jupyter starts the kernel; it puts its own Python in place of python.
const kernelSpec = `{"argv": ["python", "-m", "tpsh.kernel", "-f", "{connection_file}"], "display_name": "tpsh", "language": "tpsh", "interrupt_mode": "signal"}
`

// name returns the name of the wheel's file.
func (w *wheel) name() string {
	return fmt.Sprintf("tpsh-%s-py3-none-%s.whl", w.version, strings.Join(w.tags, "."))
}

func (w *wheel) add(path string, mode fs.FileMode, data []byte) {
	w.entries = append(w.entries, entry{path, mode, data})
}

// addPackage adds the files of the folder python: the package, and what is said of it.
func (w *wheel) addPackage(dir string) error {
	err := filepath.WalkDir(filepath.Join(dir, "tpsh"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) == ".pyc" {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || strings.HasPrefix(filepath.ToSlash(name), "tpsh/bin/") {
			return err
		}
		data, err := os.ReadFile(path)
		w.add(filepath.ToSlash(name), 0o644, data)
		return err
	})
	if err != nil {
		return err
	}
	readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
	if err != nil {
		return err
	}
	license, err := os.ReadFile(filepath.Join(dir, "../LICENSE"))
	if err != nil {
		return err
	}
	w.add(w.info("METADATA"), 0o644, fmt.Appendf(nil, metadata, w.version, readme))
	w.add(w.info("LICENSE"), 0o644, license)
	w.add(w.info("WHEEL"), 0o644, w.about())
	w.add(w.info("entry_points.txt"), 0o644, []byte(entryPoints))
	w.add(fmt.Sprintf("tpsh-%s.data/data/share/jupyter/kernels/tpsh/kernel.json", w.version), 0o644, []byte(kernelSpec))
	return nil
}

// info returns the path of a file that tells of the wheel.
func (w *wheel) info(name string) string { return fmt.Sprintf("tpsh-%s.dist-info/%s", w.version, name) }

// about returns the file WHEEL.
func (w *wheel) about() []byte {
	text := "Wheel-Version: 1.0\nGenerator: tpsh python/build\nRoot-Is-Purelib: false\n"
	for _, tag := range w.tags {
		text += "Tag: py3-none-" + tag + "\n"
	}
	return []byte(text)
}

// bytes returns the archive. RECORD is its last entry, as PEP 427 asks.
func (w *wheel) bytes() ([]byte, error) {
	slices.SortFunc(w.entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	all := append(slices.Clone(w.entries), entry{w.info("RECORD"), 0o644, w.record()})
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, e := range all {
		h := &zip.FileHeader{Name: e.path, Method: zip.Deflate, Modified: epoch}
		h.SetMode(e.mode)
		f, err := z.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := f.Write(e.data); err != nil {
			return nil, err
		}
	}
	err := z.Close()
	return out.Bytes(), err
}

// record returns the file RECORD: a line for each entry, with its hash and size.
func (w *wheel) record() []byte {
	var b bytes.Buffer
	for _, e := range w.entries {
		sum := sha256.Sum256(e.data)
		fmt.Fprintf(&b, "%s,sha256=%s,%d\n", e.path, base64.RawURLEncoding.EncodeToString(sum[:]), len(e.data))
	}
	fmt.Fprintf(&b, "%s,,\n", w.info("RECORD"))
	return b.Bytes()
}

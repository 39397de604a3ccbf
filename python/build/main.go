// Build makes the wheel of the Python package: dist/tpsh-VERSION-py3-none-PLATFORM.whl,
// which carries the command, linked statically, and the files of python/tpsh.
//
//	go run ./python/build                                # for this machine
//	go run ./python/build -os windows -arch amd64 -o out # for another
//
// A wheel is a zip archive (PEP 427) whose file RECORD lists the hashes of the others.
// This one is the same, byte for byte, whenever and wherever it is built of the same
// sources: the entries are sorted, and their times are all the same. The command is
// built by the go of PATH, without cgo; no Python takes part.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	var t target
	flag.StringVar(&t.os, "os", runtime.GOOS, "the operating `SYSTEM` of the wheel, as Go calls it")
	flag.StringVar(&t.arch, "arch", runtime.GOARCH, "its `ARCHITECTURE`, as Go calls it")
	out := flag.String("o", "dist", "the `FOLDER` to write it to")
	flag.Parse()
	path, err := build(".", t, *out)
	if err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// build makes the wheel of the project at root for t in the folder out, and returns its
// path.
func build(root string, t target, out string) (string, error) {
	tags, err := t.tags()
	if err != nil {
		return "", err
	}
	version, err := os.ReadFile(filepath.Join(root, "python/VERSION"))
	if err != nil {
		return "", fmt.Errorf("%w (run it at the root of the project)", err)
	}
	w := wheel{version: strings.TrimSpace(string(version)), tags: tags}
	if err := w.addPackage(filepath.Join(root, "python")); err != nil {
		return "", err
	}
	command, err := compile(root, t, w.version)
	if err != nil {
		return "", err
	}
	w.add(t.command(), 0o755, command)
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(out, w.name())
	data, err := w.bytes()
	if err != nil {
		return "", err
	}
	return path, os.WriteFile(path, data, 0o644)
}

// compile returns the command, linked statically, for t.
func compile(root string, t target, version string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "tpsh-build-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "tpsh")
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -X main.release=v"+version, "-o", path, "./cmd/tpsh")
	c.Dir = root
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.os, "GOARCH="+t.arch)
	if text, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build for %s/%s: %w\n%s", t.os, t.arch, err, text)
	}
	return os.ReadFile(path)
}

package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// An outputs is what --out asks for: the folder that output() of scripts writes to.
type outputs struct{ dir string }

// outMark is the file by which a folder of outputs is known, so that a later run
// may clear it. It says in JSON how many ranks there were.
const outMark = ".tpsh-outputs"

func (o *outputs) declare(fs *flag.FlagSet) {
	fs.StringVar(&o.dir, "out", "", "write what scripts give to output() into the folder `DIR`, a safetensors file each")
}

// prepare makes the folder for outputs of so many ranks, or clears it of what an earlier run has left: a rank
// that is no more must leave no file to be taken for one of now. It refuses a folder
// in which something else lies.
func (o *outputs) prepare(ranks int) error {
	if o.dir == "" {
		return nil
	}
	abs, err := filepath.Abs(o.dir)
	if err != nil {
		return err
	}
	o.dir = abs
	entries, err := os.ReadDir(abs)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		err = os.MkdirAll(abs, 0o755)
	case err == nil && len(entries) > 0:
		err = clearOutputs(abs)
	}
	if err == nil {
		mark := fmt.Sprintf("{\"note\": \"What lies here was written by output() of a script; the next run to write here removes it.\", \"ranks\": %d}\n", ranks)
		err = os.WriteFile(filepath.Join(abs, outMark), []byte(mark), 0o644)
	}
	if err != nil {
		return usagef("for flag --out: got %q, want a folder to write in: %v", o.dir, err)
	}
	return nil
}

// clearOutputs removes the tensors of an earlier run from dir.
func clearOutputs(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, outMark)); err != nil {
		return fmt.Errorf("it is not empty, and not of an earlier --out")
	}
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !strings.HasSuffix(path, ".safetensors") {
			return err
		}
		return os.Remove(path)
	})
}

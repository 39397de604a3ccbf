package main

import (
	"flag"
	"path/filepath"

	"tpsh/builtins/files"
)

// An inputs is what --in asks for: the folder whose files are names of the script.
type inputs struct{ dir string }

func (i *inputs) declare(fs *flag.FlagSet) {
	fs.StringVar(&i.dir, "in", "", "give the script a name for each file of the folder `DIR`: NAME.safetensors and NAME.npy are tensors, NAME.json any other value, NAME.rankR.* those of rank R, as --out writes them; on every host")
}

// prepare checks the folder, for so many ranks.
func (i *inputs) prepare(ranks int) error {
	if i.dir == "" {
		return nil
	}
	abs, err := filepath.Abs(i.dir)
	if err == nil {
		err = files.CheckInputs(abs, ranks)
	}
	if err != nil {
		return filef("for flag --in: got %q, want a folder of inputs: %w", i.dir, err)
	}
	i.dir = abs
	return nil
}

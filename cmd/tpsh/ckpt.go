package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"tpsh/builtins/tensorfiles"
	"tpsh/internal/units"
	"tpsh/runtime/ckpt"
)

var ckptCommand = &command{
	name:    "ckpt",
	usage:   "ls PATH | verify PATH | reshard SRC DST | diff A B",
	short:   "looks into, checks, compares and re-lays out checkpoints, PyTorch's and Hugging Face's too",
	actions: ckptActions,
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		o := &ckptOptions{maxMem: 256 << 20}
		fs.StringVar(&o.to, "to", "", "reshard: cut tensors as `LAYOUT` says, a mesh and rules that tell names (as 'dp=2,tp=4:*.weight=S(0);*.bias=R;*=flat'); without it, each is one piece")
		fs.StringVar(&o.format, "format", "", "reshard: write the `FORMAT` tpsh (the default), dcp (torch.distributed.checkpoint) or safetensors")
		fs.Var(&o.fileSize, "file-size", "reshard: with --format safetensors and no --to, begin another file after `BYTES` (as 4G), and write an index")
		fs.StringVar(&o.proof, "proof", "", "reshard: write the hashes of what was read and of what was written of each tensor to `FILE`, as JSON")
		fs.BoolVar(&o.plan, "plan", false, "reshard: show what would be moved, and write nothing")
		fs.Var(&o.maxMem, "max-mem", "use buffers of `BYTES` together at most (as 64M)")
		return o.run
	},
}

// ckptActions are what ckpt does; see ckptOptions.run.
var ckptActions = []string{"ls", "verify", "reshard", "diff"}

// ckptOptions are the flags of tpsh ckpt.
type ckptOptions struct {
	to, format, proof string
	plan              bool
	maxMem, fileSize  byteSize
}

// run carries out the action that args begin with.
func (o *ckptOptions) run(std *stdio, args []string) error {
	actions := map[string]struct {
		args string
		do   func(*stdio, []string) error
	}{"ls": {"PATH", o.ls}, "verify": {"PATH", o.verify}, "reshard": {"SRC DST", o.reshard}, "diff": {"A B", o.diff}}
	if len(args) == 0 {
		return usagef("ckpt: got nothing, want %s", orList(ckptActions))
	}
	a, ok := actions[args[0]]
	if !ok {
		return usagef("ckpt: got %q, want %s", args[0], orList(ckptActions))
	}
	if want := strings.Count(a.args, " ") + 1; len(args)-1 != want {
		return usagef("ckpt %s: got %d arguments, want %s", args[0], len(args)-1, a.args)
	}
	if (o.to != "" || o.plan || o.format != "" || o.proof != "" || o.fileSize > 0) && args[0] != "reshard" {
		return usagef("ckpt %s: --to, --format, --file-size, --proof and --plan are flags of reshard", args[0])
	}
	return a.do(std, args[1:])
}

// openSet opens the checkpoint at path.
func openSet(path string) (*tensorfiles.Set, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fileError{err}
	}
	s, err := tensorfiles.Open(path)
	var bad *tensorfiles.FormatError
	switch {
	case errors.As(err, &bad) && bad.File == filepath.Base(path): // the name, which the path ends in
		return nil, fmt.Errorf("%s: %w", path, bad.Err)
	case bad != nil || errors.As(err, new(*ckpt.FormatError)):
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, err
}

// ls lists the tensors of a checkpoint and their pieces.
func (o *ckptOptions) ls(std *stdio, args []string) error {
	s, err := openSet(args[0])
	if err != nil {
		return err
	}
	defer s.Close()
	tw := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for _, t := range s.Tensors {
		fmt.Fprintf(tw, "%s\t%v\t%s\t%s", t.Name, t, units.Count(len(t.Pieces), "piece"), units.Count(t.Bytes(), "byte"))
		if t.Sum != nil {
			fmt.Fprintf(tw, "\t%v", *t.Sum)
		}
		fmt.Fprintln(tw)
		for i := range t.Pieces {
			p := &t.Pieces[i]
			fmt.Fprintf(tw, "  %v\t%s\tat %d\t%s\n", p.Box, s.Files[p.File], p.Offset, units.Count(p.Box.Numel()*t.ItemSize(), "byte"))
		}
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, summary(s))
	return err
}

// summary says in a line how much a checkpoint holds.
func summary(s *tensorfiles.Set) string {
	return fmt.Sprintf("%s of %s in %s%s", units.Count(len(s.Tensors), "tensor"), units.Count(s.Bytes(), "byte"), units.Count(len(s.Files), "file"),
		map[string]string{tensorfiles.DCP: " of torch.distributed.checkpoint", tensorfiles.Torch: " of torch.save", tensorfiles.Safetensors: " of safetensors"}[s.Format])
}

// verify reads a checkpoint and says what is wrong with it.
func (o *ckptOptions) verify(std *stdio, args []string) error {
	s, err := openSet(args[0])
	if err != nil {
		return err
	}
	defer s.Close()
	bar := newBar(std.err, "verify", s.Bytes(), "")
	bad := s.Verify(min(int(o.maxMem), 16<<20), bar.show)
	bar.clear()
	if len(bad) == 0 {
		_, err = fmt.Fprintf(std.out, "%s: sound\n", summary(s))
		return err
	}
	for _, err := range bad {
		fmt.Fprintf(std.err, "tpsh: %s: %v\n", args[0], err)
	}
	return status(exitStatus(bad[0]))
}

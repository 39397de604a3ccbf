package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"path/filepath"

	"tpsh/lang"
	"tpsh/lang/lsp"
	"tpsh/runtime/plan"
)

var lspCommand = &command{
	name:  "lsp",
	usage: "[--lib DIR] [--no-plan]",
	short: "is a language server for editors, on standard input and output",
	files: noFiles,
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		l := &limits{quiet: true}
		fs.Var(&l.lib, "lib", "look in `DIR` for files that are loaded, after the program's folder; may be repeated; those of TPSH_PATH come after")
		noPlan := fs.Bool("no-plan", false, "do not run programs on shapes alone to show what tensors are")
		fs.Bool("stdio", true, "talk on standard input and output; there is no other way, but editors say so")
		return func(std *stdio, args []string) error {
			if len(args) > 0 {
				return usagef("lsp: got argument %q, want none: the editor says which files it has", args[0])
			}
			return serveEditor(std, l, !*noPlan)
		}
	},
}

// serveEditor answers an editor until it goes.
func serveEditor(std *stdio, l *limits, plans bool) error {
	language, err := theLanguage()
	if err != nil {
		return err
	}
	o := lsp.Options{Language: language, Lib: l.folders().Lib, Version: version()}
	if plans {
		o.Plan = func(ctx context.Context, path, source string, ranks int) ([]lang.Described, error) {
			return sightsOf(ctx, l, path, source, ranks)
		}
	}
	if code := lsp.New(o).Serve(context.Background(), stream{std.in, std.out}); code != lang.StatusOK {
		return status(code)
	}
	return nil
}

// maxPlanSteps is how many steps of the interpreter a rank may take in a plan in the
// background.
const maxPlanSteps = 20_000_000

// sightsOf runs a program on shapes alone and returns what its variables held. A plan
// writes no files. What the program prints is nobody's.
func sightsOf(ctx context.Context, l *limits, path, source string, ranks int) ([]lang.Described, error) {
	p := lang.Program{Path: path, Dir: filepath.Dir(path), Source: source, Folders: l.folders(), MaxSteps: maxPlanSteps, Describe: true}
	e := &evaluation{question: question{Script: path, Ranks: ranks, Limits: l, Watch: watchMemory(int(l.maxMem), 1)}, program: plan.NewProgram(ranks)}
	err := e.each(ctx, p)
	if ctx.Err() != nil {
		err = errors.Join(err, ctx.Err())
	}
	return e.described, err
}

// A stream is an editor's end of two pipes.
type stream struct {
	io.Reader
	io.Writer
}

// Close implements io.Closer: what reads is ended with the process.
func (s stream) Close() error {
	if c, ok := s.Reader.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

package main

import (
	"flag"
	"path/filepath"

	"tpsh/lang/debug"
	"tpsh/lang/halt"
	"tpsh/lang/repl"
)

var debugCommand = &command{
	name:  "debug",
	usage: "[-n N] [-b FILE:LINE]… SCRIPT.star [-- ARGS]",
	short: "runs a script, stops it, and looks at all ranks",
	words: true,
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		d := &debugger{runner: runner{flags: fs}}
		d.declare(fs)
		fs.Var(&d.breaks, "b", "stop at `FILE:LINE`, or \"LINE if COND\" of the script; may be repeated; without, stop at the first line")
		return d.run
	},
}

// A debugger is one `tpsh debug`.
type debugger struct {
	runner
	breaks stringList
}

func (d *debugger) run(std *stdio, args []string) error {
	read := plainLines(std.in)
	if isTerminal(std) {
		read = repl.LineReader()
	}
	d.debugging = newDebugging(std, read)
	d.debugging.whole, d.debugging.pauses = true, true
	d.debugging.control.StopAtErrors(true)
	script := ""
	if len(args) > 0 {
		script = filepath.Base(args[0])
	}
	for _, text := range d.breaks {
		b, err := debug.ParseBreak(text, script)
		if err != nil {
			return usagef("for flag -b: %v", err)
		}
		d.debugging.control.Add(b)
	}
	if len(d.breaks) == 0 {
		d.debugging.step = halt.In
	}
	return d.runner.run(std, args)
}

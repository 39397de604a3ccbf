package main

import (
	"flag"
	"fmt"
	"io"
	"os"
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
	files: ".star",
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
	if std.isTerminal() {
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
		note, err := checkBreak(b, args)
		if err != nil {
			return err
		}
		io.WriteString(std.err, note)
		d.debugging.control.Add(b)
	}
	if len(d.breaks) == 0 {
		d.debugging.step = halt.In
	}
	return d.runner.run(std, args)
}

// checkBreak returns a usage error if a breakpoint is at no statement of the script, or
// of a file that is here, and a line about one in a file that is not: the program may
// load it.
func checkBreak(b debug.Break, args []string) (note string, err error) {
	path := b.File
	if len(args) > 0 && halt.SameFile(b.File, args[0], ".") {
		path = args[0]
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Sprintf("tpsh: for flag -b: there is no file %s here; the program stops if it loads one of that name\n", b.File), nil
	}
	if err := b.Check(string(text)); err != nil {
		return "", usagef("for flag -b: %v", err)
	}
	return "", nil
}

// Tpsh is the shell for sharded tensor programs: it runs Starlark scripts on
// several ranks, tests them, and explains their language.
//
// Each command has a file of its name (run.go, test.go, plan.go ...) and a line in the
// list of main.go. Its type holds the flags, and its method run does the work:
//
//	tpsh run -n 4 --transport shm train.star   // runner.run, in run.go
//
// What several commands share: a starter (launch.go) starts ranks on a transport, here
// or as processes by package launch; limits (limits.go) are what a script may use; a
// status is an exit status. A process that package launch started is a worker
// (worker.go): it has one rank and no command line of its own.
//
// docs/architecture.md has the way through the packages.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"tpsh/cmd/tpsh/launch"
	_ "tpsh/cmd/tpsh/vocabularies"
	"tpsh/internal/lazyregexp"
	"tpsh/internal/spell"
	"tpsh/lang"
)

// A command is one subcommand. Each has a file of its own.
type command struct {
	name  string
	usage string // behind "tpsh name"
	short string
	// setup declares the command's flags and returns what runs it on the
	// arguments that are no flags.
	setup func(fs *flag.FlagSet) func(std *stdio, args []string) error
	// words says that what stands behind -- is for scripts: the arguments then
	// hold the --.
	words bool
	// actions are words that the first argument may be, such as ls of "tpsh ckpt ls", and
	// files is how the files end that the command takes: "" for any, noFiles if it takes
	// none. Shells complete both.
	actions []string
	files   string
}

// noFiles is the command.files of a command whose arguments are no files.
const noFiles = "-"

// commands lists the subcommands in the order of the help text. It is filled
// in init because help looks at it.
var commands []*command

func init() {
	commands = []*command{runCommand, replCommand, kernelCommand, testCommand, debugCommand, dapCommand, planCommand, benchCommand, docCommand, fmtCommand, checkCommand, lspCommand, completionCommand, ckptCommand, hangCommand, diffCommand, traceCommand, doctorCommand, versionCommand, helpCommand}
	helpCommand.actions = commandNames()
}

// commandNames returns the names of the commands.
func commandNames() []string {
	var names []string
	for _, c := range commands {
		names = append(names, c.name)
	}
	return names
}

// A status is an exit status with nothing left to say.
type status int

func (s status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// A usageError is a mistake in the command line.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// A fileError says that a file a command was given cannot be read, or does not hold what it
// should. Its exit status is that of a usageError, but how the command is called is no news then.
type fileError struct{ err error }

func (e fileError) Error() string { return e.err.Error() }
func (e fileError) Unwrap() error { return e.err }

// A jobError says that ranks could not be started.
type jobError struct{ err error }

func (e jobError) Error() string { return e.err.Error() }
func (e jobError) Unwrap() error { return e.err }

// usagef returns a usageError.
func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// filef returns a fileError.
func filef(format string, args ...any) error { return fileError{fmt.Errorf(format, args...)} }

func main() {
	if launch.IsWorker() {
		os.Exit(work())
	}
	if err := beginPolling(); err != nil {
		fmt.Fprintf(os.Stderr, "tpsh: %v\n", err)
		os.Exit(lang.StatusJob)
	}
	collectSeldom(1)
	hearEarly(os.Stderr)
	os.Exit(run(&stdio{os.Stdin, os.Stdout, os.Stderr}, os.Args[1:]))
}

// run carries out a command line and returns the exit status.
func run(std *stdio, args []string) int {
	out := &output{w: std.out}
	std = &stdio{std.in, out, std.err}
	cmd, args, err := find(args)
	if err == nil {
		err = cmd.run(std, args)
	}
	code := exitStatus(err)
	if lost := out.lost(); lost != nil && (code == lang.StatusOK || code == lang.StatusFailed || isUnread(lost)) && !errors.As(err, new(*outputError)) {
		err, code = lost, exitStatus(lost)
	}
	if code == statusUnread {
		return code
	}
	if code == lang.StatusUsage && !speaks(os.LookupEnv) {
		time.Sleep(timeToSpeak)
		return code
	}
	for _, err := range untold(err) {
		fmt.Fprintf(std.err, "tpsh: %v\n", err)
		if cmd != nil && errors.As(err, new(usageError)) {
			fmt.Fprintf(std.err, "usage: tpsh %s %s\nRun 'tpsh help %s' for its flags.\n", cmd.name, cmd.usage, cmd.name)
		}
	}
	return code
}

// untold returns what is to be told of the error of a command: all but what has
// been told before a status was returned.
func untold(err error) []error {
	if all, ok := err.(interface{ Unwrap() []error }); ok {
		var rest []error
		for _, e := range all.Unwrap() {
			rest = append(rest, untold(e)...)
		}
		return rest
	}
	if err == nil || errors.Is(err, flag.ErrHelp) || errors.As(err, new(status)) {
		return nil
	}
	return []error{err}
}

// timeToSpeak is how long the processes of a launcher of MPI leave to the one of
// them that tells what is wrong: when a process ends so, launchers end the rest.
const timeToSpeak = 300 * time.Millisecond

// statusUnread is the exit status of a command that nobody read to its end: the
// one that shells give a program which that ends by a signal (128 + SIGPIPE).
const statusUnread = 141

// exitStatus returns the exit status of a command that returned err.
func exitStatus(err error) int {
	var s status
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
		return lang.StatusOK
	case errors.As(err, &s):
		return int(s)
	case isUnread(err):
		return statusUnread
	case errors.Is(err, errInterrupted):
		return lang.StatusInterrupted
	case errors.As(err, new(usageError)), errors.As(err, new(fileError)):
		return lang.StatusUsage
	case errors.As(err, new(jobError)), errors.As(err, new(*outputError)):
		return lang.StatusJob
	}
	return lang.StatusFailed
}

// find returns the command that args name and its arguments. No name at all
// is the shell.
func find(args []string) (*command, []string, error) {
	if len(args) == 0 {
		return replCommand, nil, nil
	}
	switch args[0] {
	case "-h", "-help", "--help":
		return helpCommand, args[1:], nil
	case "-version", "--version":
		return versionCommand, args[1:], nil
	}
	if strings.HasPrefix(args[0], "-") {
		return replCommand, args, nil
	}
	if cmd := lookup(args[0]); cmd != nil {
		return cmd, args[1:], nil
	}
	if strings.HasSuffix(args[0], ".star") {
		return nil, nil, usagef("unknown command %q: did you mean tpsh run %s?", args[0], args[0])
	}
	names := commandNames()
	if near := spell.Nearest(args[0], names); near != "" {
		return nil, nil, usagef("unknown command %q: did you mean %s?", args[0], near)
	}
	return nil, nil, usagef("unknown command %q, want one of %s", args[0], strings.Join(names, ", "))
}

func lookup(name string) *command {
	for _, c := range commands {
		if c.name == name {
			return c
		}
	}
	return nil
}

// run parses the flags in args, which may stand before and behind other
// arguments, up to "--", and carries out the command.
func (c *command) run(std *stdio, args []string) error {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	body := c.setup(fs)
	var rest []string
	for {
		err := fs.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			c.help(std.out)
			return err
		}
		if err != nil {
			return usageError{flagError(fs, rest, err)}
		}
		done := len(args) - fs.NArg()
		if fs.NArg() == 0 || done > 0 && args[done-1] == "--" {
			if c.words && done > 0 && args[done-1] == "--" {
				rest = append(rest, "--")
			}
			return body(std, append(rest, fs.Args()...))
		}
		rest = append(rest, fs.Arg(0))
		args = fs.Args()[1:]
		if len(args) > 0 && args[0] == "--" {
			return body(std, append(rest, args...))
		}
	}
}

// Errors of package flag, which it returns as texts alone.
var (
	badValue    = lazyregexp.New(`(?s)^invalid (?:boolean )?value (".*") for (?:flag )?-([^:]*): (.*)$`)
	unknownFlag = lazyregexp.New(`^flag provided but not defined: -(.*)$`)
	lacksValue  = lazyregexp.New(`^flag needs an argument: -(.*)$`)
)

// flagError says what is wrong with a flag as tpsh does. before are the other arguments
// that stand before it.
func flagError(fs *flag.FlagSet, before []string, err error) error {
	text := err.Error()
	if m := badValue.Get().FindStringSubmatch(text); m != nil {
		return fmt.Errorf("for flag %s: got %s, want %s", dashed(m[2]), m[1], wanted(fs, m[2]))
	}
	if m := lacksValue.Get().FindStringSubmatch(text); m != nil {
		return fmt.Errorf("for flag %s: got nothing, want %s", dashed(m[1]), wanted(fs, m[1]))
	}
	if m := unknownFlag.Get().FindStringSubmatch(text); m != nil {
		var names []string
		fs.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
		near := spell.Nearest(m[1], names)
		if n := strings.TrimPrefix(m[1], "n"); n != m[1] && n != "" && strings.Trim(n, "0123456789") == "" {
			return fmt.Errorf("%s has no flag %s: did you mean -n %s?", fs.Name(), dashed(m[1]), n)
		}
		if other, ok := launcherFlags[m[1]]; ok && slices.Contains(names, other) {
			near = other
		}
		script := slices.IndexFunc(before, func(a string) bool { return filepath.Ext(a) == ".star" })
		switch {
		case near != "":
			near = ": did you mean " + dashed(near) + "?"
		case script >= 0:
			near = ": flags of " + before[script] + " stand behind --"
		}
		return fmt.Errorf("%s has no flag %s%s", fs.Name(), dashed(m[1]), near)
	}
	return err
}

// launcherFlags are flags of other launchers, and those of tpsh that are like them.
var launcherFlags = map[string]string{
	"np": "n", "nproc": "n", "nprocs": "n", "ranks": "n", "num-ranks": "n", "world-size": "n", "ntasks": "n", "p": "n", "t": "transport", "j": "n", "N": "nnodes", "nproc_per_node": "nproc-per-node", "nproc-per-host": "nproc-per-node",
	"num-nodes": "nnodes", "node_rank": "node-rank", "master-addr": "rdzv", "master_addr": "rdzv", "rdzv-endpoint": "rdzv", "rdzv_endpoint": "rdzv", "backend": "transport", "mem": "max-mem", "steps": "max-steps", "memory": "max-mem", "k": "run", "x": "failfast", "coverage": "cover",
}

// wanted says what a flag takes: "N (run on N ranks)".
func wanted(fs *flag.FlagSet, name string) string {
	f := fs.Lookup(name)
	if f == nil {
		return "a value"
	}
	value, text := flag.UnquoteUsage(f)
	if value == "" {
		value = "true or false"
	}
	return value + " (" + text + ")"
}

// dashed returns a flag as it is written: -n, --seed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// help prints what the command does and its flags.
func (c *command) help(w io.Writer) {
	fmt.Fprintf(w, "usage: tpsh %s %s\n\n%s\n", c.name, c.usage, c.short)
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	c.setup(fs)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	first := true
	fs.VisitAll(func(f *flag.Flag) {
		if first {
			fmt.Fprintln(tw)
			first = false
		}
		value, text := flag.UnquoteUsage(f)
		fmt.Fprintf(tw, "  %s %s\t%s\n", dashed(f.Name), value, text)
	})
	tw.Flush()
}

var helpCommand = &command{
	name:  "help",
	usage: "[COMMAND | SCRIPT.star]",
	short: "shows what the commands do, or what flags a script has",
	files: ".star",
	setup: func(*flag.FlagSet) func(*stdio, []string) error { return help },
}

func help(std *stdio, args []string) error {
	if len(args) > 1 {
		return usagef("help: got %d arguments, want at most 1", len(args))
	}
	if len(args) == 1 {
		c := lookup(args[0])
		if c == nil && strings.HasSuffix(args[0], ".star") {
			return helpScript(std.out, args[0])
		}
		if c == nil {
			return usagef("help: unknown command %q", args[0])
		}
		c.help(std.out)
		return nil
	}
	fmt.Fprint(std.out, "Tpsh runs scripts of sharded tensor programs on several ranks.\n\n")
	tw := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	for _, c := range commands {
		fmt.Fprintf(tw, "  tpsh %s %s\t%s\n", c.name, c.usage, c.short)
	}
	fmt.Fprintf(tw, "\nA bare tpsh starts the shell.\n")
	return tw.Flush()
}

package repl

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"tpsh/lang"
)

// A Command is the function of lines that begin with a colon and its name.
type Command struct {
	Name  string // without the colon
	Usage string // its arguments: "FILE"; "" if it takes none
	Help  string // one line
	// Run runs the command with the rest of the line. Its error is shown.
	Run func(ctx context.Context, s *Shell, arg string) error
	// Complete completes its arguments; nil for a statement.
	Complete Completer
}

// builtinCommands returns the commands that every shell has.
func builtinCommands() []Command {
	return []Command{
		{Name: "help", Usage: "", Help: "lists the commands", Run: help},
		{Name: "ranks", Usage: "N", Help: "restarts with N ranks and no variables", Run: setRanks},
		{Name: "rank", Usage: "R EXPR", Help: "evaluates an expression on one rank", Run: onRank},
		{Name: "who", Usage: "", Help: "lists the variables", Run: who},
		{Name: "time", Usage: "STMT", Help: "runs a statement and says how long it took", Run: timeStatement},
		{Name: "load", Usage: "FILE", Help: "runs a file as if it had been typed", Run: load, Complete: CompleteFile},
		{Name: "save", Usage: "FILE", Help: "writes what ran well to a new file, a script that does the same", Run: save, Complete: CompleteFile},
		{Name: "undo", Usage: "", Help: "goes back to before the last statement: runs anew all that came before it", Run: undo},
		{Name: "doc", Usage: "NAME", Help: "shows the documentation of a name, as help(NAME) and NAME? do", Run: doc},
		{Name: "break", Usage: "[FILE:LINE [if COND]]", Help: "stops statements there; more when one has stopped: help at its prompt", Run: debugLine("break")},
		{Name: "clear", Usage: "[N]", Help: "removes breakpoint N, or all", Run: debugLine("clear")},
		{Name: "step", Help: "goes on to the next statement, into functions", Run: stopped},
		{Name: "next", Help: "goes on to the next statement of the same function", Run: stopped},
		{Name: "where", Help: "shows where every rank has stopped", Run: stopped},
		{Name: "locals", Help: "shows the variables of the function that has stopped", Run: stopped},
		{Name: "continue", Help: "goes on to the next breakpoint", Run: stopped},
		{Name: "until", Usage: "collective", Help: "goes on to the next collective of every rank", Run: stopped},
		{Name: "quit", Usage: "", Help: "ends the shell", Run: quit},
	}
}

// command runs a command line, given without its colon.
func (s *Shell) command(ctx context.Context, line string) {
	name, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	i := slices.IndexFunc(s.commands, func(c Command) bool { return c.Name == name })
	err := fmt.Errorf("unknown command; :help lists them")
	if i >= 0 {
		c := s.commands[i]
		if (arg == "") == (c.Usage == "") || strings.HasPrefix(c.Usage, "[") {
			err = c.Run(ctx, s, arg)
		} else {
			err = fmt.Errorf("want :%s", strings.TrimSpace(c.Name+" "+c.Usage))
		}
	}
	if err != nil {
		fmt.Fprintf(s.opts.Err, ":%s: %v\n", name, err)
		s.status = lang.StatusFailed
	}
}

// debugLine returns the Run of a command of the debugger that is for now and later.
func debugLine(word string) func(context.Context, *Shell, string) error {
	return func(_ context.Context, s *Shell, arg string) error {
		s.prompt.Do(word + " " + arg)
		return nil
	}
}

// stopped is the Run of commands for statements that have stopped, whose prompt takes
// them.
func stopped(context.Context, *Shell, string) error {
	return errors.New("nothing has stopped (:break FILE:LINE or breakpoint() stop a statement)")
}

func help(_ context.Context, s *Shell, _ string) error {
	w := tabwriter.NewWriter(s.opts.Out, 0, 0, 2, ' ', 0)
	for _, c := range s.commands {
		fmt.Fprintf(w, ":%s\t%s\n", strings.TrimSpace(c.Name+" "+c.Usage), c.Help)
	}
	return w.Flush()
}

func quit(_ context.Context, s *Shell, _ string) error {
	s.quit = true
	return nil
}

func setRanks(_ context.Context, s *Shell, arg string) error {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return fmt.Errorf("got %s, want a number of ranks", arg)
	}
	if err := s.restart(n); err != nil {
		return err
	}
	fmt.Fprintf(s.opts.Out, "%s, no variables\n", ranks(s.session.Size()))
	return nil
}

func onRank(ctx context.Context, s *Shell, arg string) error {
	number, source, _ := strings.Cut(arg, " ")
	rank, err := strconv.Atoi(number)
	if err != nil || strings.TrimSpace(source) == "" {
		return errors.New("want :rank R EXPR")
	}
	if rank < 0 || rank >= s.session.Size() {
		return fmt.Errorf("got rank %d, want one from 0 to %d", rank, s.session.Size()-1)
	}
	p := s.program(source, s.in.line)
	p.Ranks = []int{rank}
	if s.run(ctx, p, "") {
		s.keep(entry{program: p})
	}
	return nil
}

// who lists the variables, each once where the ranks agree.
func who(ctx context.Context, s *Shell, _ string) error {
	vars, err := s.session.Variables(ctx)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(s.opts.Out, 0, 0, 2, ' ', 0)
	for _, name := range variableNames(vars) {
		var ranks []int
		var rows []string
		for rank, list := range vars {
			for _, v := range list {
				if v.Name == name {
					ranks = append(ranks, rank)
					rows = append(rows, v.Type+" "+v.Text)
				}
			}
		}
		for row := range strings.Lines(lang.MergeValues(len(vars), ranks, rows)) {
			fmt.Fprintf(w, "%s\t%s", name, row)
		}
	}
	return w.Flush()
}

// variableNames returns the names that some rank has, sorted.
func variableNames(vars [][]lang.Variable) []string {
	var names []string
	for _, v := range slices.Concat(vars...) {
		names = append(names, v.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func timeStatement(ctx context.Context, s *Shell, arg string) error {
	begin := time.Now()
	s.Exec(ctx, arg)
	fmt.Fprintf(s.opts.Out, "took %v\n", time.Since(begin).Round(time.Microsecond))
	return nil
}

func load(ctx context.Context, s *Shell, arg string) error {
	p, err := lang.ReadProgram(s.path(arg))
	if err != nil {
		return err
	}
	p.Path = arg
	s.run(ctx, p, p.Source)
	return nil
}

// complete completes a line: the name of a command, or a name that the ranks know.
func (s *Shell) complete(ctx context.Context, line string) (start int, names []string) {
	source, offset := line, 0
	if strings.HasPrefix(line, ":") {
		command, arg, more := strings.Cut(line, " ")
		if !more {
			for _, c := range s.commands {
				if name := ":" + c.Name; strings.HasPrefix(name, command) {
					names = append(names, name+" ")
				}
			}
			slices.Sort(names)
			return 0, names
		}
		offset = len(command) + 1
		source = line[offset:]
		if i := slices.IndexFunc(s.commands, func(c Command) bool { return ":"+c.Name == command && c.Complete != nil }); i >= 0 {
			start, names := s.commands[i].Complete(arg)
			return offset + start, names
		}
	}
	start, names, err := s.session.Complete(ctx, source)
	if err != nil {
		return len(line), nil
	}
	return offset + start, names
}

// CompleteFile completes the path of a file.
func CompleteFile(path string) (start int, names []string) {
	start = strings.LastIndexByte(path, '/') + 1
	list, err := os.ReadDir(cmp.Or(path[:start], "."))
	if err != nil {
		return start, nil
	}
	for _, f := range list {
		name := f.Name()
		if f.IsDir() {
			name += "/"
		}
		if strings.HasPrefix(name, path[start:]) && (name[0] != '.' || path[start:] != "") {
			names = append(names, name)
		}
	}
	return start, names
}

package debug

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"tpsh/lang"
	"tpsh/lang/halt"
)

// A Prompt lets a user look at ranks that have stopped by lines of text.
type Prompt struct {
	C *Controller
	// Read returns the next line behind a prompt. At an error the program goes on
	// without stopping again.
	Read func(prompt string) (string, error)
	Out  io.Writer
	// Source returns the text of a file as positions show its path; nil for those
	// that can be read.
	Source func(path string) (string, bool)

	rank, frame int // that are looked at
	stop        Stop
	last        string // the line before, which an empty one repeats
}

// A verb carries out lines by their first word.
type verb struct {
	names []string
	usage string
	help  string
	run   func(p *Prompt, arg string) (goesOn bool, err error)
}

// verbs returns the verbs, in the order of their help.
func verbs() []verb {
	step := func(s halt.Step) func(*Prompt, string) (bool, error) {
		return func(p *Prompt, _ string) (bool, error) {
			p.C.Go(s, nil)
			return true, nil
		}
	}
	return []verb{
		{[]string{"continue", "c"}, "", "goes on to the next breakpoint", step(halt.Go)},
		{[]string{"step", "s"}, "", "goes on to the next statement, into functions", step(halt.In)},
		{[]string{"next", "n"}, "", "goes on to the next statement of the same function", step(halt.Next)},
		{[]string{"out", "finish"}, "", "goes on to behind the call of the function", step(halt.Out)},
		{[]string{"until"}, "collective", "goes on until every rank is about to make a collective", (*Prompt).until},
		{[]string{"break", "b"}, "FILE:LINE [if COND] [differs EXPR] [on RANKS]", "sets a breakpoint; without FILE in the file at hand; break errors stops at errors, break caught at those that the program catches; alone lists them", (*Prompt).setBreak},
		{[]string{"clear"}, "[N]", "removes breakpoint N, or all", (*Prompt).clear},
		{[]string{"where", "w", "bt"}, "", "shows where every rank is, and the calls of the one at hand", (*Prompt).where},
		{[]string{"rank"}, "R", "looks at another rank", (*Prompt).setRank},
		{[]string{"frame"}, "N", "looks at another call of its stack; up and down go to its neighbours", (*Prompt).setFrame},
		{[]string{"up"}, "", "", (*Prompt).up},
		{[]string{"down"}, "", "", (*Prompt).down},
		{[]string{"list", "l"}, "", "shows the lines around", (*Prompt).list},
		{[]string{"locals"}, "", "shows the variables, and where ranks differ", (*Prompt).locals},
		{[]string{"globals"}, "", "shows the variables of the file", (*Prompt).globals},
		{[]string{"set"}, "NAME = EXPR [on RANKS]", "changes a variable, an item or an attribute, as an assignment alone does on all ranks", (*Prompt).set},
		{[]string{"print", "p"}, "EXPR", "evaluates on all ranks, as a line that is no command does", (*Prompt).print},
		{[]string{"quit", "q"}, "", "ends the program", (*Prompt).quit},
		{[]string{"help", "h"}, "", "lists this", (*Prompt).help},
	}
}

// See has the lines that follow be about a Stop, without showing it.
func (p *Prompt) See(stop Stop) { p.stop, p.rank, p.frame = stop, max(stop.Rank, 0), 0 }

// Talk shows a Stop and carries out lines until one lets the ranks go on.
func (p *Prompt) Talk(stop Stop) {
	p.stop, p.rank, p.frame = stop, stop.Rank, 0
	p.tell()
	for p.C.Stopping() {
		line, err := p.Read("debug> ")
		if err != nil {
			p.C.Remove(func(Break) bool { return true })
			if !errors.Is(err, io.EOF) {
				p.C.Interrupt()
			}
			p.C.Go(halt.Go, nil)
			return
		}
		if goesOn := p.Do(line); goesOn {
			return
		}
	}
}

// Do carries out a line, and reports whether the ranks go on.
func (p *Prompt) Do(line string) (goesOn bool) {
	line = strings.TrimPrefix(strings.TrimSpace(line), ":")
	line = cmp.Or(line, p.last)
	p.last = line
	if len(p.stop.Ranks) > 0 && !p.C.Stopping() {
		p.stop = Stop{}
	}
	if lang.IsAssignment(line) {
		line = "set " + line
	}
	word, arg, _ := strings.Cut(line, " ")
	arg = strings.TrimSpace(arg)
	list := verbs()
	i := slices.IndexFunc(list, func(v verb) bool { return slices.Contains(v.names, word) })
	if i >= 0 && (arg == "" || list[i].usage != "") {
		goesOn, err := list[i].run(p, arg)
		if err != nil {
			fmt.Fprintf(p.Out, "%s: %v\n", word, err)
		}
		return goesOn
	}
	if line != "" {
		if _, err := p.print(line); err != nil {
			fmt.Fprintln(p.Out, err)
		}
	}
	return false
}

func (p *Prompt) until(arg string) (bool, error) {
	if arg != "collective" {
		return false, errors.New("want until collective")
	}
	p.C.Go(halt.Collective, nil)
	return true, nil
}

func (p *Prompt) quit(string) (bool, error) {
	p.C.Interrupt()
	return true, nil
}

func (p *Prompt) help(string) (bool, error) {
	for _, v := range verbs() {
		if v.help != "" {
			fmt.Fprintf(p.Out, "%-16s %s\n", strings.TrimSpace(strings.Join(v.names, ", ")+" "+v.usage), v.help)
		}
	}
	return false, nil
}

func (p *Prompt) setBreak(arg string) (bool, error) {
	if arg == "" {
		for _, b := range p.C.Breaks() {
			fmt.Fprintln(p.Out, b)
		}
		return false, nil
	}
	switch arg {
	case "errors":
		p.C.StopAtErrors(true)
		return false, nil
	case "caught":
		p.C.StopAtCaught(true)
		return false, nil
	}
	b, err := ParseBreak(arg, p.file())
	if err != nil {
		return false, err
	}
	if text, err := os.ReadFile(b.File); err == nil {
		if err := b.Check(string(text)); err != nil {
			return false, err
		}
	}
	b.ID = p.C.Add(b)
	fmt.Fprintln(p.Out, b)
	return false, nil
}

// file returns the path of the file at hand, or "".
func (p *Prompt) file() string {
	if len(p.stop.Ranks) == 0 || p.rank >= len(p.stop.Ranks) {
		return ""
	}
	return string(p.stop.Ranks[p.rank].Where.Path)
}

func (p *Prompt) clear(arg string) (bool, error) {
	n, err := strconv.Atoi(cmp.Or(arg, "0"))
	if err != nil {
		return false, fmt.Errorf("got %s, want the number of a breakpoint", arg)
	}
	if p.C.Remove(func(b Break) bool { return n == 0 || b.ID == n }) == 0 {
		return false, fmt.Errorf("there is no breakpoint %s", arg)
	}
	return false, nil
}

func (p *Prompt) setRank(arg string) (bool, error) {
	r, err := strconv.Atoi(arg)
	if err != nil || r < 0 || r >= len(p.stop.Ranks) {
		return false, fmt.Errorf("got %q, want a rank from 0 to %d", arg, len(p.stop.Ranks)-1)
	}
	p.rank, p.frame = r, 0
	fmt.Fprintln(p.Out, place(r, p.stop.Ranks[r]))
	return p.list("")
}

func (p *Prompt) setFrame(arg string) (bool, error) {
	n, err := strconv.Atoi(arg)
	if err != nil {
		return false, fmt.Errorf("got %q, want a number", arg)
	}
	return p.goTo(n)
}

func (p *Prompt) up(string) (bool, error)   { return p.goTo(p.frame + 1) }
func (p *Prompt) down(string) (bool, error) { return p.goTo(p.frame - 1) }

func (p *Prompt) goTo(n int) (bool, error) {
	frames, err := p.frames()
	if err != nil {
		return false, err
	}
	if n < 0 || n >= len(frames) {
		return false, fmt.Errorf("got frame %d, want one from 0 to %d", n, len(frames)-1)
	}
	p.frame = n
	return p.list("")
}

// frames returns the calls of the rank at hand.
func (p *Prompt) frames() ([]lang.Spot, error) {
	a, err := p.C.Ask(p.rank, lang.Question{What: lang.AskFrames})
	if err != nil {
		return nil, err
	}
	if a.Standing == lang.Running {
		return nil, fmt.Errorf("rank %d runs", p.rank)
	}
	return a.Frames, nil
}

// source returns the lines of a file.
func (p *Prompt) source(path string) []string {
	if p.Source != nil {
		if text, ok := p.Source(path); ok {
			return strings.Split(text, "\n")
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return strings.Split(string(text), "\n")
}

package main

import (
	"flag"
	"fmt"
	"io"
	"strings"

	"tpsh/runtime/hardware"
	"tpsh/runtime/kernel"
)

var completionCommand = &command{
	name:    "completion",
	usage:   "bash | zsh | fish",
	short:   "prints what a shell needs to complete the commands, flags and files of tpsh",
	files:   noFiles,
	actions: shells,
	setup: func(*flag.FlagSet) func(*stdio, []string) error {
		return func(std *stdio, args []string) error {
			if len(args) != 1 {
				return usagef("completion: got %d arguments, want one: %s", len(args), orList(shells))
			}
			write := completions[args[0]]
			if write == nil {
				return usagef("completion: got %q, want %s", args[0], orList(shells))
			}
			_, err := io.WriteString(std.out, write(completionTable()))
			return err
		}
	},
}

// shells are those that completions are written for.
var shells = []string{"bash", "zsh", "fish"}

// completions write the completion of a shell.
var completions = map[string]func([]completed) string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}

// A completed is a command as shells complete it.
type completed struct {
	name, short string
	flags       []completedFlag
	words       []string // that may stand for its arguments, beside files
	doc         bool     // its arguments are names of the language
	files       string   // as in command
}

// A completedFlag is a flag as shells complete it.
type completedFlag struct {
	name, text string
	value      bool     // it takes one
	choices    []string // of which the value is one; nil for anything
	folder     bool     // the value is a folder
}

// completionTable returns the commands with the flags that they themselves declare.
func completionTable() []completed {
	var table []completed
	for _, c := range commands {
		fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
		c.setup(fs)
		one := completed{name: c.name, short: c.short, files: c.files, words: c.actions, doc: c == docCommand}
		fs.VisitAll(func(f *flag.Flag) { one.flags = append(one.flags, completedFlagOf(f)) })
		table = append(table, one)
	}
	return table
}

func completedFlagOf(f *flag.Flag) completedFlag {
	value, text := flag.UnquoteUsage(f)
	out := completedFlag{name: dashed(f.Name), text: text, value: value != ""}
	if b, ok := f.Value.(interface{ IsBoolFlag() bool }); ok && b.IsBoolFlag() {
		out.value = false
	}
	switch {
	case f.Name == "transport":
		out.choices = transports()
	case f.Name == "output":
		out.choices = []string{"merged", "raw", "rank0"}
	case f.Name == "kernels":
		out.choices = kernelNames(kernel.Known())
	case f.Name == "hw":
		out.choices = append([]string{hereName}, hardware.Names()...)
	case value == "DIR":
		out.folder = true
	}
	return out
}

// bashCompletion completes by a function that looks at the command and at the flag
// before the cursor. What begins with a - is a flag.
func bashCompletion(table []completed) string {
	var b strings.Builder
	b.WriteString("# bash completion of tpsh: source <(tpsh completion bash)\n_tpsh() {\n")
	b.WriteString("    local cur prev cmd i files= words= flags= doc=\n    COMPREPLY=()\n    cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n")
	b.WriteString("    cmd=${COMP_WORDS[1]}\n    if ((COMP_CWORD == 1)); then\n")
	fmt.Fprintf(&b, "        COMPREPLY=($(compgen -W %q -- \"$cur\"))\n        return\n    fi\n", strings.Join(commandNames(), " "))
	b.WriteString("    for ((i = 2; i < COMP_CWORD; i++)); do\n        if [[ ${COMP_WORDS[i]} == -- ]]; then\n            COMPREPLY=($(compgen -f -- \"$cur\"))\n            return\n        fi\n    done\n")
	b.WriteString("    case $cmd in\n")
	for _, c := range table {
		c.bash(&b)
	}
	b.WriteString("    esac\n")
	b.WriteString("    if [[ $cur == -* ]]; then\n        COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n        return\n    fi\n")
	b.WriteString("    if [[ -n $doc ]]; then\n        words=$(tpsh doc 2>/dev/null)\n    fi\n")
	b.WriteString("    COMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n")
	b.WriteString("    case $files in\n    -) ;;\n    '') COMPREPLY+=($(compgen -f -- \"$cur\")) ;;\n")
	b.WriteString("    *)  compopt -o filenames 2>/dev/null\n        COMPREPLY+=($(compgen -d -- \"$cur\") $(compgen -f -X \"!*$files\" -- \"$cur\")) ;;\n    esac\n}\n")
	b.WriteString("complete -F _tpsh tpsh\n")
	return b.String()
}

// bash writes the case of a command.
func (c *completed) bash(b *strings.Builder) {
	var all []string
	fmt.Fprintf(b, "    %s)\n", c.name)
	b.WriteString("        case $prev in\n")
	for _, f := range c.flags {
		all = append(all, f.name)
		switch {
		case f.choices != nil:
			fmt.Fprintf(b, "        %s) COMPREPLY=($(compgen -W %q -- \"$cur\")); return ;;\n", f.name, strings.Join(f.choices, " "))
		case f.folder:
			fmt.Fprintf(b, "        %s) compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- \"$cur\")); return ;;\n", f.name)
		case f.value:
			fmt.Fprintf(b, "        %s) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", f.name)
		}
	}
	b.WriteString("        esac\n")
	fmt.Fprintf(b, "        flags=%q words=%q files=%q", strings.Join(all, " "), strings.Join(c.words, " "), c.files)
	if c.doc {
		b.WriteString(" doc=1")
	}
	b.WriteString(" ;;\n")
}

// zshCompletion completes by _arguments, one set for each command.
func zshCompletion(table []completed) string {
	var b strings.Builder
	b.WriteString("#compdef tpsh\n# zsh completion of tpsh: source <(tpsh completion zsh), or as _tpsh in a folder of $fpath\n_tpsh() {\n    local -a commands\n    commands=(\n")
	for _, c := range table {
		fmt.Fprintf(&b, "        '%s:%s'\n", c.name, zshText(c.short))
	}
	b.WriteString("    )\n    if ((CURRENT == 2)); then\n        _describe command commands\n        return\n    fi\n    local cmd=$words[2]\n    shift words\n    ((CURRENT--))\n    case $cmd in\n")
	for _, c := range table {
		fmt.Fprintf(&b, "    %s)\n        _arguments", c.name)
		for _, f := range c.flags {
			fmt.Fprintf(&b, " \\\n            '*%s[%s]%s'", f.name, zshText(f.text), f.zshValue())
		}
		fmt.Fprintf(&b, " \\\n            '*:argument:%s' ;;\n", c.zshArguments())
	}
	b.WriteString("    esac\n}\nif [[ $zsh_eval_context[-1] == loadautoload ]]; then\n    _tpsh \"$@\"\nelse\n    compdef _tpsh tpsh\nfi\n")
	return b.String()
}

func (f *completedFlag) zshValue() string {
	switch {
	case f.choices != nil:
		return ":value:(" + strings.Join(f.choices, " ") + ")"
	case f.folder:
		return ":folder:_files -/"
	case f.value:
		return ":value:_files"
	}
	return ""
}

func (c *completed) zshArguments() string {
	switch {
	case c.doc:
		return "($(tpsh doc 2>/dev/null))"
	case len(c.words) > 0 && c.files == noFiles:
		return "(" + strings.Join(c.words, " ") + ")"
	case c.files == noFiles:
		return ""
	case len(c.words) > 0:
		files := *c
		files.words = nil
		return "{compadd " + strings.Join(c.words, " ") + "; " + files.zshArguments() + "}"
	case c.files != "":
		return "_files -g \"*" + c.files + "\""
	}
	return "_files"
}

// zshText returns a text as it stands in a description between single quotes.
func zshText(s string) string {
	return strings.NewReplacer("'", "'\\''", "[", "\\[", "]", "\\]", ":", "\\:", "`", "").Replace(s)
}

// fishCompletion is a line for each command and flag.
func fishCompletion(table []completed) string {
	var b strings.Builder
	b.WriteString("# fish completion of tpsh: tpsh completion fish | source\n" +
		"function __tpsh_is\n    set -l words (commandline -opc)\n    test (count $words) -gt 1; and test $words[2] = $argv[1]; and not contains -- -- $words\nend\n" +
		"function __tpsh_files\n    __fish_complete_suffix $argv[1] | string match -er \"(/|\\\\$argv[1])(\\\\t|\\$)\"\nend\n" +
		"complete -c tpsh -f\ncomplete -c tpsh -n 'contains -- -- (commandline -opc)' -F\n")
	for _, c := range table {
		fmt.Fprintf(&b, "complete -c tpsh -n __fish_use_subcommand -a %s -d %s\n", c.name, fishText(c.short))
		in := fmt.Sprintf("-n '__tpsh_is %s'", c.name)
		for _, f := range c.flags {
			b.WriteString("complete -c tpsh " + in + f.fish() + "\n")
		}
		if len(c.words) > 0 {
			fmt.Fprintf(&b, "complete -c tpsh %s -a '%s'\n", in, strings.Join(c.words, " "))
		}
		switch {
		case c.doc:
			fmt.Fprintf(&b, "complete -c tpsh %s -a '(tpsh doc 2>/dev/null)'\n", in)
		case c.files == "":
			fmt.Fprintf(&b, "complete -c tpsh %s -F\n", in)
		case c.files != noFiles:
			fmt.Fprintf(&b, "complete -c tpsh %s -a '(__tpsh_files %s)'\n", in, c.files)
		}
	}
	return b.String()
}

func (f *completedFlag) fish() string {
	name := strings.TrimLeft(f.name, "-")
	out := " -l " + name
	if len(name) == 1 {
		out = " -s " + name
	}
	switch {
	case f.choices != nil:
		out += " -x -a '" + strings.Join(f.choices, " ") + "'"
	case f.folder:
		out += " -x -a '(__fish_complete_directories)'"
	case f.value:
		out += " -r"
	}
	return out + " -d " + fishText(f.text)
}

// fishText returns a text between single quotes.
func fishText(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "`", "").Replace(s) + "'"
}

package main

import (
	"flag"
	"fmt"

	"tpsh/builtins"
	"tpsh/internal/spell"
	"tpsh/lang"
)

var docCommand = &command{
	name:  "doc",
	usage: "[NAME]",
	short: "explains a name of the language, or lists them all",
	setup: func(*flag.FlagSet) func(*stdio, []string) error { return doc },
}

func doc(std *stdio, args []string) error {
	switch len(args) {
	case 0:
		for _, name := range builtins.Names() {
			fmt.Fprintln(std.out, name)
		}
		return nil
	case 1:
		text, ok := builtins.Doc(args[0])
		if !ok {
			fmt.Fprintf(std.err, "tpsh: doc: no name %q%s\n", args[0], didYouMean(args[0], builtins.Names()))
			return status(lang.StatusFailed)
		}
		fmt.Fprintln(std.out, text)
		return nil
	}
	return usagef("doc: got %d names, want at most 1", len(args))
}

// didYouMean returns a suggestion of the name that is nearest to x, or "".
func didYouMean(x string, names []string) string {
	if near := spell.Nearest(x, names); near != "" {
		return fmt.Sprintf(": did you mean %s?", near)
	}
	return ""
}

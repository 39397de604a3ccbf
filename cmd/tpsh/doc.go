package main

import (
	"flag"
	"fmt"
	"strings"

	"tpsh/builtins"
	"tpsh/internal/spell"
	"tpsh/lang"
	hints "tpsh/lang/advice"
)

var docCommand = &command{
	name:  "doc",
	usage: "[NAME | -k WORD]",
	short: "explains a name of the language, lists them all, or those about a word",
	files: noFiles,
	setup: func(fs *flag.FlagSet) func(*stdio, []string) error {
		word := fs.String("k", "", "list the names whose name or documentation has `WORD`")
		return func(std *stdio, args []string) error {
			if *word != "" {
				return docAbout(std, *word)
			}
			return doc(std, args)
		}
	},
}

// docAbout lists the names whose name, documentation or synonym has a word.
func docAbout(std *stdio, word string) error {
	word = strings.ToLower(word)
	about := map[string]string{}
	for other, name := range hints.Elsewhere {
		if strings.Contains(strings.ToLower(other), word) {
			about[name] = "  (" + other + " elsewhere)"
		}
	}
	found := 0
	for _, name := range builtins.Names() {
		text, _ := builtins.Doc(name)
		if !strings.Contains(strings.ToLower(name+"\n"+text), word) && about[name] == "" {
			continue
		}
		found++
		first, _, _ := strings.Cut(text, "\n")
		fmt.Fprintf(std.out, "%-28s %s%s\n", name, first, about[name])
	}
	if found == 0 {
		fmt.Fprintf(std.err, "tpsh: doc: nothing about %q\n", word)
		return status(lang.StatusFailed)
	}
	return nil
}

func doc(std *stdio, args []string) error {
	switch len(args) {
	case 0:
		for _, name := range builtins.Names() {
			fmt.Fprintln(std.out, name)
		}
		return nil
	case 1:
		return docOf(std, args[0])
	}
	return usagef("doc: got %d names, want at most 1", len(args))
}

// docOf explains a name, or what is called so elsewhere.
func docOf(std *stdio, name string) error {
	text, err := docText(name)
	if err != nil {
		fmt.Fprintf(std.err, "tpsh: doc: %v (tpsh doc -k WORD looks for a word)\n", err)
		return status(lang.StatusFailed)
	}
	fmt.Fprintln(std.out, text)
	return nil
}

// docText returns the documentation of a name, or of what is called so elsewhere.
func docText(name string) (string, error) {
	text, ok := builtins.Doc(name)
	if other := hints.Elsewhere[name]; !ok && other != "" {
		if text, ok = builtins.Doc(other); ok {
			text = fmt.Sprintf("%s is called %s here.\n%s", name, other, text)
		}
	}
	if ok {
		return text, nil
	}
	if text := adviceOn(name); text != "" {
		return "", fmt.Errorf("no name %q: %s", name, text)
	}
	return "", fmt.Errorf("no name %q%s", name, didYouMean(name, builtins.Names()))
}

// adviceOn returns what to write for a name that others have, or "".
func adviceOn(name string) string {
	parts := strings.Split(name, ".")
	text := hints.Undefined(parts[0], parts[1:], func(name string) bool { _, ok := builtins.Doc(name); return ok })
	if last := parts[len(parts)-1]; text == "" && len(parts) > 1 {
		text = hints.Undefined(last, nil, func(string) bool { return false })
	}
	return text
}

// didYouMean returns a suggestion of the name that is nearest to x, or "".
func didYouMean(x string, names []string) string {
	if near := spell.Nearest(x, names); near != "" {
		return fmt.Sprintf(": did you mean %s?", near)
	}
	return ""
}

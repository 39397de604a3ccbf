package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"tpsh/builtins"
	"tpsh/internal/spell"
	"tpsh/lang"
)

// cutWords returns the arguments of a command, and the words behind --, which
// are for scripts.
func cutWords(args []string) (before, words []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i], args[i+1:]
	}
	return args, nil
}

// checkFlags returns the flags of programs, and a usage error if words, which stand behind --, hold a flag
// that none of the programs has, or words that nothing reads, or with values one that its flag does not take. A
// program without a flag reads the words itself.
func checkFlags(words []string, values bool, programs ...lang.Program) (known *lang.Flags, err error) {
	known = new(lang.Flags)
	for _, p := range programs {
		f := p.ReadFlags()
		known.List = append(known.List, f.List...)
		known.Computed, known.Words = known.Computed || f.Computed, known.Words || f.Words
		known.Stops = known.Stops || f.Stops
	}
	if known.Computed || len(known.List) == 0 {
		return known, nil // what is unknown shows in the end
	}
	return known, checkWords(words, values, known)
}

// checkWords checks words against all the flags that there are, and with values those of which the source shows
// the kind.
func checkWords(words []string, values bool, known *lang.Flags) error {
	for i := 0; i < len(words) && words[i] != "--"; i++ {
		rest, isFlag := strings.CutPrefix(words[i], "--")
		if !isFlag {
			if err := checkStray(words[i], known); err != nil {
				return err
			}
			continue
		}
		name, text, inOne := strings.Cut(rest, "=")
		name = strings.ReplaceAll(name, "_", "-")
		f := known.Find(name)
		if f == nil {
			f = known.Find(strings.TrimPrefix(name, "no-"))
		}
		if f == nil {
			return usagef("the script has no flag --%s%s", name, flagLike(name, known))
		}
		takesValue := f.Kind != "" && !inOne
		if takesValue && i+1 < len(words) && !strings.HasPrefix(words[i+1], "--") {
			i++
			text, inOne = words[i], true
		}
		kind := kindIn(known, f)
		if want, ok := builtins.FlagWant(kind, text); values && inOne && !ok {
			return usagef("for flag --%s: got %q, want %s", f.Name, text, want)
		}
		if values && takesValue && !inOne && kind != "value" {
			return usagef("for flag --%s: got nothing, want a value behind it (one that begins with -- is written --%s=VALUE)", f.Name, f.Name)
		}
	}
	return nil
}

// kindIn returns the kind of a flag, "value" if several calls that read it want different kinds.
func kindIn(known *lang.Flags, f *lang.Flag) string {
	for _, other := range known.List {
		if other.Name == f.Name && other.Kind != f.Kind {
			return "value"
		}
	}
	return f.Kind
}

// checkStray returns an error if a word that is no flag and no flag's value is
// for nobody.
func checkStray(word string, known *lang.Flags) error {
	name := strings.TrimLeft(word, "-")
	if name != word && known.Find(name) != nil {
		return usagef("the script has no flag %s: did you mean --%s?", word, name)
	}
	if known.Words {
		return nil
	}
	if known.Find(name) != nil {
		return usagef("got %q behind --, which is no flag: did you mean --%s?", word, name)
	}
	return usagef("got %q behind --, where the script takes flags alone: --%s", word, strings.Join(known.Names(), ", --"))
}

// flagLike suggests the flag that is nearest to name, or lists them.
func flagLike(name string, known *lang.Flags) string {
	if near := spell.Nearest(name, known.Names()); near != "" {
		return ": did you mean --" + near + "?"
	}
	names := slices.Clone(known.Names())
	slices.Sort(names)
	return ", but --" + strings.Join(names, ", --")
}

// helpScript prints the docstring of a script and its flags.
func helpScript(w io.Writer, path string) error {
	p, err := lang.ReadProgram(path)
	if err != nil {
		return fileError{err}
	}
	p.Folders = new(limits).folders()
	if _, err := lang.Parse(p.Path, p.Source, 1); err != nil {
		return err
	}
	f := p.ReadFlags()
	more := ""
	if len(f.List) > 0 || f.Words || f.Computed {
		more = " [-- FLAGS]"
	}
	fmt.Fprintf(w, "usage: tpsh run [-n N] %s%s\n", path, more)
	if f.Doc != "" {
		fmt.Fprintf(w, "\n%s\n", f.Doc)
	}
	if len(f.List) == 0 {
		return nil
	}
	fmt.Fprintln(w)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, one := range f.List {
		line := strings.TrimSpace("--" + one.Name + " " + strings.ToUpper(one.Kind))
		if about := describe(one); about != "" {
			line += "\t" + about
		}
		fmt.Fprintln(tw, "  "+line)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if f.Computed {
		fmt.Fprintln(w, "\nand flags whose names the script computes")
	}
	return nil
}

// describe says what a flag is for and its default.
func describe(f lang.Flag) string {
	text := strings.Join(strings.Fields(f.Doc), " ")
	if f.Kind == "" && f.Default == "False" || f.Default == "" {
		return text
	}
	return strings.TrimSpace(text + " (default " + f.Default + ")")
}

package builtins

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/internal/lazyregexp"
	"tpsh/internal/spell"
)

func init() {
	Register(&Row{
		Name: "flag",
		Doc: "flag(name, default, doc=\"\") returns what the command line says behind -- for --name, or default.\n" +
			"The value has the type of default: an int, a number, a string, a dtype, or a list or tuple of such, with commas.\n" +
			"A bool flag takes no value: --name is True, --no-name is False. --name=value is the same as --name value.\n" +
			"None as default stands for a string that may be left out. In name - and _ are one. A word behind -- that begins with --\n" +
			"and is no flag of the script is an error. `tpsh help SCRIPT.star` lists the flags of a script with their doc.\n" +
			"\n" +
			"    tpsh run train.star -- --layers 8 --tied\n" +
			">>> flag(\"layers\", 4, \"how many blocks the model has\")\n4\n" +
			">>> flag(\"tied\", False)\nFalse",
		Fn: readFlag,
	})
}

// flagName is how flags are called. The dashes before are no part of the name.
var flagName = lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]*$`)

func readFlag(e *Env, _ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var (
		name, doc arg.String
		otherwise starlark.Value
	)
	if err := arg.Unpack(b.Name(), args, kwargs, "name", &name, "default", &otherwise, "doc?", &doc); err != nil {
		return nil, err
	}
	if !flagName.Get().MatchString(string(name)) {
		return nil, arg.In(b.Name(), "name", arg.Bad(starlark.String(name), "letters, digits and dashes, without those in front", `flag("layers", 4) reads --layers`))
	}
	words := &flagWords{fn: b.Name(), words: e.Options.Args, name: string(name), isBool: isBool(otherwise)}
	text, given, err := words.find()
	if err != nil {
		return nil, err
	}
	e.asked = append(e.asked, foldFlag(string(name)))
	if err := checkDefault(b.Name(), otherwise); err != nil || !given {
		return otherwise, err
	}
	v, err := parseFlag(text, otherwise)
	if err != nil {
		return nil, &arg.CallError{Func: b.Name(), Text: fmt.Sprintf("for flag --%s: got %q, want %s", name, text, err)}
	}
	return v, nil
}

func isBool(v starlark.Value) bool {
	_, ok := v.(starlark.Bool)
	return ok
}

// foldFlag returns the name by which flags are compared: - and _ are one.
func foldFlag(name string) string { return strings.ReplaceAll(name, "_", "-") }

// FlagWant returns in words what a flag of a kind (see lang.Flag) takes, and whether text is such. Of kinds that
// the source does not show, any text is, and the words are "".
func FlagWant(kind, text string) (want string, ok bool) {
	k := kindOf(map[string]starlark.Value{"int": starlark.MakeInt(0), "number": starlark.Float(0), "": starlark.False}[kind])
	if k == nil {
		return "", true
	}
	_, ok = k.parse(text)
	return k.want, ok
}

// flagWords looks for one flag among the words behind --.
type flagWords struct {
	fn     string
	words  []string
	name   string
	isBool bool
}

// find returns the text of the flag's value, the last one if there are several.
func (f *flagWords) find() (text string, given bool, err error) {
	for i, word := range f.words {
		if word == "--" {
			break
		}
		name, value, inOne := splitFlag(word)
		no, isNo := strings.CutPrefix(name, "no-")
		switch {
		case f.isBool && isNo && no == foldFlag(f.name) && !inOne:
			text, given = "false", true
		case name != foldFlag(f.name):
		case inOne:
			text, given = value, true
		case f.isBool:
			text, given = "true", true
		case i+1 == len(f.words) || strings.HasPrefix(f.words[i+1], "--"):
			return "", false, &arg.CallError{Func: f.fn, Text: fmt.Sprintf("for flag --%s: got nothing, want a value behind it (one that begins with -- is written --%s=VALUE)", f.name, f.name)}
		default:
			text, given = f.words[i+1], true
		}
	}
	return text, given, nil
}

// splitFlag returns the parts of --name or --name=value. The name of a word
// that is no flag is "".
func splitFlag(word string) (name, value string, inOne bool) {
	rest, ok := strings.CutPrefix(word, "--")
	if !ok {
		return "", "", false
	}
	name, value, inOne = strings.Cut(rest, "=")
	return foldFlag(name), value, inOne
}

// A flagKind says of values what a flag takes whose default is one.
type flagKind struct {
	want  string
	parse func(text string) (starlark.Value, bool)
}

// kindOf returns the kind of a flag by its default; nil if there is none.
func kindOf(v starlark.Value) *flagKind {
	switch v.(type) {
	case starlark.Bool:
		return &flagKind{"true or false", boolFlag}
	case starlark.Int:
		return &flagKind{"an int", intFlag}
	case starlark.Float:
		return &flagKind{"a number", floatFlag}
	case starlark.String, starlark.NoneType:
		return &flagKind{"a string", func(text string) (starlark.Value, bool) { return starlark.String(text), true }}
	case arg.HasDType:
		return &flagKind{"a dtype", dtypeFlag}
	}
	return nil
}

func boolFlag(text string) (starlark.Value, bool) {
	b, err := strconv.ParseBool(strings.ToLower(text))
	return starlark.Bool(b), err == nil
}

func intFlag(text string) (starlark.Value, bool) {
	n, ok := new(big.Int).SetString(strings.ReplaceAll(text, "_", ""), 10)
	if !ok {
		return nil, false
	}
	return starlark.MakeBigInt(n), true
}

func floatFlag(text string) (starlark.Value, bool) {
	f, err := strconv.ParseFloat(text, 64)
	return starlark.Float(f), err == nil
}

func dtypeFlag(text string) (starlark.Value, bool) {
	var d arg.DType
	if d.Unpack(starlark.String(text)) != nil {
		return nil, false
	}
	return DtypeOf(d.D), true
}

// parseFlag returns the value that text says, of the type of otherwise, which a
// flag may have. Its error says what is wanted.
func parseFlag(text string, otherwise starlark.Value) (starlark.Value, error) {
	if list, ok := otherwise.(starlark.Indexable); ok && IsList(otherwise) {
		return parseFlagList(text, list)
	}
	kind := kindOf(otherwise)
	v, ok := kind.parse(text)
	if !ok {
		return nil, errors.New(kind.want)
	}
	return v, nil
}

// parseFlagList parses values between commas, of the type of the first element
// of otherwise, and returns a list or a tuple as otherwise is one.
func parseFlagList(text string, otherwise starlark.Indexable) (starlark.Value, error) {
	kind := elementKind(otherwise)
	var list []starlark.Value
	if text != "" {
		for part := range strings.SplitSeq(text, ",") {
			v, ok := kind.parse(strings.TrimSpace(part))
			if !ok {
				return nil, fmt.Errorf("%s, or several with commas", kind.want)
			}
			list = append(list, v)
		}
	}
	if _, ok := otherwise.(starlark.Tuple); ok {
		return starlark.Tuple(list), nil
	}
	return starlark.NewList(list), nil
}

// elementKind returns the kind of a list's elements: strings if it has none.
func elementKind(list starlark.Indexable) *flagKind {
	if list.Len() > 0 {
		return kindOf(list.Index(0))
	}
	return kindOf(starlark.String(""))
}

// checkDefault returns an error unless a flag may have the default v.
func checkDefault(fn string, v starlark.Value) error {
	bad := arg.In(fn, "default", arg.Bad(v, "a bool, a number, a string, a dtype, None, or a list of such", ""))
	if list, ok := v.(starlark.Indexable); ok && IsList(v) {
		if elementKind(list) == nil {
			return bad
		}
		return nil
	}
	if kindOf(v) == nil {
		return bad
	}
	return nil
}

// unknownFlag returns an error about a word behind -- that is a flag which
// neither the source of the program shows nor a call has asked for. A program
// that never calls flag reads the words itself.
func unknownFlag(e *Env) error {
	if len(e.asked) == 0 {
		return nil
	}
	known := slices.Concat(e.Options.Flags, e.asked)
	for _, word := range e.Options.Args {
		if word == "--" {
			break
		}
		name, _, _ := splitFlag(word)
		no, _ := strings.CutPrefix(name, "no-")
		if name == "" || slices.Contains(known, name) || slices.Contains(known, no) {
			continue
		}
		text := "the script has no flag --" + name
		if near := spell.Nearest(name, known); near != "" {
			text += ": did you mean --" + near + "?"
		}
		return &arg.CallError{Func: "flag", Text: text}
	}
	return nil
}

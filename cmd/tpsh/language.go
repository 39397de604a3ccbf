package main

import (
	"context"
	"maps"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/builtins"
	"tpsh/builtins/arg"
	"tpsh/internal/lazyregexp"
	"tpsh/lang"
	"tpsh/lang/analysis"
	"tpsh/runtime"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

// theLanguage returns what programs have without a load, and what the tables say of
// it. Some of it belongs to a rank, so that one is started for it.
func theLanguage() (*analysis.Language, error) {
	var names starlark.StringDict
	var classes map[string]map[string]string
	done := make(chan struct{})
	job, err := runtime.Start(context.Background(), runtime.Config{Size: 1, Transport: "inproc"}, func(ctx context.Context, r *runtime.Rank) {
		defer close(done)
		env := builtins.New(r, builtins.Options{})
		names = env.Predeclared()
		env.Begin(ctx)
		classes = sampleClasses(env, names)
	})
	if err != nil {
		return nil, jobError{err}
	}
	<-done
	job.Stop()
	l := &analysis.Language{
		Names: lang.WithLibrary(names), Signature: signatureOf, Doc: builtins.Doc, Paths: builtins.Names(),
		Types: typesOf(), Kinds: kindsOf(), Loose: looseNames(), Results: maps.Clone(results()), Classes: classes, Choices: choices(), Devices: []string{"cpu"}, Wants: wants, Instead: arg.Instead,
	}
	for _, path := range l.Paths {
		if _, known := l.Results[path]; known {
			continue
		}
		if r := builtins.ResultOf(path); r != "" {
			l.Results[path] = r
		}
	}
	for path := range classes {
		l.Results[path] = "Module"
	}
	for _, d := range dtype.All {
		l.DTypes = append(l.DTypes, d.String())
	}
	return l, nil
}

// signatureOf returns what the tables say of a function of the language.
func signatureOf(path string) (analysis.Signature, bool) {
	c, ok := builtins.CallOf(path)
	return analysis.Signature(c), ok
}

// wants returns which literals a parameter takes: of an operator as the table has it.
func wants(path, param string) string {
	switch {
	case path == "":
		return ""
	case param == "dtype":
		return "dtype"
	case path == "print" || path == "fail":
		if param == "sep" {
			return "string"
		}
	}
	for _, p := range builtins.ParamsOf(path) {
		if p.Name != param {
			continue
		}
		switch p.Kind {
		case op.Tensor, op.OptTensor:
			return "tensor"
		case op.Operand, op.OptOperand:
			return "operand"
		case op.Int, op.OptInt, op.Dim, op.OptDim:
			return "int"
		case op.Dims, op.Ints, op.Sizes:
			return "ints"
		case op.Float, op.OptFloat:
			return "number"
		}
	}
	return ""
}

// typesOf returns the names that the values of each type have. A tensor may be of any
// kind, whatever made it: operators return what they are given.
func typesOf() map[string][]string {
	types := map[string][]string{}
	for _, owner := range builtins.Owners() {
		if of := builtins.BaseOf(owner); of != owner {
			types[of] = append(types[of], builtins.AttrNames(owner)...)
		} else {
			types[owner] = append(types[owner], builtins.AttrNames(owner)...)
		}
	}
	for _, v := range []starlark.HasAttrs{starlark.String(""), starlark.NewList(nil), starlark.NewDict(0), starlark.NewSet(0), starlark.Bytes("")} {
		types[v.(starlark.Value).Type()] = v.AttrNames()
	}
	for _, name := range []string{"int", "float", "bool", "tuple", "range", "NoneType"} {
		types[name] = nil
	}
	for _, path := range builtins.Names() { // what is a function's own attribute its values may have, too
		owner, member, dotted := strings.Cut(path, ".")
		if of := builtins.BaseOf(owner); dotted && of != owner && types[of] != nil {
			types[of] = append(types[of], member)
		}
	}
	for name := range types {
		slices.Sort(types[name])
		types[name] = slices.Compact(types[name])
	}
	return types
}

// kindsOf returns the types that are kinds of others.
func kindsOf() map[string][]string {
	kinds := map[string][]string{}
	for _, owner := range builtins.Owners() {
		if of := builtins.BaseOf(owner); of != owner {
			kinds[of] = append(kinds[of], owner)
		}
	}
	for of := range kinds {
		kinds[of] = append(kinds[of], of)
	}
	return kinds
}

var (
	word      = lazyregexp.New(`[A-Za-z_][A-Za-z_0-9]*`)
	ofStructs = lazyregexp.New(`\bstructs?\b[^(]|\bstruct\(\w+[,)]`)
)

// looseNames returns the words of the documentation that speaks of structs: their
// attributes are among them. parametrizationFields come first.
func looseNames() []string {
	names := slices.Clone(parametrizationFields)
	for _, path := range builtins.Names() {
		if text, _ := builtins.Doc(path); ofStructs.Get().MatchString(text) {
			names = append(names, word.Get().FindAllString(text, -1)...)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// parametrizationFields are the fields that the modules in m.parametrizations have, of which
// no class can be called.
var parametrizationFields = []string{"original", "original0", "_u", "_v", "base"}

// samples are arguments with some of which a module of each class can be made,
// whatever its sizes.
var samples = [][]starlark.Value{nil, ints(1), ints(2), ints(2, 1), ints(1, 1, 1), ints(2, 1, 2)}

// holders are the classes whose modules have what they are given, and no more.
var holders = []string{"Module", "Sequential", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Parameter", "Buffer"}

// argumentsOf returns samples for the class called name: for those made of other modules,
// and for what would be large, others.
func argumentsOf(thread *starlark.Thread, nn starlark.HasAttrs, name string) [][]starlark.Value {
	switch name {
	case "Transformer":
		return [][]starlark.Value{ints(2, 1, 1, 1, 1)}
	case "LSTM": // with proj_size, which makes a weight more
		return [][]starlark.Value{append(ints(1, 2, 1), starlark.True, starlark.False, starlark.Float(0), starlark.False, starlark.MakeInt(1))}
	case "AdaptiveLogSoftmaxWithLoss":
		return [][]starlark.Value{append(ints(2, 3), starlark.NewList(ints(1)))}
	case "TransformerEncoder", "TransformerDecoder":
		of, err := nn.Attr(name + "Layer")
		if err != nil {
			return nil
		}
		layer, err := starlark.Call(thread, of, ints(2, 1, 1), nil)
		if err != nil {
			return nil
		}
		return [][]starlark.Value{{layer, starlark.MakeInt(1)}}
	}
	return samples
}

func ints(n ...int) []starlark.Value {
	out := make([]starlark.Value, len(n))
	for i, n := range n {
		out[i] = starlark.MakeInt(n)
	}
	return out
}

// sampleClasses returns the attributes of a module of each class, which has others if
// its arguments differ, but no other names.
func sampleClasses(env *builtins.Env, names starlark.StringDict) map[string]map[string]string {
	thread := &starlark.Thread{Name: "samples"}
	env.Attach(thread, noOutput{})
	classes := map[string]map[string]string{}
	nn := names["nn"].(starlark.HasAttrs)
	for _, name := range nn.AttrNames() {
		fn, err := nn.Attr(name)
		if err != nil || slices.Contains(holders, name) {
			continue
		}
		for _, args := range argumentsOf(thread, nn, name) {
			if m, err := starlark.Call(thread, fn, args, nil); err == nil {
				addClass(classes, "nn."+name, m)
				break
			}
		}
	}
	return classes
}

// addClass notes the attributes of a module, and those of the modules in it under
// names of their own.
func addClass(classes map[string]map[string]string, path string, m starlark.Value) {
	has, ok := m.(starlark.HasAttrs)
	if !ok {
		return
	}
	fields := map[string]string{}
	classes[path] = fields
	for _, name := range has.AttrNames() {
		if builtins.IsMember("Module", name) {
			continue
		}
		if strings.ContainsAny(name, "0123456789") {
			fields[analysis.Others] = "" // how many there are depends on arguments
		}
		switch v, _ := has.Attr(name); v := v.(type) {
		case *builtins.Tensor:
			fields[name] = "Tensor"
		case starlark.Callable:
			fields[name] = "Module:" + path + "." + name
			if of, ok := v.(starlark.HasAttrs); ok {
				addClass(classes, path+"."+name, of)
			}
		default:
			fields[name] = ""
		}
	}
}

// noOutput is the output of what prints nothing.
type noOutput struct{}

func (noOutput) Dirty() bool { return false }
func (noOutput) Cut()        {}

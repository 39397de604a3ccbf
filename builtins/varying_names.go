package builtins

import (
	"regexp"
	"slices"

	"go.starlark.net/lib/json"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"tpsh/lang/operator"
)

// What a program of a rank that runs for others finds under names: functions that
// tell the ranks apart by what they are given, unless they know better.

// How functions take what varies. All others are told what the rank has, be it an
// argument or an element of a list or dict that is one.
var (
	// lifted compute for each rank, and their results vary.
	lifted = []string{"abs", "all", "any", "bool", "chr", "divmod", "float", "int", "max", "min", "ord", "repr", "round", "sorted", "str", "sum", "fmt", "hash"}
	// safe are functions that, given a number or a text of some type, fail for all such or for none, and
	// whose results are of one type.
	safe = map[string]bool{"abs": true, "bool": true, "repr": true, "str": true, "hash": true, "%": true, "f-string": true, "format": true}
	// keeping are given anything and keep it as it is.
	keeping = map[string]bool{"print": true, "known": true, "list": true, "tuple": true, "zip": true, "reversed": true, "struct": true, "tensor": true, "dict": true, "type": true, "enumerate": true, "hasattr": true, "getattr": true, "len": true, "region": true, "checkpoint": true, "regather": true, "no_grad": true, "with_seed": true, "manual_seed": true, "autocast": true, "send": true, "recv": true, "all_gather_object": true, "broadcast_object": true}
)

// withVarying makes functions take what varies. names are all that a program finds.
func withVarying(e *Env, names starlark.StringDict) {
	for name, v := range starlark.Universe {
		if _, ok := names[name]; !ok {
			if f, ok := v.(*starlark.Builtin); ok {
				names[name] = f
			}
		}
	}
	for name, v := range names {
		if f, ok := v.(*starlark.Builtin); ok && starlark.Universe[name] != nil && !keeping[name] {
			names[name] = settling(e, f)
		}
	}
	for _, name := range lifted {
		if f, ok := names[name].(*starlark.Builtin); ok {
			names[name] = liftedFunction(e, f)
		}
	}
	if f, ok := names["print"].(*starlark.Builtin); ok {
		names["print"] = showing(f)
	}
	if f, ok := names["len"].(*starlark.Builtin); ok {
		names["len"] = lengthFunction(e, f)
	}
	names["range"] = rangeFunction(e, starlark.Universe["range"].(*starlark.Builtin))
	names[indexName] = starlark.NewBuiltin(indexName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return indexIn(e, args[0], args[1])
	})
	names[sliceName] = starlark.NewBuiltin(sliceName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		return sliceIn(e, args[0], &operator.Slice{Lo: args[1], Hi: args[2], Step: args[3]})
	})
	names[boundName] = starlark.NewBuiltin(boundName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
		if len(args) > 1 {
			if _, ok := args[1].(*Tensor); ok { // which knows better
				return args[0], nil
			}
		}
		return settled(args[0]), nil
	})
	if !e.Options.Settled {
		names[keptName] = starlark.NewBuiltin(keptName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return keptOf(e, args[0].(*starlark.List))
		})
		names[printsName] = printsFunction()
		names[methodName] = starlark.NewBuiltin(methodName, func(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
			return finding(e, args[0]), nil
		})
	}
	withVaryingText(e, names)
	if m, ok := names["math"].(*starlarkstruct.Module); ok {
		members := starlark.StringDict{}
		for name, v := range m.Members {
			if f, ok := v.(*starlark.Builtin); ok {
				v = liftedFunction(e, f)
			}
			members[name] = v
		}
		names["math"] = &starlarkstruct.Module{Name: m.Name, Members: members}
	}
	members := starlark.StringDict{}
	for name, v := range json.Module.Members {
		members[name] = settling(e, v.(*starlark.Builtin))
	}
	names["json"] = &starlarkstruct.Module{Name: "json", Members: members}
}

// withVaryingText makes the notations of text, and of slices that are set, among names take what varies.
func withVaryingText(e *Env, names starlark.StringDict) {
	for name, v := range operator.Library {
		if f, ok := v.(*starlark.Builtin); ok && f.Name() == "x[a:b] = v" {
			names[name] = setSliceFunction(f)
		}
		if f, ok := v.(*starlark.Builtin); ok && slices.Contains([]string{"%", "f-string", "format"}, f.Name()) {
			names[name] = liftedFunction(e, f)
		}
	}
}

// showing returns f, which writes what the rank has, and tells nobody apart.
func showing(f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		own := slices.Clone(args)
		for i, a := range own {
			switch v := a.(type) {
			case *Varying:
				own[i] = v.own
			case *varyingRange:
				own[i] = v.own
			}
		}
		return starlark.Call(thread, f, own, kwargs)
	})
}

// lengthFunction returns f, of which the length of a text may vary.
func lengthFunction(e *Env, f *starlark.Builtin) *starlark.Builtin {
	lifted := liftedFunction(e, f)
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(args) == 1 && isVarying(args[0]) {
			return starlark.Call(thread, lifted, args, kwargs)
		}
		return starlark.Call(thread, f, args, kwargs)
	})
}

// setSliceFunction returns f, which sets a part of a tensor or a list. Tensors know better than
// to be told bounds.
func setSliceFunction(f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if _, ok := args[1].(*Tensor); !ok {
			for i := 2; i < len(args); i++ {
				args[i] = settled(args[i])
			}
		}
		return starlark.Call(thread, f, args, kwargs)
	})
}

// settling returns f, which is given what the rank has.
func settling(e *Env, f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		args, kwargs = settledArgs(e, args, kwargs)
		return starlark.Call(thread, f, args, kwargs)
	})
}

// liftedFunction returns f, a pure function, whose result varies as its arguments do.
func liftedFunction(e *Env, f *starlark.Builtin) *starlark.Builtin {
	return starlark.NewBuiltin(f.Name(), func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if !e.varied {
			return starlark.Call(thread, f, args, kwargs)
		}
		given := make([]starlark.Value, 0, len(args)+len(kwargs))
		spread := false
		for i, a := range args {
			if t, ok := a.(starlark.Tuple); ok && i == 1 && len(args) == 2 && f.Name() == "%" { // the values of a format
				spread = true
				given = append(given, t...)
				continue
			}
			given = append(given, a)
		}
		for _, kw := range kwargs {
			given = append(given, kw[1])
		}
		if slices.ContainsFunc(given, func(v starlark.Value) bool { return !simple(v) }) {
			args, kwargs = settledArgs(e, args, kwargs)
			return starlark.Call(thread, f, args, kwargs)
		}
		return lift(e, func(list []starlark.Value) (starlark.Value, error) {
			if spread {
				return starlark.Call(thread, f, starlark.Tuple{list[0], starlark.Tuple(list[1:])}, nil)
			}
			var named []starlark.Tuple
			for i, kw := range kwargs {
				named = append(named, starlark.Tuple{kw[0], list[len(args)+i]})
			}
			return starlark.Call(thread, f, starlark.Tuple(list[:len(args)]), named)
		}, safe[f.Name()] && !slices.ContainsFunc(given, isCharacter), given...)
	})
}

// characters are formats of a character, of which there is none for some numbers.
var characters = regexp.MustCompile(`%[^a-zA-Z]*c|c}|c$`)

// isCharacter reports whether v may be one of characters.
func isCharacter(v starlark.Value) bool {
	s, ok := v.(starlark.String)
	return ok && characters.MatchString(string(s))
}

// indexName, sliceName, boundName, keptName and methodName are the functions that stand for x[y], x[a:b],
// the bounds of x[a:b] = y, [x for y in z if a] and x.get, where a rank runs for others:
// lang.IndexFunction and the others beside it.
const (
	indexName = "<index>"
	sliceName = "<slice>"
	boundName = "<bound>"
	keptName  = "<kept>"

	methodName = "<method>"
)

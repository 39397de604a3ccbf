package builtins

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"tpsh/lang/operator"
	"tpsh/runtime/op"
)

// Starlark's functions that go through all elements of an argument do so in
// one step, which no limit interrupts. So the argument's length has a bound: a
// slip in a number is an error, and not a hang or the end of the memory.
func init() {
	for _, doc := range []string{
		"all(x) returns whether all elements of x are true.\n>>> all([1, \"a\"])\nTrue",
		"any(x) returns whether an element of x is true.\n>>> any([0, \"\"])\nFalse",
		"dict(pairs=[], **kwargs) returns a dict of pairs (key, value) and of the keywords.\n>>> dict([(\"a\", 1)], b=2)\n{\"a\": 1, \"b\": 2}",
		"enumerate(x, start=0) returns a list of pairs (index, element), counting from start.\n>>> enumerate([\"a\", \"b\"])\n[(0, \"a\"), (1, \"b\")]",
		"list(x=[]) returns a list of the elements of x.\n>>> list(range(3))\n[0, 1, 2]",
		"max(*x, key=None) returns the greatest of its arguments, or of the elements of its only one, by key(element).\n>>> max([3, 5])\n5",
		"min(*x, key=None) returns the least of its arguments, or of the elements of its only one, by key(element).\n>>> min(3, -5, key=abs)\n3",
		"reversed(x) returns a list of the elements of x, the last one first.\n>>> reversed([1, 2])\n[2, 1]",
		"set(x=[]) returns a set of the elements of x.\n>>> len(set([1, 2, 1]))\n2",
		"sorted(x, key=None, reverse=False) returns a list of the elements of x in order, by key(element).\n>>> sorted([2, 3, 1])\n[1, 2, 3]",
		"tuple(x=()) returns a tuple of the elements of x.\n>>> tuple([1, 2])\n(1, 2)",
		"zip(*x) returns a list of tuples of the first elements of its arguments, of the second, and so on.\n>>> zip([1, 2], [\"a\", \"b\"])\n[(1, \"a\"), (2, \"b\")]",
	} {
		name, _, _ := strings.Cut(doc, "(")
		Register(&Row{Name: name, Doc: doc, Fn: bounded(starlark.Universe[name].(*starlark.Builtin))})
	}
}

// keyed are those of them that make a dict or a set.
var keyed = map[string]bool{"dict": true, "set": true}

// taking are those that make nothing, or one element.
var taking = map[string]bool{"all": true, "any": true, "max": true, "min": true}

// bounded returns Starlark's function f, which takes nothing of more than
// maxListed elements, nor of more than there is room for.
func bounded(f *starlark.Builtin) Function {
	return func(_ *Env, thread *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		for _, x := range args {
			if n := starlark.Len(x); n > maxListed {
				return nil, &op.ArgError{Func: b.Name(), Got: fmt.Sprintf("a %s of %d elements", x.Type(), n), Want: fmt.Sprintf("at most %d", maxListed)}
			}
			if !taking[b.Name()] {
				if err := operator.Room(thread, starlark.Len(x), keyed[b.Name()]); err != nil {
					return nil, err
				}
			}
		}
		return f.CallInternal(thread, args, kwargs)
	}
}

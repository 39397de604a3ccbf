// Package pickle reads Python's pickles without running anything that they say.
//
// A pickle is a program for a small machine with a stack and a memo, which
// builds one value: lists, dicts and tuples of numbers and text, and objects
// of any class, made by calling any function that it names. That last is why
// Python's own reader must not see a foreign file. This one builds plain
// values by itself and hands each other class or function that the file names
// to Options.Global, which returns what stands for it here or refuses it; with
// no Global every such name is refused. Protocols 0 to 5 are read.
//
//	v, rest, err := pickle.Read(data, &pickle.Options{Global: pickle.Allow{
//		"torch.float32": dtype.Float32,                // a value
//		"torch.Size":    pickle.Func(func(args pickle.Tuple) (any, error) { … }),
//		"torch.Tensor":  pickle.Class("torch.Tensor"), // becomes an *Object
//	}.Global})
//
// What a Python value is in Go:
//
//	None, True, 1, 1.5   nil, bool, int64, float64
//	an int over 64 bits  *big.Int
//	str, bytes           string, []byte (bytearray, too)
//	list, tuple          *List, Tuple
//	dict, OrderedDict    *Dict
//	set, frozenset       *Set
//	anything else        what Options.Global and Options.Persistent return
//
// A value may stand in several places, and contain itself: what walks over one
// must bound its steps. Memory is bounded by some hundred times the file, and by
// Options.MaxValues.
package pickle

import (
	"fmt"
	"math/big"
)

// A Tuple is a tuple.
type Tuple []any

// A List is a list.
type List struct{ Items []any }

// A Set is a set or a frozenset.
type Set struct {
	Items  []any
	Frozen bool
}

// An Object is one of a Class: what the pickle says of it, and nothing done.
type Object struct {
	Class  string // "module.name"
	Args   Tuple  // of its constructor
	Kwargs *Dict  // of its constructor; nil if there are none
	State  any    // its attributes, as a rule a *Dict; nil if there are none
	Items  []any  // appended to it
	Pairs  *Dict  // set by key; nil if there are none
}

// Attr returns an attribute from the state of o, or nil.
func (o *Object) Attr(name string) any {
	d, ok := o.State.(*Dict)
	if t, two := o.State.(Tuple); two && len(t) == 2 {
		// (the attributes, those in slots)
		if s, _ := t[1].(*Dict); s != nil && s.Get(name) != nil {
			return s.Get(name)
		}
		d, ok = t[0].(*Dict)
	}
	if !ok {
		return nil
	}
	return d.Get(name)
}

// A Callable is what stands for a class or a function. kwargs is nil where
// there are none, which is nearly always.
type Callable interface {
	Call(args Tuple, kwargs *Dict) (any, error)
}

// A Settable is an object that takes its attributes after it is made.
type Settable interface {
	SetState(state any) error
}

// A Func is a Callable that takes no keywords.
type Func func(args Tuple) (any, error)

// Call calls f.
func (f Func) Call(args Tuple, kwargs *Dict) (any, error) {
	if kwargs.Len() > 0 {
		return nil, fmt.Errorf("got %d keyword arguments, want none", kwargs.Len())
	}
	return f(args)
}

// A Class is the full name of a class whose objects are kept as *Object.
type Class string

// Call returns a new Object.
func (c Class) Call(args Tuple, kwargs *Dict) (any, error) {
	return &Object{Class: string(c), Args: args, Kwargs: kwargs}, nil
}

// Allow lists the names that may stand in a file, as "module.name", with what
// stands for each: a Callable, or any value where it is only spoken of.
type Allow map[string]any

// Global returns what stands for a name, and refuses a name that is not listed.
func (a Allow) Global(module, name string) (any, error) {
	if v, ok := a[module+"."+name]; ok {
		return v, nil
	}
	return nil, &RefusedError{module, name}
}

// A RefusedError names the class or function for which nothing stands here.
type RefusedError struct{ Module, Name string }

func (e *RefusedError) Error() string {
	return fmt.Sprintf("it wants %.100q, which is not among the names that are known, and nothing of it is run", e.Module+"."+e.Name)
}

// Options says what a pickle may name.
type Options struct {
	// Global returns what stands for a class or function that is not one of
	// those in the table above. Modules have their names of Python 3
	// ("builtins", not "__builtin__").
	Global func(module, name string) (any, error)
	// Persistent returns what an id stands for that the file leaves to its
	// reader; with none they are refused.
	Persistent func(id any) (any, error)
	// MaxValues, if it is not 0, is how many values a pickle may make, one by
	// one, containers and what is in them alike.
	MaxValues int
}

// Int returns v if it is an int of at most 64 bits.
func Int(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case *big.Int:
		return v.Int64(), v.IsInt64()
	}
	return 0, false
}

// Items returns the elements of a list, a tuple or a set.
func Items(v any) ([]any, bool) {
	switch v := v.(type) {
	case *List:
		return v.Items, true
	case Tuple:
		return v, true
	case *Set:
		return v.Items, true
	}
	return nil, false
}

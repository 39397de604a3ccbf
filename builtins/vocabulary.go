package builtins

import "go.starlark.net/starlark"

// The host knows no vocabulary. What it must ask one, the vocabulary registers in an init
// function.

// placedLens is how distributed tensors are seen that carry no lens.
var placedLens Lens = PlainLens{}

// RegisterPlacedLens has distributed tensors that carry no lens of their own seen
// through l. The vocabulary that makes them calls it.
func RegisterPlacedLens(l Lens) { placedLens = l }

// axisSize is what RegisterAxes was given; nil for nothing.
var axisSize func(e *Env) func(axis string) int

// RegisterAxes tells how many ranks an axis of a mesh has, which is asked where types are
// on in a whole program: f returns a function from the name of an axis to that number.
// The vocabulary that knows the axes of meshes calls it.
func RegisterAxes(f func(e *Env) func(axis string) int) { axisSize = f }

// aroundRecomputed is what RegisterRecompute was given.
var aroundRecomputed = func(*Env) func() func() { return func() func() { return func() {} } }

// RegisterRecompute has f called when a program calls checkpoint. What f returns is called before
// each call of checkpoint's function, there and in backward, and returns what is called after it:
// a vocabulary brings back what its modules were in the middle of.
func RegisterRecompute(f func(e *Env) (before func() (after func()))) { aroundRecomputed = f }

// readInputs is what RegisterInputs was given; nil for nothing.
var readInputs func(e *Env) (starlark.StringDict, error)

// RegisterInputs has f return the names that the files of Options.In stand for, and what is in
// them, as values of the rank of e. The vocabulary that knows files calls it.
func RegisterInputs(f func(e *Env) (starlark.StringDict, error)) { readInputs = f }

package runtime

import (
	"fmt"
	"strings"
)

// Where a rank's program is, besides the line: regions that the
// script names, modules that are called, the phase of a step. Traces tell it.

// A Phase is a part of a step of training.
type Phase string

const (
	Forward   Phase = "forward"
	Backward  Phase = "backward"
	Recompute Phase = "recompute" // of activations that a checkpoint has forgotten, in backward
	Optimizer Phase = "optimizer"
)

// A Part is a module whose call a rank is in.
type Part interface {
	// PathOf returns the path from the module to other, if it is below it.
	PathOf(other Part) (path string, ok bool)
}

// A scope is a region or a module that a program is in, and the scope around it.
type scope struct {
	outer  *scope
	region string // "" of a module
	part   Part   // nil of a region
	text   string // the result of full, once it is asked for
}

// InRegion runs fn as the region called name.
func (r *Rank) InRegion(name string, fn func() error) error {
	outer := r.scope
	r.scope = &scope{outer: outer, region: name}
	defer func() { r.scope = outer }()
	defer r.inScope()()
	return fn()
}

// EnterPart says that a call of the module p begins, which the function that it
// returns ends.
func (r *Rank) EnterPart(p Part) (leave func()) {
	outer := r.scope
	r.scope = &scope{outer: outer, part: p}
	end := r.inScope()
	return func() { r.scope = outer; end() }
}

// Region returns the names of the regions that the program is in, the outermost
// first: "step/attention"; "" outside of all.
func (r *Rank) Region() string { return regionOf(r.scope) }

// regionOf returns the names of the regions that s is in.
func regionOf(s *scope) string {
	var names []string
	for ; s != nil; s = s.outer {
		if s.region != "" {
			names = append([]string{s.region}, names...)
		}
	}
	return strings.Join(names, "/")
}

// Module returns the path of the module whose call the program is in, from the
// outermost that it is a part of: "layers.0.attn"; "" outside of all, and in the
// outermost itself.
func (r *Rank) Module() string { return moduleOf(r.scope) }

// moduleOf returns the path of the module that s is in.
func moduleOf(s *scope) string {
	for ; s != nil; s = s.outer {
		if s.part != nil {
			return s.path()
		}
	}
	return ""
}

// path returns the path of s, a module, below the outermost that it is a part of.
func (s *scope) path() string {
	for o := s.outer; o != nil; o = o.outer {
		if o.part == nil {
			continue
		}
		if below, ok := o.part.PathOf(s.part); ok {
			return strings.Trim(o.path()+"."+below, ".")
		}
	}
	return ""
}

// full returns the names of the regions and the modules that s is in, the outermost
// first: "step/layers.0/attn".
func (s *scope) full() string {
	if s == nil || s.text != "" {
		return s.known()
	}
	name := s.region
	for o := s.outer; s.part != nil && o != nil; o = o.outer {
		if o.part == nil {
			continue
		}
		if below, ok := o.part.PathOf(s.part); ok {
			name = below
			break
		}
	}
	s.text = strings.Trim(s.outer.full()+"/"+name, "/")
	return s.text
}

// known returns the earlier result of full; "" outside of all.
func (s *scope) known() string {
	if s == nil {
		return ""
	}
	return s.text
}

// Within returns the names of the regions and the modules that the program is in, the
// outermost first: "step/layers.0/attn"; "" outside of all.
func (r *Rank) Within() string { return r.scope.full() }

// Phase returns the phase that the program is in.
func (r *Rank) Phase() Phase {
	switch {
	case r.optimizing:
		return Optimizer
	case r.Tape.Recomputing():
		return Recompute
	case r.inBackward():
		return Backward
	}
	return Forward
}

// inBackward reports whether gradients are computed, or what follows on them before backward returns.
func (r *Rank) inBackward() bool {
	return r.replayed != "" || r.Shard.InBackward() || r.Tape.Ending()
}

// Optimizing runs fn as a part of an optimizer's step.
func (r *Rank) Optimizing(fn func() error) error {
	was := r.optimizing
	r.optimizing = true
	r.measure(false) // gradients are all there, and go with the next backward pass
	defer func() {
		r.optimizing = was
		r.measure(true)
	}()
	return fn()
}

// MarkStep says that a step of training has ended.
func (r *Rank) MarkStep() {
	r.steps++
	r.measure(true)
	if r.recorder != nil {
		r.recorder.Mark(r.phaseOf(), r.Line())
	}
}

// Steps returns how many steps have ended.
func (r *Rank) Steps() int { return r.steps }

// A mark is where the program was when it ran the operations that a backward pass goes through.
type mark struct {
	scope *scope
	line  fmt.Stringer
}

// mark returns where the program is, for the record.
func (r *Rank) mark() any { return &mark{r.scope, r.Position()} }

// replayMark says that a backward pass goes through the operations run at m until the
// function that it returns is called.
func (r *Rank) replayMark(m any) (end func()) {
	forward, scope := r.forward, r.scope
	if r.forward, _ = m.(*mark); r.forward != nil {
		r.scope = r.forward.scope
	}
	leave := r.inScope()
	return func() { r.forward, r.scope = forward, scope; leave() }
}

// forwardWhere returns the line of the operation that the backward pass under way goes through;
// "" if there is none.
func (r *Rank) forwardWhere() string {
	switch {
	case !r.inBackward():
		return ""
	case r.replayed != "":
		return r.replayed
	case r.forward != nil:
		return r.forward.line.String()
	}
	return ""
}

// text is a line that is known as text.
type text string

func (t text) String() string { return string(t) }

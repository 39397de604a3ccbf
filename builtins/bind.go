package builtins

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"go.starlark.net/starlark"

	"tpsh/builtins/arg"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A signature is how scripts call an operator under one of its names.
type signature struct {
	def     *op.Def
	owner   string // "", "F" or, of a method, "Tensor"
	name    string
	once    sync.Once // makes what follows, which most runs need of few signatures: see made
	slots   []slot
	ins     int        // how many slots take tensors
	rest    int        // the slot that takes all further positional arguments, or -1
	creates bool       // takes requires_grad= and device=
	instead *signature // see insteadOf
	truth   bool       // gives True or False instead of a tensor of one truth
	makes   bool       // its result is one new tensor, which no other operator makes for it: see applied
	extras  []*extra
}

// A slot is a parameter and where its argument goes: to Call.In[at] or
// Call.Args[at].
type slot struct {
	*op.Param
	at int
}

// made returns s with its slots.
func (s *signature) made() *signature {
	s.once.Do(s.make)
	return s
}

func (s *signature) make() {
	s.rest, s.creates, s.truth = -1, s.def.Creates, s.def.Truth
	s.makes = !s.def.Several() && !s.def.List && !s.def.Truth && !s.def.InPlace && !s.def.View && s.def.Make == nil
	s.extras = extrasOf(s.def)
	if s.def.Instead != "" {
		s.instead = &signature{def: op.Lookup(s.def.Instead), owner: s.owner, name: s.name}
	}
	s.slots = make([]slot, 0, len(s.def.Params))
	args := 0
	for i := range s.def.Params {
		p := &s.def.Params[i]
		at := &args
		if p.IsTensor() {
			at = &s.ins
		}
		s.slots = append(s.slots, slot{p, *at})
		if !p.IsList() {
			*at++
		}
	}
	for i := range s.slots {
		if s.slots[i].IsList() { // behind the other tensors
			s.slots[i].at = s.ins
			s.ins++
		}
		if s.takesRest(i) {
			s.rest = i
		}
	}
}

// takesRest reports whether slot i takes all further positional arguments: a
// list of tensors that only choices follow, then keywords alone, or a list of ints that is the first
// argument beside tensors and is followed by nothing but a dtype.
func (s *signature) takesRest(i int) bool {
	after := s.slots[i+1:]
	switch s.slots[i].Kind {
	case op.Tensors:
		return !slices.ContainsFunc(after, func(p slot) bool { return p.Kind != op.Choice })
	case op.Ints, op.Sizes:
		onlyDType := !slices.ContainsFunc(after, func(p slot) bool { return p.Kind != op.DType && p.Kind != op.OptDType })
		return onlyDType && s.slots[i].at == 0
	}
	return false
}

// signatures returns those of every operator on one surface.
func signatures(surface op.Surface, owner string) (list []*signature) {
	for d := range op.Every {
		if d.Surface&surface == 0 {
			continue
		}
		list = append(list, &signature{def: d, owner: owner, name: d.Name})
		for _, name := range d.Aliases {
			list = append(list, &signature{def: d, owner: owner, name: name})
		}
	}
	return list
}

// byName returns signatures in the order of their names.
func byName(list []*signature) []*signature {
	slices.SortFunc(list, func(a, b *signature) int { return strings.Compare(a.name, b.name) })
	return list
}

// functions returns the operators that are functions: those in no namespace, and those of each, by name.
var functions = sync.OnceValue(func() []*signature {
	list := byName(signatures(op.Function, ""))
	for _, space := range op.Spaces {
		list = append(list, byName(signatures(space.Surface, space.Script))...)
	}
	return list
})

// methods returns the operators that are methods of tensors.
var methods = sync.OnceValue(func() []*signature { return byName(signatures(op.Method, "Tensor")) })

// function returns the operator as a function of whatever rank calls it.
func (s *signature) function() *starlark.Builtin {
	return starlark.NewBuiltin(s.name, func(thread *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return s.call(EnvOf(thread), nil, args, kwargs)
	})
}

// method returns the operator as a method, without its receiver.
func (s *signature) method() *starlark.Builtin {
	if s.def == toOp {
		return toMethod(s)
	}
	return starlark.NewBuiltin(s.name, func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		x := b.Receiver().(*Tensor)
		return s.call(x.Env, x, args, kwargs)
	})
}

// call applies the operator to the arguments of a script. self is the
// receiver of a method, and nil for a function.
func (s *signature) call(e *Env, self *Tensor, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if of := s.made().insteadOf(self, args, kwargs); of != nil {
		return of.call(e, self, args, kwargs)
	}
	b := newBinding(e, s)
	if err := b.fill(self, args, kwargs); err != nil {
		return nil, err
	}
	if len(b.varying) > 0 {
		b.observe()
	}
	if stand := e.standIn(s.def, b.in); stand != nil {
		return stand(self, args, kwargs)
	}
	b.does = s.def
	for _, x := range b.asked {
		if err := x.apply(b, x.v); err != nil {
			return nil, arg.In(s.name, x.name, err)
		}
	}
	y, err := b.filled(self)
	if y == nil && err == nil {
		y, err = b.applied(self)
	}
	if err != nil {
		return nil, err
	}
	if s.def.Ints != nil && e.Planning() {
		b.rememberInts(y.(*Tensor).T)
	}
	b.release()
	return resultOf(s.name, s.def, y, args, kwargs)
}

// filled applies an operator that fills self with random numbers to the whole of which self is a part,
// and stores what this rank has of it; it returns nil where there is no such operator, or no such whole.
func (b *binding) filled(self *Tensor) (starlark.Value, error) {
	if !b.def.Fills || self == nil {
		return nil, nil
	}
	whole, lens, err := BlankOf(self)
	if whole == nil || err != nil {
		return nil, err
	}
	in := slices.Clone(b.in)
	in[0] = whole
	out, err := b.env.invoke(b.does, in, b.args)
	if err != nil {
		return nil, b.named(err)
	}
	part, err := lens.PartOf(self, out[0])
	if err == nil {
		_, err = b.env.invoke(storeOp, []*tensor.Tensor{b.in[0], part}, nil)
	}
	return self, arg.Rename(b.name, err)
}

// applied applies the operator.
func (b *binding) applied(self *Tensor) (starlark.Value, error) {
	if b.makes && b.does == b.def && b.done == nil && LensAmong(b.in) == nil {
		y, err := applyOne(b.env, b.def, b.in, b.args)
		if err != nil {
			return nil, b.named(b.explained(self, err))
		}
		return y, b.require(y.T)
	}
	out, err := b.done, error(nil)
	if out == nil {
		if out, err = b.env.invoke(b.does, b.in, b.args); err != nil {
			return nil, b.named(b.explained(self, err))
		}
	}
	if err := b.require(out...); err != nil {
		return nil, err
	}
	return b.result(self, out)
}

// require has the result require grad, if that was asked for.
func (b *binding) require(out ...*tensor.Tensor) error {
	if !b.requires {
		return nil
	}
	return RequireGrad(b.name, out[0])
}

// named gives an error of the operator the name that the script used.
func (s *signature) named(err error) error {
	var bad *op.ArgError
	if s.name != s.def.Name && errors.As(err, &bad) && bad.Func == s.def.Name {
		bad.Func = s.name
	}
	return err
}

// explained has the lens of self add to an error of the operator what it knows.
func (s *signature) explained(self *Tensor, err error) error {
	var bad *op.ArgError
	if self == nil || !errors.As(err, &bad) {
		return err
	}
	if l, ok := self.Lens.(ExplainingLens); ok {
		l.Explain(s.def, bad)
	}
	return err
}

// result returns the results of the operator as a script has them: one, a
// tuple, or a list where the operator says so. An operator that returns its
// input returns self.
func (b *binding) result(self *Tensor, out []*tensor.Tensor) (starlark.Value, error) {
	if b.def.List {
		list := make([]starlark.Value, len(out))
		for i, t := range out {
			list[i] = b.env.Wrap(t)
		}
		return starlark.NewList(list), nil
	}
	if len(out) > 1 || b.tuple || b.def.RestTogether {
		tuple := make(starlark.Tuple, len(out))
		for i, t := range out {
			tuple[i] = b.env.Wrap(t)
		}
		if b.def.RestTogether {
			return starlark.Tuple{tuple[0], tuple[1:]}, nil
		}
		return tuple, nil
	}
	switch {
	case self != nil && out[0] == self.T:
		return self, nil
	case b.truth && b.env.Planning():
		_, err := b.env.Whole(b.name, out[0])
		return unknownOf(b.env, dtype.Bool), err
	case b.truth:
		yes, err := truthOf(b.env, out[0])
		return starlark.Bool(yes), err
	}
	return b.env.Wrap(out[0]), nil
}

// A binding is the arguments of one call on their way to the operator.
type binding struct {
	*signature
	env      *Env
	in       []*tensor.Tensor
	args     []op.Arg
	given    uint64 // the slots that have arguments, a bit for each
	received int    // how many of a list of tensors are the receiver
	requires bool   // requires_grad=True was given
	asked    []asked
	does     *op.Def          // what is applied to in and args
	done     []*tensor.Tensor // the result, if an extra has made it already
	tuple    bool             // the result is a tuple, of however many tensors

	varying []varyingArg // those that have not been settled
}

// newBinding returns the binding of a call for e that has no arguments yet.
func newBinding(e *Env, s *signature) *binding {
	b := e.spare
	if b == nil {
		b = new(binding)
	}
	e.spare = nil
	b.signature, b.env = s, e
	return b
}

// release keeps b, whose call is over, to be used again; not so one that others may ask later
// what its arguments would be on other ranks.
func (b *binding) release() {
	if e := b.env; len(b.varying) == 0 {
		*b = binding{}
		e.spare = b
	}
}

// fill takes over the arguments of a script, and the defaults of those that
// are not given.
func (b *binding) fill(self *Tensor, args starlark.Tuple, kwargs []starlark.Tuple) error {
	b.in = make([]*tensor.Tensor, b.ins)
	if n := len(b.slots) - b.ins; n > 0 {
		b.args = make([]op.Arg, n)
	}
	first, err := b.receive(self)
	if err != nil {
		return err
	}
	if err := b.positional(first, args); err != nil {
		return err
	}
	for _, kw := range kwargs {
		if err := b.keyword(string(kw[0].(starlark.String)), first, kw[1]); err != nil {
			return err
		}
	}
	for i := range b.slots {
		if b.given&(1<<i) == 0 {
			if err := b.useDefault(&b.slots[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// receive takes over the receiver of a method, and returns the slot of the
// first argument. The receiver is the first parameter, or if that takes no
// tensor, the first of a list of tensors.
func (b *binding) receive(self *Tensor) (first int, err error) {
	if self == nil {
		return 0, nil
	}
	t, err := self.Tensor()
	if err != nil {
		return 0, err
	}
	b.in[0] = t
	if b.slots[0].IsTensor() {
		b.given = 1
		return 1, nil
	}
	b.given, b.received = 1<<b.rest, 1
	return 0, nil
}

// positional takes over arguments by position, from slot first on.
func (b *binding) positional(first int, args starlark.Tuple) error {
	last := len(b.slots) - 1
	if b.rest >= 0 {
		last = b.rest
	}
	for i, v := range args {
		slot := first + i
		switch {
		case slot > last:
			return arg.TooMany(b.name, len(args), last+1-first)
		case b.slots[slot].Kind == op.Dims && isBool(v) && b.ask("unbiased", v):
			continue
		case slot == b.rest && !IsList(v) && (len(args)-i > 1 || b.slots[slot].Kind == op.Tensors):
			return b.set(slot, args[i:])
		}
		if err := b.set(slot, v); err != nil {
			return err
		}
	}
	return nil
}

// keyword takes over an argument by name. Slots before first have none.
func (b *binding) keyword(name string, first int, v starlark.Value) error {
	if i := b.slotCalled(name, first); i >= 0 {
		if b.given&(1<<i) != 0 {
			return arg.Duplicate(b.name, b.slots[i].Name)
		}
		return b.set(i, v)
	}
	if b.creates {
		switch name {
		case "requires_grad":
			return arg.Set(b.name, name, (*arg.Bool)(&b.requires), v)
		case "device":
			return arg.In(b.name, name, Device{}.Unpack(v))
		}
	}
	if b.ask(name, v) {
		return nil
	}
	return arg.Unexpected(b.name, name, b.parameters())
}

// parameters returns the names that a call accepts as keywords.
func (s *signature) parameters() []string {
	var names []string
	for i, p := range s.made().slots {
		if s.owner != "Tensor" || i > 0 && p.Kind != op.Tensors || !p.IsTensor() {
			names = append(names, p.Name)
		}
	}
	if s.creates {
		names = append(names, "requires_grad", "device")
	}
	for _, x := range s.extras {
		names = append(names, x.name)
	}
	if s.instead != nil {
		names = append(names, s.instead.parameters()...)
	}
	return names
}

// freeOf reports whether nothing hangs on which number v is, as the argument of p, but the shape of the result:
// see observe.
func (b *binding) freeOf(p *slot, v *Varying) bool {
	switch kind := v.Type(); {
	case p.IsTensor():
		return b.def.Counts && kind != "string"
	case b.def.Slices:
		return kind == "int"
	default:
		return p.Free && (kind == "int" || kind == "float")
	}
}

// set gives slot i the value v.
func (b *binding) set(i int, v starlark.Value) error {
	p := &b.slots[i]
	b.given |= 1 << i
	var err error
	if x, ok := v.(*Varying); ok && b.freeOf(p, x) {
		b.varying = append(b.varying, varyingArg{p, x})
		v = x.own
	}
	switch p.Kind {
	case op.Tensor:
		if b.in[p.at], err = ToTensor(v); err != nil && p.OrInts && IsList(v) {
			b.in[p.at], err = intsTensor(b.env, v)
		}
	case op.OptTensor:
		if v != starlark.None {
			b.in[p.at], err = ToTensor(v)
		}
	case op.Operand:
		b.in[p.at], err = ToOperand(v)
	case op.OptOperand:
		if v != starlark.None {
			b.in[p.at], err = ToOperand(v)
		}
	case op.Tensors:
		var list []*tensor.Tensor
		list, err = ToTensors(v)
		b.in = append(b.in[:p.at+b.received], list...)
	case op.Operands:
		var list []*tensor.Tensor
		list, err = toOperands(v)
		b.in = append(b.in[:p.at], list...)
	default:
		if v, err = b.read(p.Param, v); err == nil {
			b.args[p.at], err = toArg(p.Param, v)
		}
	}
	if err != nil {
		return arg.In(b.name, p.Name, err)
	}
	return nil
}

// useDefault gives p its default.
func (b *binding) useDefault(p *slot) error {
	if p.Default == nil {
		return arg.Missing(b.name, p.Name)
	}
	if !p.IsTensor() { // of a tensor it is None
		b.args[p.at] = *p.Default
	}
	return nil
}

package builtins

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/lang/operator"
	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A Varying is a number, a truth or a text that is not the same on all the ranks that
// the rank runs for, in a plan: rank(), a coordinate, and what is computed with them.
// Where a decision that is made in Go depends on it, the ranks are told apart by it: see
// settle. Comments call such a decision an observation.
type Varying struct {
	env   *Env
	own   starlark.Value                         // of the rank that runs
	on    func(rank int) (starlark.Value, error) // of any rank
	depth int                                    // how many functions of functions on is: see maxDepth

	// What was observed once stays so: the rank runs for fewer others, never for more.
	settled, decided bool
}

var (
	_ starlark.Value      = (*Varying)(nil)
	_ starlark.HasBinary  = (*Varying)(nil)
	_ starlark.HasUnary   = (*Varying)(nil)
	_ starlark.Comparable = (*Varying)(nil)
	_ starlark.HasAttrs   = (*Varying)(nil)
	_ operator.HasPower   = (*Varying)(nil)
	_ operator.HasFormat  = (*Varying)(nil)
)

// varying returns an int that f says of each rank.
func varying(e *Env, f func(rank int) int) starlark.Value {
	own := starlark.MakeInt(f(e.Runtime.Self()))
	if e.Runtime.Alone() || e.Options.Settled {
		return starlark.MakeInt(runtime.Asked(e.Runtime, f))
	}
	e.varied = true
	return &Varying{env: e, own: own, on: func(rank int) (starlark.Value, error) { return starlark.MakeInt(f(rank)), nil }}
}

// OwnRank returns the number of the rank.
func OwnRank(e *Env) starlark.Value { return varying(e, func(rank int) int { return rank }) }

func ownRank(e *Env) starlark.Value { return OwnRank(e) }

// Place returns the rank's place in g, in which it is.
func Place(e *Env, g *runtime.Group) starlark.Value { return varying(e, e.Runtime.PlaceIn(g)) }

// Coordinate returns the rank's index along a dim of m, in which it is.
func Coordinate(e *Env, m *mesh.Mesh, dim int) starlark.Value {
	return varying(e, e.Runtime.IndexAlong(m, dim))
}

// Along returns what f says of the rank in m, in which it is: f is a pure function of a
// rank of m, as each sees m.
func Along(e *Env, m *mesh.Mesh, f func(rank int) int) starlark.Value {
	return varying(e, e.Runtime.Of(m, f))
}

// String implements starlark.Value: what the rank that runs has. So it is printed.
func (v *Varying) String() string { return v.own.String() }

// Type implements starlark.Value.
func (v *Varying) Type() string { return v.own.Type() }

// Freeze implements starlark.Value.
func (v *Varying) Freeze() {}

// Truth implements starlark.Value, an observation.
func (v *Varying) Truth() starlark.Bool {
	if v.settled || v.decided {
		return v.own.Truth()
	}
	v.decided = true
	return starlark.Bool(runtime.Observed(v.env.Runtime, func(rank int) bool {
		x, err := v.on(rank)
		return err == nil && bool(x.Truth())
	}))
}

// Attr implements starlark.HasAttrs: those of what the rank has, an observation.
func (v *Varying) Attr(name string) (starlark.Value, error) {
	if x, ok := v.own.(starlark.HasAttrs); ok {
		v.settle()
		return x.Attr(name)
	}
	return nil, nil
}

// AttrNames implements starlark.HasAttrs.
func (v *Varying) AttrNames() []string {
	if x, ok := v.own.(starlark.HasAttrs); ok {
		return x.AttrNames()
	}
	return nil
}

// Hash implements starlark.Value: no key of a dict equals another of a different type.
func (v *Varying) Hash() (uint32, error) {
	return 0, fmt.Errorf("unhashable: a %s that is not the same on all ranks", v.Type())
}

// CompareSameType implements starlark.Comparable, an observation.
func (v *Varying) CompareSameType(tok syntax.Token, y starlark.Value, _ int) (bool, error) {
	return starlark.Compare(tok, v.settle(), y.(*Varying).settle())
}

// settle returns what the rank has, an observation.
func (v *Varying) settle() starlark.Value {
	if !v.settled {
		runtime.Observed(v.env.Runtime, func(rank int) string { return told(v.on(rank)) })
		v.settled = true
	}
	return v.own
}

// Settle implements arg.Settler.
func (v *Varying) Settle() starlark.Value { return v.settle() }

// told returns a text of a scalar, or of the error in its place, that is equal for two only if
// they are the same in type and in value.
func told(x starlark.Value, err error) string {
	if err != nil {
		return "! " + err.Error()
	}
	if f, ok := x.(starlark.Float); ok {
		return "float " + strconv.FormatUint(math.Float64bits(float64(f)), 16)
	}
	return x.Type() + " " + x.String()
}

// scalar reports whether v is what a Varying may be.
func scalar(v starlark.Value) bool {
	switch v.(type) {
	case starlark.Int, starlark.Float, starlark.Bool, starlark.String, starlark.NoneType:
		return true
	}
	return false
}

// maxDepth is how many functions of functions a Varying is, before it is known by
// rank.
const maxDepth = 16

// flatten computes v for each rank that the rank runs for.
func (v *Varying) flatten() {
	ranks := v.env.Runtime.RunsFor()
	known, errs := make([]starlark.Value, len(ranks)), make([]error, len(ranks))
	for i, rank := range ranks {
		known[i], errs[i] = v.on(rank)
	}
	v.depth = 0
	v.on = func(rank int) (starlark.Value, error) {
		i, _ := slices.BinarySearch(ranks, rank)
		return known[i], errs[i]
	}
}

// Binary implements starlark.HasBinary.
func (v *Varying) Binary(tok syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	switch y := y.(type) {
	case *Tensor:
		return nil, nil
	case *Unknown:
		return y.Binary(tok, v.own, !side)
	}
	x := starlark.Value(v)
	if side == starlark.Right {
		x, y = y, x
	}
	return lift(v.env, func(a []starlark.Value) (starlark.Value, error) { return starlark.Binary(tok, a[0], a[1]) }, safely(tok, x, y), x, y)
}

// safely reports whether x tok y, whatever values of its type a side that varies has, fails for
// all of them or for none.
func safely(tok syntax.Token, x, y starlark.Value) bool {
	switch tok {
	case syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.AMP, syntax.PIPE, syntax.CIRCUMFLEX:
		return true
	case syntax.SLASH, syntax.SLASHSLASH, syntax.PERCENT:
		return x.Type() != "string" && scalar(y) && bool(y.Truth())
	}
	return false
}

// Unary implements starlark.HasUnary.
func (v *Varying) Unary(tok syntax.Token) (starlark.Value, error) {
	if tok == syntax.NOT {
		return nil, nil
	}
	return lift(v.env, func(a []starlark.Value) (starlark.Value, error) { return starlark.Unary(tok, a[0]) }, true, v)
}

// Power implements operator.HasPower.
func (v *Varying) Power(y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if !scalar(y) {
		if _, ok := y.(*Varying); !ok {
			return nil, nil
		}
	}
	x := starlark.Value(v)
	if side == starlark.Right {
		x, y = y, x
	}
	return lift(v.env, func(a []starlark.Value) (starlark.Value, error) { return operator.Pow(a[0], a[1]) }, false, x, y)
}

// Format implements operator.HasFormat, an observation.
func (v *Varying) Format(spec string) (string, error) {
	return operator.FormatValue("format", v.settle(), spec)
}

// A varyingArg is an argument of an operator that is not the same on all ranks.
type varyingArg struct {
	p *slot
	v *Varying
}

// observe tells apart the ranks for which an operator makes something else of its arguments than other
// elements of a tensor of one shape. Of a tensor that ranks hold together more hangs on them.
func (b *binding) observe() {
	if b.in[0].Placed() {
		for _, a := range b.varying {
			a.v.settle()
		}
		return
	}
	runtime.Asked(b.env.Runtime, func(rank int) string {
		in, args := slices.Clone(b.in), slices.Clone(b.args)
		for _, a := range b.varying {
			if a.v.settled {
				continue
			}
			x, err := a.v.on(rank)
			switch {
			case err != nil:
			case a.p.IsTensor():
				in[a.p.at], err = ToOperand(x)
			default:
				args[a.p.at], err = toArg(a.p.Param, x)
			}
			if err != nil {
				return told(x, err)
			}
		}
		return op.FormText(b.env.Runtime.Ops(), b.def, in, args)
	})
}

// operand returns v as a number that operators take: which one it is makes no
// difference to shapes.
func (v *Varying) operand() (*tensor.Tensor, error) {
	kind := map[string]string{"int": "int", "float": "float", "bool": "bool"}[v.Type()]
	return (&Unknown{v.env, kind}).operand()
}

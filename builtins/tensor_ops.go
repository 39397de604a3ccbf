package builtins

import (
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins/arg"
	"tpsh/internal/lazyregexp"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// The operators behind Starlark's, looked up once.
var (
	binaryOps = bySymbol(2, syntax.PLUS, syntax.MINUS, syntax.STAR, syntax.SLASH, syntax.SLASHSLASH, syntax.PERCENT, syntax.AMP, syntax.PIPE, syntax.CIRCUMFLEX, syntax.LTLT, syntax.GTGT)
	unaryOps  = bySymbol(1, syntax.MINUS, syntax.TILDE)
	eqOp      = op.BySymbol("==", 2)
)

// bySymbol returns the operators that are written as tokens, of so many operands.
func bySymbol(operands int, tokens ...syntax.Token) []*op.Def {
	list := make([]*op.Def, slices.Max(tokens)+1)
	for _, tok := range tokens {
		list[tok] = op.BySymbol(tok.String(), operands)
	}
	return list
}

// Binary implements starlark.HasBinary: the operator between x and a tensor
// or a number y, elementwise.
func (x *Tensor) Binary(tok syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if int(tok) >= len(binaryOps) || binaryOps[tok] == nil {
		return nil, nil
	}
	if !isOperand(y) {
		return nil, nil
	}
	return x.between(binaryOps[tok], y, side)
}

// isOperand reports whether v is a tensor or what counts as a number beside one.
func isOperand(v starlark.Value) bool {
	switch v.(type) {
	case *Tensor, starlark.Int, starlark.Float, starlark.Bool, complexNumber, *Unknown, *Varying:
		return true
	}
	return false
}

// between applies an operator to x and y, which is on the other side of it.
func (x *Tensor) between(d *op.Def, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	a, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	b, err := ToOperand(y)
	if err != nil {
		return nil, arg.In(d.Name, "", err)
	}
	if side == starlark.Right {
		return applyOperator(x.Env, d, b, a, y, x)
	}
	return applyOperator(x.Env, d, a, b, x, y)
}

// symbols are operators whose names are other words of the language.
var symbols = map[*op.Def]string{binaryOps[syntax.AMP]: "&", binaryOps[syntax.PIPE]: "|", binaryOps[syntax.CIRCUMFLEX]: "^", unaryOps[syntax.TILDE]: "~", binaryOps[syntax.LTLT]: "<<", binaryOps[syntax.GTGT]: ">>"}

// applyOperator applies an operator of one result that has one or two operands, none for y, and no
// other arguments. values are the operands as the script has them.
func applyOperator(e *Env, d *op.Def, x, y *tensor.Tensor, values ...starlark.Value) (starlark.Value, error) {
	if OperatorLensOf(x) != nil || OperatorLensOf(y) != nil {
		in := []*tensor.Tensor{x, y}[:len(values)]
		if stand := e.standIn(d, in); stand != nil {
			return stand(nil, slices.Clone(values), nil) // a copy: for others values is not allocated
		}
		z, err := invokeOne(e, d, in)
		if err != nil {
			return nil, named(d, err)
		}
		return e.Wrap(z), nil
	}
	z, err := operate(e, d, x, y)
	if err != nil {
		return nil, named(d, err)
	}
	return z, nil
}

// named gives an error of an operator the symbol that scripts write for it.
func named(d *op.Def, err error) error {
	if symbol := symbols[d]; symbol != "" {
		return arg.Rename(symbol, err)
	}
	return err
}

// Unary implements starlark.HasUnary: -x, +x, which is x, and ~x.
func (x *Tensor) Unary(tok syntax.Token) (starlark.Value, error) {
	if tok == syntax.PLUS {
		return x, nil
	}
	if int(tok) >= len(unaryOps) || unaryOps[tok] == nil {
		return nil, nil
	}
	d := unaryOps[tok]
	t, err := x.Tensor()
	if err != nil {
		return nil, err
	}
	return applyOperator(x.Env, d, t, nil, x)
}

// elementwise returns the name of the method that does element by element what a
// script wrote as a comparison.
func elementwise(tok syntax.Token) string { return op.BySymbol(tok.String(), 2).Name }

// CompareSameType implements starlark.Comparable. Starlark's comparisons give
// one truth, so between tensors they are errors.
func (x *Tensor) CompareSameType(tok syntax.Token, _ starlark.Value, _ int) (bool, error) {
	want := "." + elementwise(tok) + "() for elementwise truths"
	if tok == syntax.EQL || tok == syntax.NEQ {
		want += ", .equal() or .allclose() for one"
	}
	return false, &op.ArgError{Func: tok.String(), Got: "two tensors", Want: want}
}

// refusedComparison is what the interpreter says of < and the like between
// values of different types, which it asks nobody about.
var refusedComparison = lazyregexp.New(`^(\S+) (<|<=|>|>=) (\S+) not implemented$`)

// isTensorType reports whether typ is what Tensor.Type returns of some tensor.
func isTensorType(typ string) bool {
	for typ != "tensor" && typ != "Tensor" {
		r := rows[typ]
		if r == nil || r.Base == "" {
			return false
		}
		typ = r.Base
	}
	return true
}

// comparisonTokens are the comparisons that Hint knows, and mirrored what they
// are with their sides exchanged.
var (
	comparisonTokens = map[string]syntax.Token{"<": syntax.LT, "<=": syntax.LE, ">": syntax.GT, ">=": syntax.GE}
	mirrored         = map[syntax.Token]syntax.Token{syntax.LT: syntax.GT, syntax.LE: syntax.GE, syntax.GT: syntax.LT, syntax.GE: syntax.LE}
)

// Has implements starlark.Container: v in x is whether an element of x equals
// the number v, or the tensor v where broadcasting puts it.
func (x *Tensor) Has(v starlark.Value) (bool, error) {
	t, err := x.Tensor()
	if err != nil {
		return false, err
	}
	y, err := ToOperand(v)
	if err != nil {
		return false, arg.In("in", "", err)
	}
	same, err := x.Env.invoke(eqOp, []*tensor.Tensor{t, y}, nil)
	if err != nil {
		return false, err
	}
	found, err := x.Env.Runtime.Do("any", same, op.None, op.Bool1(false))
	if err != nil {
		return false, err
	}
	return truthOf(x.Env, found)
}

// Truth implements starlark.Value: the truth of the one element. Of any other
// tensor it is an error, left with the rank.
func (x *Tensor) Truth() starlark.Bool {
	yes, err := x.truth()
	if err != nil {
		x.Env.Leave(err)
	}
	return starlark.Bool(yes)
}

// Hash implements starlark.Value: tensors are mutable.
func (x *Tensor) Hash() (uint32, error) {
	return 0, Unhashable(x)
}

// Freeze makes x read-only: it belongs to a loaded file.
func (x *Tensor) Freeze() {
	if err := x.seenThrough().Freeze(x); err != nil {
		x.Env.Leave(err)
	}
}

// CheckFrozen returns an error of the function fn if x may not be changed.
func CheckFrozen(fn string, t *tensor.Tensor) error {
	if b := t.Buffer(); b != nil && b.Frozen() {
		return &op.ArgError{Func: fn, Got: fmt.Sprintf("a frozen tensor %s", op.Describe(t)), Want: "one that may be changed", Rule: "it belongs to a loaded file: build it in a function"}
	}
	return nil
}

package builtins

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"tpsh/builtins/arg"
	"tpsh/runtime/op"
)

// pool holds the arguments of TestArgumentsNeverPanic, as Starlark.
const pool = `[
None, True, False, 0, 1, -1, 2, 3, 7, -5, 1 << 40, 1 << 70, 0.0, 0.5, -1.5, float("nan"), float("inf"), "", "sum", "mean", "none", "1:2", "..., None", "ij,jk", "ij->ji", "ij,jk->ik",
[], [0], [1, 2], (2, 3), [-1], [[1, 2], [3, 4]], [1, "a"], (0, 1), [1 << 40, 1 << 40], {}, {"a": 1}, set([1]), range(3), len, lambda x: x,
float32, float64, float16, int64, uint8, bool, "float32",
tensor(1), tensor(2.5), tensor(True), ones(2), ones(3), zeros(0), arange(3), arange(3).to(int32), ones(2, 3), ones(3, 2).T, zeros(2, 0), ones(2, 3, dtype=float64),
ones(2, 3, requires_grad=True), ones(2, 2, dtype=float16), ones(2, dtype=bfloat16), tensor([True, False]), tensor([[0, 1, 2], [2, 1, 0]]),
tensor([0, 5, -9]), randn(2, 3, 4), randn(1, 2, 5, 5), ones(4, 3, dtype=uint8), ones(1).expand(3, 4),
[ones(2), ones(2)], [ones(2, 3), zeros(1, 3)], (ones(2), 3),
]`

// TestArgumentsNeverPanic calls every operator, function or method, with
// arguments of all kinds: it may fail, with an error that says who, but not
// panic.
func TestArgumentsNeverPanic(t *testing.T) {
	onRank(t, func(env *Env, thread *starlark.Thread) {
		env.Runtime.Ops().Alloc.Limit = 64 << 20
		callAll(t, env, thread)
	})
}

// callAll makes the calls.
func callAll(t *testing.T, env *Env, thread *starlark.Thread) {
	names := env.Predeclared()
	random := rand.New(rand.NewPCG(1, 2))
	calls := 100
	if testing.Short() {
		calls = 20
	}
	made := argumentPool(t, thread, names)
	for _, s := range slices.Concat(functions(), methods()) {
		for range calls {
			p := &picker{random, made()}
			self, args, kwargs := p.call(s)
			callOne(t, env, s, self, args, kwargs)
		}
	}
}

// A picker picks arguments of a call.
type picker struct {
	*rand.Rand
	*arguments
}

// call picks the arguments of a call: most of them of the kind that their
// parameters take.
func (p *picker) call(s *signature) (self *Tensor, args starlark.Tuple, kwargs []starlark.Tuple) {
	slots := s.made().slots
	if s.owner == "Tensor" {
		self = p.pick(func(v starlark.Value) bool { return is[*Tensor](v) }).(*Tensor)
		if slots[0].IsTensor() {
			slots = slots[1:]
		}
	}
	required := 0
	for required < len(slots) && slots[required].Default == nil {
		required++
	}
	n := required + p.IntN(len(slots)-required+1)
	if p.IntN(20) == 0 {
		n = p.IntN(len(slots) + 2)
	}
	for i := range n {
		args = append(args, p.value(slots, i))
	}
	if n < len(slots) && p.IntN(2) == 0 {
		i := n + p.IntN(len(slots)-n)
		kwargs = append(kwargs, starlark.Tuple{starlark.String(slots[i].Name), p.value(slots, i)})
	}
	return self, args, kwargs
}

func is[T any](v starlark.Value) bool {
	_, ok := v.(T)
	return ok
}

// value picks an argument for the i-th of slots.
func (p *picker) value(slots []slot, i int) starlark.Value {
	if i >= len(slots) || p.IntN(8) == 0 {
		return p.pick(func(starlark.Value) bool { return true })
	}
	kind := slots[i].Kind
	if kind == op.Choice || kind == op.OptChoice {
		return starlark.String(slots[i].Choices[p.IntN(len(slots[i].Choices))])
	}
	return p.pick(func(v starlark.Value) bool {
		switch kind {
		case op.Tensor, op.OptTensor:
			return is[*Tensor](v)
		case op.Operand, op.OptOperand, op.Operands:
			return is[*Tensor](v) || is[starlark.Int](v) || is[starlark.Float](v)
		case op.Tensors, op.Ints, op.Sizes, op.Floats, op.OptFloats:
			return IsList(v)
		case op.Dims, op.IntOrSeq, op.IntOrTwo:
			return IsList(v) || is[starlark.Int](v)
		case op.Int, op.OptInt, op.Dim, op.OptDim:
			return is[starlark.Int](v)
		case op.Float, op.OptFloat:
			return is[starlark.Float](v) || is[starlark.Int](v)
		case op.Bool, op.OptBool:
			return is[starlark.Bool](v)
		case op.DType, op.OptDType:
			return is[arg.HasDType](v)
		}
		return is[starlark.String](v)
	})
}

// pick picks a value that fits.
func (p *picker) pick(fits func(starlark.Value) bool) starlark.Value {
	var list []int
	for i, v := range p.patterns {
		if fits(v) {
			list = append(list, i)
		}
	}
	return p.make(list[p.IntN(len(list))])
}

// arguments are those of one call. They are made anew for each: calls in place change them.
type arguments struct {
	patterns []starlark.Value // of what kinds they are
	make     func(i int) starlark.Value
}

// argumentPool returns a function that returns the arguments of a call, made as they are
// picked: all of them take longer than most calls.
func argumentPool(t *testing.T, thread *starlark.Thread, names starlark.StringDict) func() *arguments {
	expr, err := fileOptions.ParseExpr("pool", pool, 0)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(pool, "\n")
	var makers []*starlark.Function
	for _, e := range expr.(*syntax.ListExpr).List {
		start, end := e.Span()
		text := lines[start.Line-1][start.Col-1 : end.Col-1]
		maker, err := starlark.ExprFuncOptions(fileOptions, "pool", text, names)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		makers = append(makers, maker)
	}
	made := func(i int) starlark.Value {
		v, err := starlark.Call(thread, makers[i], nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	var patterns []starlark.Value
	for i := range makers {
		patterns = append(patterns, made(i))
	}
	return func() *arguments {
		picked := map[int]starlark.Value{}
		return &arguments{patterns, func(i int) starlark.Value {
			if picked[i] == nil {
				picked[i] = made(i)
			}
			return picked[i]
		}}
	}
}

// callOne makes one call, and a backward pass through its result.
func callOne(t *testing.T, env *Env, s *signature, self *Tensor, args starlark.Tuple, kwargs []starlark.Tuple) {
	shown := func() string {
		text := fmt.Sprintf("%s%v", s.name, describeAll(args))
		if self != nil {
			text = self.Describe() + "." + text
		}
		for _, kw := range kwargs {
			text += fmt.Sprintf(" %s=%s", kw[0], describeAll(kw[1:]))
		}
		return text
	}
	before := shown()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s panics: %v\n%s", before, p, debug.Stack())
		}
	}()
	v, err := s.call(env, self, args, kwargs)
	if err != nil {
		var who interface{ Function() string }
		if !errors.As(err, &who) || who.Function() == "" {
			t.Errorf("%s: the error %q (%T) does not say whose it is", before, err, err)
		} else if strings.Contains(err.Error(), "%!") {
			t.Errorf("%s: a broken message: %v", before, err)
		}
		return
	}
	if x, ok := v.(*Tensor); ok && x.T.RequiresGrad() {
		err := env.Runtime.Tape.Backward(x.T, x.T.Detach(), false)
		var bad *op.ArgError
		if errors.As(err, &bad) && bad.Func != "" && strings.HasPrefix(bad.Rule, "no derivative") {
			return // the operator is not differentiable in one of its arguments, and says so
		}
		if err != nil {
			t.Errorf("%s: backward: %v", before, err)
		}
	}
}

// describeAll shows values as errors do, tensors with their shapes.
func describeAll(values []starlark.Value) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = v.String()
		if x, ok := v.(*Tensor); ok {
			list[i] = x.Describe()
		}
	}
	return list
}

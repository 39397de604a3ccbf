package op

import (
	"fmt"
	"slices"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "pad",
		Surface: Method | Namespace,
		Doc: "pad(x, pad, mode=\"constant\", value=0) returns a copy of x with elements put around it.\n" +
			"pad holds how many go before and after the last dim, then the dim before it, and\n" +
			"so on. They are value, or with mode \"reflect\" those of x mirrored at its ends,\n" +
			"with \"replicate\" its ends, with \"circular\" those of its other end. A negative\n" +
			"number takes elements away; what mode \"circular\" puts around x has none of them.\n" +
			">>> tensor([1, 2]).pad([1, 2]).tolist()\n" +
			"[0, 1, 2, 0, 0]",
		Params: []Param{
			{Name: "x", Kind: Tensor, Doc: "a tensor"},
			{Name: "pad", Kind: Ints, Doc: "two ints a dim, the last dim first"},
			{Name: "mode", Kind: Choice, Doc: "what the new elements are", Default: Default(Str1("constant")),
				Choices: []string{"constant", "reflect", "replicate", "circular"}},
			{Name: "value", Kind: Float, Doc: "the new elements, with mode \"constant\"", Default: Default(Float1(0)), Free: true},
		},
		Infer: inferPad,
		Run:   runPad,
		Reads: ReadsShapes,
		Grad:  padGrad,

		Shard:   padRows,
		Compose: movedPad,
		Cost:    moves,
	})
}

// margins returns how many elements pad puts before and after each dim of
// In[0].
func margins(c *Call) (before, after []int, err error) {
	s, pad := c.In[0].Shape(), c.Args[0].Ints
	if len(pad)%2 != 0 || len(pad) > 2*len(s) {
		return nil, nil, c.Bad("pad", listText(pad), fmt.Sprintf("an even number of ints, at most %d", 2*len(s)), fmt.Sprintf("shape %v", s))
	}
	before, after = make([]int, len(s)), make([]int, len(s))
	for i := 0; i < len(pad); i += 2 {
		d := len(s) - 1 - i/2
		before[d], after[d] = pad[i], pad[i+1]
	}
	return before, after, nil
}

func inferPad(c *Call) error {
	before, after, err := margins(c)
	if err != nil {
		return err
	}
	x, mode := c.In[0], c.Args[1].Str
	if v := c.Args[2].Float; mode == "constant" && !x.DType().IsFloat() && v != float64(int(v)) {
		return c.Bad("value", fmt.Sprint(v), "an int", "x is "+Describe(x))
	}
	if err := c.checkNumber("value", numberIn(x.DType(), c.Args[2].Float), x.DType()); err != nil {
		return err
	}
	out := slices.Clone(x.Shape())
	for d, n := range x.Shape() {
		lo, hi, rule := before[d], after[d], fmt.Sprintf("dim %d of shape %v", d, x.Shape())
		if most := marginMost(mode, n, lo, hi); min(lo, hi) < -n || max(lo, hi) > most {
			return c.Bad("pad", listText(c.Args[0].Ints), fmt.Sprintf("ints from %d to %d", -n, most), rule+", mode \""+mode+"\"")
		}
		if out[d] += lo + hi; out[d] < 0 {
			return c.Bad("pad", listText(c.Args[0].Ints), "a size of 0 or more", rule)
		}
	}
	return c.Result(x.DType(), out)
}

// maxMargin bounds what pad adds on one side, so that sizes do not overflow.
const maxMargin = 1 << 40

// marginMost returns how many elements may be put at one end of a dim of n.
func marginMost(mode string, n, before, after int) int {
	switch {
	case mode == "reflect":
		return max(n-1, 0)
	case mode == "circular":
		_, kept := keptOf(n, before, after)
		return max(kept, 0)
	case mode == "replicate" && n == 0:
		return 0
	}
	return maxMargin
}

// keptOf returns how many elements of a dim of n negative margins leave, and the first of them.
func keptOf(n, before, after int) (first, kept int) {
	return max(-before, 0), n + min(before, 0) + min(after, 0)
}

func runPad(c *Call) error {
	before, after, err := margins(c)
	if err != nil {
		return err
	}
	if c.Args[1].Str != "constant" {
		return c.compose(func(t *Tape) *tensor.Tensor {
			y := c.In[0]
			for d, n := range y.Shape() {
				if before[d] != 0 || after[d] != 0 {
					y = t.indexSelect(y, d, c.marginIndex(t, n, before[d], after[d]))
				}
			}
			return y
		})
	}
	x, y := c.In[0], c.Out[0]
	copyInto(y, tensor.Number(c.Args[2].Float))
	s, to, from := slices.Clone(x.Shape()), stridedOf(y), stridedOf(x)
	for d := range s {
		s[d] += min(before[d], 0) + min(after[d], 0)
		if s[d] <= 0 {
			return nil // what is taken away at one end reaches beyond the other
		}
		to, from = to.narrow(d, max(before[d], 0)), from.narrow(d, max(-before[d], 0))
	}
	moveElements(y, to, x, from, s)
	return nil
}

// marginIndex returns which elements of a dim of n the padded dim holds.
func (c *Call) marginIndex(t *Tape, n, before, after int) *tensor.Tensor {
	at := make([]int64, before+n+after)
	first, kept := keptOf(n, before, after)
	for i := range at {
		j := i - before
		switch c.Args[1].Str {
		case "reflect":
			if j = max(j, -j); j >= n {
				j = 2*(n-1) - j
			}
		case "replicate":
			j = min(max(j, 0), n-1)
		case "circular":
			j = first + within(j-first, kept)
		}
		at[i] = int64(j)
	}
	return t.ints(c.Ctx, at)
}

func padGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	if c.Args[1].Str == "constant" {
		back := slices.Clone(c.Args[0].Ints)
		for i, n := range back {
			back[i] = -n
		}
		return one(t.Do("pad", dy, IntsN(back...), c.Args[1], Float1(0)))
	}
	before, after, _ := margins(c)
	g := dy[0]
	for d, n := range c.In[0].Shape() {
		if before[d] != 0 || after[d] != 0 {
			g = t.indexSpread(g, d, n, c.marginIndex(t, n, before[d], after[d]), nil)
		}
	}
	return one(g)
}

// ints returns a tensor of the given elements.
func (t *Tape) ints(c *Ctx, elems []int64) *tensor.Tensor {
	x, err := FromInts(c, dtype.Int64, shape.Shape{len(elems)}, elems)
	if err != nil {
		panic(&TapeError{err})
	}
	return x
}

package op

import (
	"fmt"
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// noPath stands for the logarithm of 0: its differences are numbers, so that gradients are.
const noPath = -1e30

func init() {
	compositeOf(&Def{
		Name: "ctc_loss", Surface: Namespace,
		Doc: "ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=\"mean\", zero_infinity=False) returns the negative logarithm of the probability that a row of classes, repeated and blank ones left out, is a target.\n" +
			"log_probs is [t, n, classes], or [t, classes] of one; targets int64 [n, s], or all of them in a\n" +
			"row; the lengths are int64 [n] or lists. reduction \"mean\" is the mean over n of each over the length of\n" +
			"its target. One that no row of classes can be is infinite, or with zero_infinity 0; its\n" +
			"gradient is 0. (Graves et al., \"Connectionist temporal classification\", ICML 2006.)\n" +
			">>> F.ctc_loss(tensor([[[0.5, 0.5]]]).log(), tensor([[1]]), tensor([1]), tensor([1])).item()\n0.6931471824645996",
		Params: []Param{
			{Name: "log_probs", Kind: Tensor, Doc: "logarithms of probabilities"},
			{Name: "targets", Kind: Tensor, Doc: "classes"},
			{Name: "input_lengths", Kind: Tensor, OrInts: true, Doc: "how many of t count, a tensor or a list of ints"},
			{Name: "target_lengths", Kind: Tensor, OrInts: true, Doc: "how many of s count, a tensor or a list of ints"},
			inInt("blank", "the class that stands for none", 0), reductionParam,
			{Name: "zero_infinity", Kind: Bool, Doc: "whether infinite losses are 0", Default: Default(Bool1(false))},
		},
	}, (*maker).ctcLoss)
}

// A ctc is a call of ctc_loss: targets [n, s] with their lengths [n, 1].
type ctc struct {
	logs, targets, inputs, lengths *tensor.Tensor
	steps, n, classes, s           int
}

func (m *maker) ctcLoss() []*tensor.Tensor {
	c, alone := m.ctcCall()
	loss := m.Neg(m.ctcPaths(c))
	none := m.greater(loss, number(-noPath/2))
	if m.bool(2) {
		loss = m.Where(none, number(0), loss)
	} else {
		loss = m.Where(none, m.AddNumber(m.Scale(loss, 0), math.Inf(1)), loss)
	}
	switch m.c.Args[1].Str {
	case "sum":
		return one(m.Sum(loss, []int{0}, false))
	case "mean":
		length := m.Cast(m.do("clamp", c.lengths, Float1(1), None), loss.DType())
		return one(m.do("mean", m.Div(loss, m.Reshape(length, shape.Shape{c.n})), IntsN(0), Bool1(false)))
	}
	if alone {
		loss = m.Reshape(loss, nil)
	}
	return one(loss)
}

// ctcCall checks the arguments and brings them into one form.
func (m *maker) ctcCall() (c *ctc, alone bool) {
	c = &ctc{logs: m.floats(m.x(0)), targets: m.x(1), inputs: m.x(2), lengths: m.x(3)}
	for i, x := range m.c.In[1:] {
		m.check(m.c.checkInts(m.c.Def.Params[1+i].Name, x))
	}
	if alone = len(c.logs.Shape()) == 2; alone {
		c.logs = m.column(c.logs, 1)
	}
	if len(c.logs.Shape()) != 3 || c.logs.Shape()[0] == 0 {
		m.refuse("log_probs", Describe(m.x(0)), "a float tensor [t, n, classes], or [t, classes], t not 0", "")
	}
	c.steps, c.n, c.classes = c.logs.Shape()[0], c.logs.Shape()[1], c.logs.Shape()[2]
	for i, name := range []string{"input_lengths", "target_lengths"} {
		if m.x(2+i).Numel() != c.n {
			m.refuse(name, Describe(m.x(2+i)), fmt.Sprintf("%d lengths", c.n), "")
		}
	}
	if b := m.int(0); b < 0 || b >= c.classes {
		m.refuse("blank", fmt.Sprint(b), fmt.Sprintf("a class from 0 to %d", c.classes-1), "")
	}
	c.inputs, c.lengths = m.Reshape(c.inputs, shape.Shape{c.n, 1}), m.Reshape(c.lengths, shape.Shape{c.n, 1})
	switch s := c.targets.Shape(); {
	case len(s) == 2 && s[0] == c.n:
		c.s = s[1]
	case len(s) == 1 && alone:
		c.s, c.targets = s[0], m.column(c.targets, 0)
	case len(s) == 1: // all in a row: each begins where those before it end
		c.s = s[0]
		begin := m.Sub(m.do("cumsum", c.lengths, Int1(0)), c.lengths)
		at := m.do("clamp", m.Add(begin, m.upTo(c.s)), None, Float1(float64(max(c.s-1, 0))))
		at = m.Cast(at, dtype.Int64)
		c.targets = m.Reshape(m.do2("index_select", c.targets, m.Reshape(at, shape.Shape{c.n * c.s}), Int1(0)), shape.Shape{c.n, c.s})
	default:
		m.refuse("targets", Describe(m.x(1)), fmt.Sprintf("classes [%d, s], or all of them in a row", c.n), "")
	}
	// what is beyond a target does not count, and may be no class
	inside := m.less(m.upTo(c.s), c.lengths)
	c.targets = m.Where(inside, c.targets, m.Cast(m.Scale(c.lengths, 0), c.targets.DType()))
	return c, alone
}

// ctcPaths returns the logarithms [n] of the probabilities: of the ways in which the
// classes so far are the first k of a target with blanks between and around, from step
// to step.
func (m *maker) ctcPaths(c *ctc) *tensor.Tensor {
	width := 2*c.s + 1
	blank := m.full(integer(m.int(0)), dtype.Int64, c.n, c.s+1, 1)
	between := m.do("narrow", blank, Int1(1), Int1(0), Int1(c.s))
	pairs := m.Do("cat", []*tensor.Tensor{between, m.column(m.Cast(c.targets, dtype.Int64), 2)}, Int1(2))
	row := m.Do("cat", []*tensor.Tensor{m.Reshape(pairs, shape.Shape{c.n, 2 * c.s}), m.do("select", blank, Int1(1), Int1(0))}, Int1(1))
	two := m.do("narrow", m.shiftedBy(row, 2, -1), Int1(1), Int1(0), Int1(width))
	skips := m.and(m.binary("ne", row, integer(m.int(0))), m.and(m.binary("ne", row, two), m.binary("ge", two, integer(0))))
	index := m.Expand(m.column(row, 0), shape.Shape{c.steps, c.n, width})
	logs := m.do2("gather", c.logs, index, Int1(2)) // [t, n, width]
	logs = m.do("clamp", logs, Float1(noPath), None)
	at := func(t int) *tensor.Tensor { return m.do("select", logs, Int1(0), Int1(t)) }
	first := m.less(m.upTo(width), integer(2))
	paths := m.Where(first, at(0), number(noPath))
	for t := 1; t < c.steps; t++ {
		next := m.binary("logaddexp", paths, m.shiftedBy(paths, 1, noPath))
		next = m.binary("logaddexp", next, m.Where(skips, m.shiftedBy(paths, 2, noPath), number(noPath)))
		next = m.do("clamp", m.Add(next, at(t)), Float1(noPath), None)
		paths = m.Where(m.greater(c.inputs, integer(t)), next, paths)
	}
	end := m.Mul(m.Cast(c.lengths, dtype.Int64), integer(2))
	last := m.do2("gather", paths, end, Int1(1))
	before := m.do2("gather", paths, m.Cast(m.do("clamp", m.Sub(end, integer(1)), Float1(0), None), dtype.Int64), Int1(1))
	before = m.Where(m.greater(end, integer(0)), before, number(noPath))
	return m.Reshape(m.binary("logaddexp", last, before), shape.Shape{c.n})
}

// shiftedBy returns rows k places to the right, with v in the places that are free.
func (m *maker) shiftedBy(x *tensor.Tensor, k int, v float64) *tensor.Tensor {
	width := x.Shape()[1]
	y := m.do("pad", x, IntsN(k, 0), Str1("constant"), Float1(v))
	return m.do("narrow", y, Int1(1), Int1(0), Int1(width))
}

package optest

import (
	"math"
	"strings"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
)

// costLoops are the loops of operators whose entry has a cost, by name.
var costLoops = map[string]loop{}

func addLoop(l loop, names ...string) {
	for _, name := range names {
		costLoops[name] = l
	}
}

func init() {
	addLoop(written(0), "blank_beside", "zeros", "ones", "empty", "full", "eye", "zeros_like", "ones_like", "empty_like", "full_like", "zero", "fill")
	addLoop(written(1), "rand", "randn", "rand_like", "randn_like", "randint", "randperm", "keep_like", "causal_like")
	addLoop(written(2), "arange", "linspace") // start + i step
	addLoop(results(0), "clone", "flip", "roll", "tril", "triu", "cat", "stack", "repeat", "pad", "unpool_put", "window_put", "region_set", "region_spread",
		"masked_select", "nonzero", "index_copy", "latest", "one_hot", "bag_of")
	addLoop(picked, "index", "index_select", "gather", "window_get")
	addLoop(func(k *count, c *op.Call) {
		if c.In[0].DType() != c.Spec[0].DType {
			results(0)(k, c)
		}
	}, "to")
	addLoop(func(k *count, c *op.Call) {}, "contiguous", "reshape", "flatten") // of examples, which lie in order
	addLoop(func(k *count, c *op.Call) { k.loads(c.In[1]); k.stores(c) }, "copy")
}

// Elementwise operators of more than one operation.
func init() {
	addLoop(whole(func(k *count, c *op.Call) {
		times(c.In[0].Numel(), func() {
			if c.Args[0].Set {
				k.op()
			}
			if c.Args[1].Set {
				k.op()
			}
		})
	}), "clamp")
	addLoop(func(k *count, c *op.Call) {
		if k.stores(c); !c.In[0].Shape().Equal(c.In[1].Shape()) {
			return
		}
		k.loads(c.In...)
		k.ops(c.In[0].Numel(), 2) // equal, and
	}, "equal")
	// |x - y| <= atol + rtol |y|: -, abs, abs, *, +, <=, and.
	addLoop(whole(func(k *count, c *op.Call) { k.ops(pairs(c), 7) }), "allclose")
	addLoop(results(3), "combine", "lerp")   // a x + b y; x + w (y - x)
	addLoop(results(4), "add_square")        // keep x + share y y
	addLoop(results(6), "adam_step")         // x - rate m / (sqrt(v) / root + eps)
	addLoop(results(1+3+4+6), "adam_update") // decay x, then the three
	addLoop(results(1), "relu_grad")         // y > 0 ? g : 0
	addLoop(results(3), "tanh_grad")         // g (1 - y y)
	addLoop(results(3), "sigmoid_grad")      // g y (1 - y)
	addLoop(results(2), "silu")              // x sigmoid(x)
	addLoop(results(6), "silu_grad")         // g s (1 + x (1 - s))
	addLoop(results(3), "softplus")          // log(1 + exp x)
	addLoop(byApproximation(5, 9), "gelu")   // x (1 + erf(x / √2)) / 2; x (1 + tanh(a (x + b x x x))) / 2
	addLoop(byApproximation(11, 18), "gelu_grad")
}

// pairs returns how many pairs of elements the first two inputs of c have.
func pairs(c *op.Call) int {
	s, _ := shape.Broadcast(c.In[0].Shape(), c.In[1].Shape())
	return s.Numel()
}

func byApproximation(exact, tanh int) loop {
	return func(k *count, c *op.Call) {
		if c.Args[0].Str == "tanh" {
			results(tanh)(k, c)
			return
		}
		results(exact)(k, c)
	}
}

// Reductions and what goes along a dim.
func init() {
	// n operations for each element of a row and last for the row.
	reduction := func(at, n, last int) loop {
		return whole(func(k *count, c *op.Call) {
			rows(c, at, func(size int) {
				k.ops(size, n)
				times(last, k.op)
			})
		})
	}
	addLoop(reduction(0, 1, 1), "mean")      // +; /
	addLoop(reduction(0, 1+3, 1+1), "var")   // the mean; -, *, +; /
	addLoop(reduction(0, 1+3, 1+1+1), "std") // and its root
	addLoop(reduction(0, 4, 2), "logsumexp") // max, -, exp, +; log, +
	addLoop(func(k *count, c *op.Call) {
		switch p := c.Args[0].Float; {
		case p == 2:
			reduction(1, 2, 1)(k, c) // x x, +; root
		case p == 0 || p == 1 || math.IsInf(p, 0):
			reduction(1, 2, 0)(k, c) // abs or != 0, and + or max
		default:
			reduction(1, 3, 1)(k, c) // abs, power, +; root
		}
	}, "norm")
	addLoop(reduction(0, 5, 0), "softmax")          // max, -, exp, +, /
	addLoop(reduction(0, 5, 1), "log_softmax")      // max, -, exp, +; log; -
	addLoop(reduction(0, 4, 0), "softmax_grad")     // g y, +, g - Σ, *
	addLoop(reduction(0, 4, 0), "log_softmax_grad") // +, exp, *, -
	addLoop(whole(func(k *count, c *op.Call) { merge(k, c) }), "sort", "element_at")
	addLoop(whole(func(k *count, c *op.Call) {
		rows(c, 1, func(n int) {
			for range n { // among the k first that are kept
				bisect(k, min(c.Args[0].Int+1, n))
			}
		})
	}), "topk")
	addLoop(whole(func(k *count, c *op.Call) {
		n := c.In[0].Shape()[c.In[0].Ndim()-1]
		k.ops(c.In[0].Numel(), 1) // weights up to each
		times(c.Spec[0].Shape.Numel(), func() { k.op(); bisect(k, n) })
	}), "multinomial")
	addLoop(results(2), "recurrence") // x + a y
	addLoop(whole(func(k *count, c *op.Call) {
		times(c.Spec[0].Shape.Numel(), func() { bisect(k, c.In[0].Shape()[c.In[0].Ndim()-1]+1) })
	}), "places_in")
}

// merge counts a merge sort of every row: passes over it, in which runs of 1, 2,
// 4 ... are merged.
func merge(k *count, c *op.Call) {
	rows(c, 0, func(n int) {
		for run := 1; run < n; run *= 2 {
			times(n, k.op)
		}
	})
}

// bisect counts the comparisons that find a place among n.
func bisect(k *count, n int) {
	for places := 1; places < n; places *= 2 {
		k.op()
	}
}

// Products.
func init() {
	addLoop(whole(func(k *count, c *op.Call) {
		for range c.Spec[0].Shape.Numel() {
			as := c.In[0].Shape()
			times(as[len(as)-1], k.fma)
		}
	}), "matmul", "dot")
	addLoop(whole(func(k *count, c *op.Call) {
		for range c.Spec[0].Shape.Numel() {
			ws := c.In[1].Shape()
			times(ws[len(ws)-1], k.fma)
			if c.In[2] != nil {
				k.op()
			}
		}
	}), "linear")
	addLoop(whole(func(k *count, c *op.Call) {
		for range c.Spec[0].Shape.Numel() {
			as := c.In[0].Shape()
			times(as[:len(as)-1].Numel(), k.fma)
		}
	}), "rows_product")
	for to, name := range []string{"convolve", "convolve_data", "convolve_weight"} {
		addLoop(whole(func(k *count, c *op.Call) {
			y, w := c.Spec[0].Shape, c.In[1].Shape()
			switch to {
			case 1:
				y = c.In[0].Shape()
			case 2:
				y, w = c.In[1].Shape(), c.Spec[0].Shape
			}
			for range y.Numel() {
				times(w[1:].Numel(), k.fma)
			}
		}), name)
	}
	addLoop(func(k *count, c *op.Call) {
		beta, alpha := c.Args[0].Float, c.Args[1].Float
		if k.loads(c.In[1:]...); beta != 0 {
			k.loads(c.In[0])
		}
		for range c.Spec[0].Shape.Numel() {
			times(c.In[1].Shape()[1], k.fma)
			if alpha != 1 {
				k.op()
			}
			if beta != 0 {
				k.op()
				if beta != 1 {
					k.op()
				}
			}
		}
		k.stores(c)
	}, "addmm")
	addLoop(whole(contractLoop), "einsum")
	addLoop(whole(func(k *count, c *op.Call) {
		for range c.Spec[0].Shape.Numel() {
			k.ops(c.In[0].Shape()[c.In[0].Ndim()-1], 3) // -, and * or abs; +
			if c.Args[0].Int == 0 {
				k.op() // root
			}
		}
	}), "distances")
}

// contractLoop counts an einsum of plain letters of one or two tensors: the loop
// over all letters, after sums over those of one tensor alone.
func contractLoop(k *count, c *op.Call) {
	left, out, _ := strings.Cut(strings.ReplaceAll(c.Args[0].Str, " ", ""), "->")
	terms := strings.Split(left, ",")
	size, free := map[rune]int{}, "ZYXW"
	for i, term := range terms {
		if n := c.In[i].Ndim() - (len(term) - 3); strings.Contains(term, "...") {
			terms[i] = strings.Replace(term, "...", free[len(free)-n:], 1)
		}
		for d, l := range []rune(terms[i]) {
			size[l] = max(size[l], c.In[i].Shape()[d])
			if c.In[i].Shape()[d] == 0 {
				size[l] = 0
			}
		}
	}
	out = withEllipsis(c, terms, out, free)
	sofar := ""
	for i, term := range terms {
		later, term := strings.Join(terms[i+1:], "")+out, unique(term)
		if i == 0 {
			sofar = summedOver(k, size, term, later)
			continue
		}
		a, b := summedOver(k, size, sofar, term+later), summedOver(k, size, term, sofar+later)
		all := unique(a + b)
		kept := keepOnly(all, later)
		for range volume(size, all) {
			if kept == all {
				k.op()
			} else {
				k.fma() // a product, and a sum over what goes
			}
		}
		sofar = kept
	}
}

// withEllipsis returns the letters of the result: those that occur once, after
// those of an ellipsis, if the text does not say.
func withEllipsis(c *op.Call, terms []string, out, free string) string {
	dots := keepOnly(free, strings.Join(terms, ""))
	if strings.Contains(c.Args[0].Str, "->") {
		return strings.Replace(out, "...", dots, 1)
	}
	once := ""
	all := strings.Join(terms, "")
	for _, l := range unique(all) {
		if strings.Count(all, string(l)) == 1 && !strings.ContainsRune(free, l) {
			once += string(l)
		}
	}
	return dots + once
}

// summedOver counts the sum over the letters of dims that keep lacks.
func summedOver(k *count, size map[rune]int, dims, keep string) string {
	kept := keepOnly(dims, keep)
	if kept != dims {
		times(volume(size, dims), k.op)
	}
	return kept
}

func volume(size map[rune]int, dims string) int {
	n := 1
	for _, l := range dims {
		n *= size[l]
	}
	return n
}

func unique(s string) string {
	out := ""
	for _, l := range s {
		if !strings.ContainsRune(out, l) {
			out += string(l)
		}
	}
	return out
}

func keepOnly(s, of string) string {
	out := ""
	for _, l := range s {
		if strings.ContainsRune(of, l) {
			out += string(l)
		}
	}
	return out
}

// What replaces and adds by index.
func init() {
	set := func(region func(c *op.Call) int) loop {
		return func(k *count, c *op.Call) {
			if !c.Def.InPlace {
				results(0)(k, c)
				return
			}
			k.loads(c.In[1:]...)
			times(region(c), func() { k.written += int64(c.In[0].DType().Size()) })
		}
	}
	item := set(func(c *op.Call) int { return c.In[0].Shape()[len(c.Args[0].Ints):].Numel() })
	addLoop(item, "setitem", "setitem_")
	put := set(func(c *op.Call) int {
		if s := c.In[0].Shape(); c.In[1].DType() != dtype.Bool {
			return c.In[1].Numel() * s[1:].Numel()
		}
		return c.In[0].Numel()
	})
	addLoop(put, "index_put", "index_put_")
	addLoop(func(k *count, c *op.Call) {
		k.loads(c.In...)
		k.ops(c.In[0].Numel(), 1)
		k.stores(c)
	}, "unpool_add")
	addLoop(func(k *count, c *op.Call) {
		k.loads(c.In...)
		windows := c.Spec[0].Shape.Numel()
		if c.Def.Name == "window_spread" {
			windows = c.In[0].Numel()
		}
		for range windows {
			times(shape.Shape(c.Args[1].Ints).Numel(), k.op)
			if len(c.Args) > 5 && c.Args[5].Float != 1 {
				k.op()
			}
		}
		k.stores(c)
	}, "window_max", "window_sum", "window_spread")
	addLoop(func(k *count, c *op.Call) {
		k.loads(c.In[:2]...)
		times(c.In[1].Numel(), func() { k.load(c.In[2]); k.op() })
		k.stores(c)
	}, "scatter_add", "scatter_fold", "scatter_put")
	addLoop(func(k *count, c *op.Call) {
		k.loads(c.In[:2]...)
		k.ops(c.In[0].Numel(), 1)
		k.stores(c)
	}, "index_spread", "embedding_grad")
}

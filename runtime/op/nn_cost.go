package op

// geluCost: x Φ(x) by the error function, x/√2, erf, + 1, / 2 and the product; or
// by tanh of √(2/π)(x + 0.044715 x³).
func geluCost(c *Call) Cost {
	if c.Args[0].Str == "tanh" {
		return each(9)(c)
	}
	return each(5)(c)
}

// geluGradCost: g (Φ(x) + x φ(x)), or its approximation.
func geluGradCost(c *Call) Cost {
	if c.Args[0].Str == "tanh" {
		return each(18)(c)
	}
	return each(11)(c)
}

// logSoftmaxCost: the greatest, the difference, its exponential and their sum,
// the sum's logarithm once a row, and the difference with it.
func logSoftmaxCost(c *Call) Cost {
	s, n := c.In[0].Shape(), 1
	if d, err := c.axis(0, s); err == nil && len(s) > 0 {
		n = s[d]
	}
	return c.costs(5*c.In[0].Numel() + c.In[0].Numel()/max(n, 1))
}

// normalCost returns the operations of normalising n elements in so many rows:
// with center the mean, the variance about it, the root of its sum with eps and
// two more for each element; without it the mean square, its root and one more.
func normalCost(center bool, n, rows int) int {
	if center {
		return 6*n + 4*rows
	}
	return 3*n + 3*rows
}

// rowsOf returns how many rows of size elements n elements are.
func rowsOf(n, size int) int { return n / max(size, 1) }

// normalizeCost: weight and bias are one operation more an element each.
func normalizeCost(c *Call) Cost {
	how, size := c.normal()
	n := c.In[0].Numel()
	k := c.costs(normalCost(how.Center, n, rowsOf(n, size)))
	for _, w := range c.In[1:] {
		if w != nil {
			k.FLOPs += int64(n)
		}
	}
	return k
}

// normalizeGradOps returns the operations of normalize_grad: the rows normalised
// again, the means of g and of g times them, and what is made of these.
func normalizeGradOps(center bool, n, rows int) int {
	k := normalCost(center, n, rows)
	if center {
		return k + 7*n + 2*rows
	}
	return k + 5*n + rows
}

func normalizeGradCost(c *Call) Cost {
	n := c.In[1].Numel()
	return c.costs(normalizeGradOps(c.Args[1].Int != 0, n, rowsOf(n, c.Args[0].Int)))
}

// normalizeGradsCost: g times weight, g times the normalised rows added up, and g
// added up, besides.
func normalizeGradsCost(c *Call) Cost {
	n := c.In[1].Numel()
	return c.costs(normalizeGradOps(c.Args[0].Int != 0, n, rowsOf(n, c.In[2].Numel())) + 4*n)
}

// batchNormCost: in training the mean and the variance of each channel, and seven
// operations that move the running ones.
func batchNormCost(c *Call) Cost {
	n, channels := c.In[bnX].Numel(), channelCount(c.In[bnX].Shape())
	if n == 0 {
		return c.costs(0)
	}
	if c.Args[0].Int == 0 {
		return c.costs(3*n + 3*channels)
	}
	k := c.costs(7*n + 5*channels)
	for i, ops := range map[int]int{bnMean: 3, bnVar: 4} {
		if c.In[i] != nil {
			k.FLOPs += int64(ops * channels)
			k.Written += bytesOf(c.In[i])
		}
	}
	return k
}

// reducedLoss returns the operations of joining n losses into one.
func reducedLoss(reduction string, n int) int {
	switch reduction {
	case "mean":
		return n + 1
	case "sum":
		return n
	}
	return 0
}

// classCost: the greatest of each row, the differences, their exponentials and
// their sum; then for each target its logarithm, the greatest and the score. A
// weight is one operation a target, and one more for the mean; smoothing adds the
// scores up, and four operations a target. Against probabilities, each class has
// the difference with the logarithm, a product and a sum.
func classCost(c *Call) Cost {
	n, targets := c.In[0].Numel(), withoutClasses(c.In[0].Shape()).Numel()
	ops := 4*n + 3*targets + reducedLoss(c.Args[1].Str, targets)
	switch {
	case c.probabilities():
		ops = 7*n + targets + reducedLoss(c.Args[1].Str, targets)
		if c.Args[2].Float != 0 {
			ops += 2 * n
		}
		if c.In[2] != nil {
			ops += n
		}
	case c.Args[2].Float != 0:
		ops += n + 4*targets
	}
	if c.In[2] != nil && !c.probabilities() {
		ops += targets
		if c.Args[1].Str == "mean" {
			ops += targets
		}
	}
	return c.costs(ops)
}

// classGradCost: the softmax of each row, less the weight at the target, times the
// gradient.
func classGradCost(c *Call) Cost { return eachIn(7)(c) }

// nllCost takes one score for each target: it is negated and joined, and weighed.
func nllCost(c *Call) Cost {
	targets := c.In[1].Numel()
	ops := targets + reducedLoss(c.Args[1].Str, targets)
	if c.In[2] != nil {
		ops += targets
		if c.Args[1].Str == "mean" {
			ops += targets
		}
	}
	k := c.costs(ops, 0)
	k.Read += int64(targets * c.In[0].DType().Size())
	return k
}

// classTotalCost adds up one weight, or one, for each target.
func classTotalCost(c *Call) Cost { return eachIn(1)(c) }

// classWeightsCost reads no scores.
func classWeightsCost(c *Call) Cost { return c.costs(c.Spec[0].Shape.Numel(), 0) }

// bceCost: (1 - t) x + softplus(-x), of three operations besides the sign, the
// second term times 1 + (p - 1) t with pos_weight, the loss times weight.
func bceCost(c *Call) Cost {
	n, each := c.In[0].Numel(), 7
	if c.In[3] != nil {
		each += 4
	}
	if c.In[2] != nil {
		each++
	}
	return c.costs(each*n + reducedLoss(c.Args[0].Str, n))
}

func mseCost(c *Call) Cost {
	k := pairCost(2)(c)
	k.FLOPs += int64(reducedLoss(c.Args[0].Str, int(k.FLOPs/2)))
	return k
}

// mseGradCost: the factor 2 dy share is made once.
func mseGradCost(c *Call) Cost {
	k := pairCost(2)(c)
	k.FLOPs += 2
	return k
}

// dropoutCost: a draw, and a choice of zero or the product.
func dropoutCost(c *Call) Cost {
	if c.Args[1].Int == 0 {
		return moves(c)
	}
	return each(2)(c)
}

// embeddingCost takes a row for each number.
func embeddingCost(c *Call) Cost {
	k := c.costs(0, 1)
	k.Read += k.Written
	return k
}

// embeddingGradCost adds a row for each number.
func embeddingGradCost(c *Call) Cost { return c.costs(c.In[0].Numel(), 2) }

// embeddingScaleCost: a count and a quotient for each number.
func embeddingScaleCost(c *Call) Cost {
	if c.Args[2].Int == 0 {
		return moves(c)
	}
	return each(2)(c)
}

// embeddingBagCost joins a row for each number, times its weight if it has one; a
// mean divides once a bag.
func embeddingBagCost(c *Call) Cost {
	w, bags := c.In[1], c.Spec[0].Shape.Numel()
	taken := c.In[0].Numel() * w.Shape()[1]
	ops := taken
	if c.In[3] != nil {
		ops += taken
	}
	if c.Args[0].Str == "mean" {
		ops += bags
	}
	k := c.costs(ops, 1)
	k.Read += int64(taken * w.DType().Size())
	return k
}

// bagFirstCost compares a row for each number with that of its bag.
func bagFirstCost(c *Call) Cost {
	w := c.In[1]
	taken := c.In[0].Numel() * w.Shape()[1]
	k := c.costs(taken, 1)
	k.Read += int64(taken * w.DType().Size())
	return k
}

// seenPairs returns how many of l queries and s keys meet, where a query sees the
// keys up to its own place if causal.
func seenPairs(l, s int, causal bool) int {
	if !causal {
		return l * s
	}
	short := min(l, s)
	return short*(short+1)/2 + (l-short)*s
}

// attentionCost: for each pair of query and key that meet their product, its
// scale, what a mask adds or hides, a softmax of five operations, what dropout
// draws and drops, and the product with the value. Scores are never in memory.
func attentionCost(c *Call) Cost {
	scores, err := c.scoreShape()
	if err != nil {
		return Cost{}
	}
	n := len(scores) - 2
	qs, vs := c.In[attQuery].Shape(), c.In[attValue].Shape()
	batch, l, s, e, v := scores[:n].Numel(), scores[n], scores[n+1], qs[len(qs)-1], vs[len(vs)-1]
	ops := 2*e + 6 + 2*v
	if c.In[attMask] != nil {
		ops++
	}
	if c.Args[attDropout].Float > 0 {
		ops += 2
	}
	if c.Args[attCap].Set { // a part, its tangent, the cap times that
		ops += 3
	}
	k := c.costs(batch * seenPairs(l, s, c.Args[attCausal].Int != 0) * ops)
	k.Products = []Product{{batch, l, s, e}, {batch, l, v, s}}
	k.Inner = int64(batch * l * s * c.In[attQuery].DType().Size())
	return k
}

// attentionGradCost makes the weights again. g and y have a product for each
// query; then, for each pair that meets, there are the gradient of the weight and
// that of the score, of three operations, and what it adds to those of query, key
// and value.
func attentionGradCost(c *Call) Cost {
	qs, ks, ys := c.In[attGradQuery].Shape(), c.In[attGradKey].Shape(), c.In[attGradY].Shape()
	n := len(ys) - 2
	batch, l, v := ys[:n].Numel(), ys[n], ys[n+1]
	s, e := ks[len(ks)-2], qs[len(qs)-1]
	ops := 6*e + 4*v + 9
	if c.In[attGradMask] != nil {
		ops++
	}
	if c.Args[attGradCap].Float != 0 { // as forward, and 1 less the square, times that
		ops += 6
	}
	k := c.costs(batch*seenPairs(l, s, c.Args[attGradCausal].Int != 0)*ops + 2*batch*l*v)
	k.Products = []Product{{batch, l, s, e}, {batch, l, s, v}, {batch, l, e, s}, {batch, s, e, l}, {batch, s, v, l}}
	k.Inner = int64(2 * batch * l * s * c.In[attGradQuery].DType().Size()) // the weights and their gradient
	return k
}

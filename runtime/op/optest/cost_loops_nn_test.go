package optest

import (
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// The loops of layers and losses.

func init() {
	// The mean, the variance about it and the reciprocal of its root; then the
	// difference and the product.
	addLoop(whole(func(k *count, c *op.Call) {
		eachRowOf(c.In[0].Numel(), normalSize(c), func(n int) { normalLoop(k, true, n); affineLoop(k, c, n) })
	}), "layer_norm")
	addLoop(whole(func(k *count, c *op.Call) {
		eachRowOf(c.In[0].Numel(), normalSize(c), func(n int) { normalLoop(k, false, n); affineLoop(k, c, n) })
	}), "rms_norm")
	addLoop(whole(func(k *count, c *op.Call) {
		eachRowOf(c.In[1].Numel(), c.Args[0].Int, func(n int) { normalGradLoop(k, c.Args[1].Int != 0, n) })
	}), "normalize_grad")
	addLoop(whole(func(k *count, c *op.Call) {
		eachRowOf(c.In[1].Numel(), c.In[2].Numel(), func(n int) {
			k.ops(n, 1)                              // g weight
			normalGradLoop(k, c.Args[0].Int != 0, n) // dx
			for range n {
				k.fma() // dweight += g h
				k.op()  // dbias += g
			}
		})
	}), "normalize_grads")
	addLoop(batchNormLoop, "batch_norm")
}

// normalSize returns the elements of a row of layer_norm and rms_norm.
func normalSize(c *op.Call) int {
	if c.Args[0].Ints == nil {
		return c.Args[0].Int
	}
	return shape.Shape(c.Args[0].Ints).Numel()
}

// eachRowOf calls f for each row of size elements among n.
func eachRowOf(n, size int, f func(size int)) {
	for at := 0; at < n; at += size {
		f(size)
	}
}

func normalLoop(k *count, center bool, n int) {
	if center {
		k.ops(n, 1) // mean +
		k.op()      // / n
		k.ops(n, 1) // x - mean
		times(n, k.fma)
		times(3, k.op) // / n, + eps, root
		k.ops(n, 2)    // x - mean, times
		return
	}
	times(n, k.fma)
	times(3, k.op) // / n, + eps, root
	k.ops(n, 1)
}

func affineLoop(k *count, c *op.Call, n int) {
	for _, w := range c.In[1:] {
		if w != nil {
			k.ops(n, 1)
		}
	}
}

func normalGradLoop(k *count, center bool, n int) {
	normalLoop(k, center, n)
	times(n, k.fma) // mean of g h
	k.op()
	if center {
		k.ops(n, 1) // mean of g
		k.op()
		k.ops(n, 1) // g - it
	}
	k.ops(n, 3) // h times the mean of g h, the difference, times the root
}

func batchNormLoop(k *count, c *op.Call) {
	x := c.In[0]
	k.loads(c.In...)
	k.stores(c)
	channels, training := x.Shape()[1], c.Args[0].Int != 0
	for range channels {
		n := x.Numel() / channels
		if training {
			k.ops(n, 1) // mean
			k.op()
			k.ops(n, 1) // x - mean
			times(n, k.fma)
			k.op() // / n
			if c.In[1] != nil {
				times(3, k.op) // (1 - momentum) mean + momentum new: with the factor at hand
				k.written += int64(c.In[1].DType().Size())
			}
			if c.In[2] != nil {
				times(4, k.op) // and n / (n - 1)
				k.written += int64(c.In[2].DType().Size())
			}
		}
		times(3, k.op) // + eps, root, weight over it
		k.ops(n, 3)    // - mean, times, + bias
	}
}

func init() {
	addLoop(whole(classLoop), "cross_entropy")
	addLoop(results(7), "cross_entropy_grad") // a softmax of 5, - weight, times g
	addLoop(whole(func(k *count, c *op.Call) {
		k.ops(c.In[0].Numel(), 3) // - most, the exponential, and a sum, or a product with g
		k.ops(c.In[1].Numel(), 1) // the difference at the target, or + h there
	}), "class_sums", "class_sums_grad")
	addLoop(func(k *count, c *op.Call) {
		k.loads(c.In[1:]...)
		n := c.In[1].Numel()
		for range n {
			k.load(c.In[0])
			k.op() // the sign
			weighLoop(k, c)
		}
		joinLoop(k, c.Args[1].Str, n)
		k.stores(c)
	}, "nll_loss")
	addLoop(whole(func(k *count, c *op.Call) { k.ops(c.In[0].Numel(), 1) }), "class_total")
	addLoop(func(k *count, c *op.Call) {
		k.loads(c.In[1:]...)
		k.ops(c.In[0].Numel(), 1)
		k.stores(c)
	}, "class_weights")
	addLoop(whole(func(k *count, c *op.Call) {
		n := c.In[0].Numel()
		for range n {
			times(2+1+1+2+1, k.op) // 1 - t, times x; -x; exp, + 1, log: of which two and one; their sum
			if c.In[3] != nil {
				times(4, k.op) // p - 1, times t, + 1, times
			}
			if c.In[2] != nil {
				k.op()
			}
		}
		joinLoop(k, c.Args[0].Str, n)
	}), "binary_cross_entropy_with_logits")
	addLoop(whole(func(k *count, c *op.Call) {
		k.ops(pairs(c), 2) // x - t, its square
		joinLoop(k, c.Args[0].Str, pairs(c))
	}), "mse_loss")
	addLoop(whole(func(k *count, c *op.Call) {
		times(2, k.op)     // 2 dy share
		k.ops(pairs(c), 2) // x - t, times
	}), "mse_grad")
}

// joinLoop counts how n losses become one.
func joinLoop(k *count, reduction string, n int) {
	if reduction != "none" {
		times(n, k.op)
	}
	if reduction == "mean" {
		k.op()
	}
}

// weighLoop counts the weight of one target.
func weighLoop(k *count, c *op.Call) {
	if c.In[2] == nil {
		return
	}
	if k.op(); c.Args[1].Str == "mean" {
		k.op() // in the divisor
	}
}

func classLoop(k *count, c *op.Call) {
	s := c.In[0].Shape()
	classes := s[min(len(s)-1, 1)]
	targets, soft, smooth := s.Numel()/max(classes, 1), c.In[1].DType().IsFloat(), c.Args[2].Float != 0
	if classes == 0 {
		targets = c.In[1].Numel()
	}
	for range targets {
		k.ops(classes, 4) // max, -, exp, +
		k.op()            // log
		if soft {
			k.ops(classes, 3) // - it, times the probability, +
			if smooth {
				k.ops(classes, 2) // the probability smoothed
			}
			if c.In[2] != nil {
				k.ops(classes, 1)
			}
			continue
		}
		times(2, k.op) // + max, - x[target]
		if smooth {
			k.ops(classes, 1)
			times(4, k.op)
		}
		weighLoop(k, c)
	}
	joinLoop(k, c.Args[1].Str, targets)
}

// Embeddings and dropout.
func init() {
	addLoop(func(k *count, c *op.Call) {
		k.loads(c.In[0])
		for range c.In[0].Numel() {
			times(c.In[1].Shape()[1], func() { k.load(c.In[1]) })
		}
		k.stores(c)
	}, "embedding")
	addLoop(whole(func(k *count, c *op.Call) {
		if c.Args[2].Int != 0 {
			k.ops(c.In[0].Numel(), 2) // a count, 1 over it
		}
	}), "embedding_scale")
	addLoop(func(k *count, c *op.Call) {
		k.loads(c.In[0], c.In[2], c.In[3])
		for range c.In[0].Numel() {
			for range c.In[1].Shape()[1] {
				k.load(c.In[1])
				if k.op(); c.In[3] != nil {
					k.op()
				}
			}
		}
		if c.Args[0].Str == "mean" {
			k.ops(c.Spec[0].Shape.Numel(), 1)
		}
		k.stores(c)
	}, "embedding_bag")
	addLoop(func(k *count, c *op.Call) {
		k.loads(c.In[0], c.In[2], c.In[3])
		for range c.In[0].Numel() {
			times(c.In[1].Shape()[1], func() { k.load(c.In[1]); k.op() })
		}
		k.stores(c)
	}, "bag_first")
	addLoop(whole(func(k *count, c *op.Call) {
		if c.Args[1].Int != 0 {
			k.ops(c.In[0].Numel(), 2) // a draw, a choice
		}
	}), "dropout")
}

// Attention.
func init() {
	addLoop(whole(func(k *count, c *op.Call) {
		e, v := lastOf(c.In[0]), lastOf(c.In[2])
		seen(c.Spec[0].Shape, c.In[1], c.Args[1].Int != 0, func() {
			times(e, k.fma)
			times(1+5, k.op) // the scale, the softmax
			if c.In[3] != nil {
				k.op()
			}
			if c.Args[0].Float > 0 {
				times(2, k.op)
			}
			if c.Args[4].Set {
				times(3, k.op)
			}
			times(v, k.fma)
		})
	}), "scaled_dot_product_attention")
	addLoop(whole(func(k *count, c *op.Call) {
		e, v := lastOf(c.In[1]), lastOf(c.In[3])
		k.ops(c.In[4].Numel(), 2) // g y, +
		seen(c.In[4].Shape(), c.In[2], c.Args[0].Int != 0, func() {
			times(e, k.fma)
			times(1+5, k.op)
			if c.In[5] != nil {
				k.op()
			}
			if c.Args[2].Float != 0 {
				times(3+3, k.op)
			}
			times(v, k.fma)   // the weight's gradient
			times(3, k.op)    // less g y, times the weight, times the scale
			times(2*e, k.fma) // of query and key
			times(v, k.fma)   // of value
		})
	}), "attention_grad")
}

func lastOf(x *tensor.Tensor) int { return x.Shape()[x.Ndim()-1] }

// seen calls f for every query and key that meet, given the shape of the result.
func seen(y shape.Shape, key *tensor.Tensor, causal bool, f func()) {
	n := len(y) - 2
	for range y[:n].Numel() {
		for i := range y[n] {
			for j := range key.Shape()[key.Ndim()-2] {
				if !causal || j <= i {
					f()
				}
			}
		}
	}
}

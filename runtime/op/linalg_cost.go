package op

import "strings"

// productCost returns the cost of c, which is the product p.
func (c *Call) productCost(p Product) Cost {
	k := c.costs(0)
	k.Products = []Product{p}
	k.FLOPs += p.FLOPs()
	return k
}

// matmulCost: dims in front are batches. Those that one matrix on the right
// serves are rows, as they are multiplied.
func matmulCost(c *Call) Cost {
	as, bs := c.In[0].Shape(), c.In[1].Shape()
	p := Product{Batch: 1, M: 1, N: 1, K: as[len(as)-1]}
	if len(as) > 1 {
		p.M = as[len(as)-2]
	}
	if len(bs) > 1 {
		p.N = bs[len(bs)-1]
	}
	batch := c.Spec[0].Shape[:max(len(as), len(bs), 2)-2].Numel()
	if len(bs) <= 2 {
		p.M *= batch
	} else {
		p.Batch = batch
	}
	return c.productCost(p)
}

// addmmCost: beta and alpha are factors where they are not 1; with beta 0, c is
// not read.
func addmmCost(c *Call) Cost {
	s := c.Spec[0].Shape
	k := c.productCost(Product{1, s[0], s[1], c.In[1].Shape()[1]})
	each := 1 // the addition
	for _, factor := range c.Args[:2] {
		if factor.Float != 1 {
			each++
		}
	}
	if c.Args[0].Float == 0 {
		each -= 2
		k.Read -= bytesOf(c.In[0])
	}
	k.FLOPs += int64(each * s.Numel())
	return k
}

func rowsProductCost(c *Call) Cost {
	s := c.Spec[0].Shape
	as := c.In[0].Shape()
	return c.productCost(Product{1, s[0], s[1], as[:len(as)-1].Numel()})
}

// linearCost: the bias is added to the product.
func linearCost(c *Call) Cost {
	s, xs, ws := c.Spec[0].Shape, c.In[0].Shape(), c.In[1].Shape()
	k := c.productCost(Product{1, xs[:len(xs)-1].Numel(), ws[:len(ws)-1].Numel(), ws[len(ws)-1]})
	if c.In[2] != nil {
		k.FLOPs += int64(s.Numel())
	}
	return k
}

// einsumCost contracts from left to right, as runEinsum does: a dim that nothing
// further names is summed over first where one tensor alone has it.
func einsumCost(c *Call) Cost {
	p, err := parseEinsum(c)
	if err != nil {
		return Cost{}
	}
	k, sofar := c.costs(0), ""
	sum := func(dims, keep string) string {
		kept := common(dims, keep, true)
		if kept != dims {
			k.FLOPs += int64(p.shape(dims).Numel())
		}
		return kept
	}
	for i, term := range p.in {
		later, dims := strings.Join(p.in[i+1:], "")+p.out, distinct(term)
		if i == 0 {
			sofar = sum(dims, later)
			continue
		}
		a, b := sum(sofar, dims+later), sum(dims, sofar+later)
		sofar = p.contractCost(&k, a, b, later)
	}
	return k
}

// contractCost adds the cost of contract to k, and returns the dims of its
// result.
func (p *einsumSpec) contractCost(k *Cost, a, b, later string) string {
	both := common(a, b, true)
	batch, inner := common(both, later, true), common(both, later, false)
	rows, cols := common(a, b, false), common(b, a, false)
	dims := batch + rows + cols
	if inner == "" {
		k.FLOPs += int64(p.shape(dims).Numel())
		return dims
	}
	q := Product{p.shape(batch).Numel(), p.shape(rows).Numel(), p.shape(cols).Numel(), p.shape(inner).Numel()}
	k.FLOPs += q.FLOPs()
	k.Products = append(k.Products, q)
	return dims
}

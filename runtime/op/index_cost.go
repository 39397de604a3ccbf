package op

import "tpsh/runtime/dtype"

// setCost is that of replacing a part of In[0]: by an operator in place the part
// alone is written, and of In[0] nothing read. A mask may select all.
func setCost(region func(c *Call) int) costRule {
	return func(c *Call) Cost {
		if !c.Def.InPlace {
			return moves(c)
		}
		k := c.costs(0, 0)
		k.Written = int64(region(c) * c.In[0].DType().Size())
		return k
	}
}

// itemRegion returns how many elements setitem replaces.
func itemRegion(c *Call) int {
	w, err := item(c)
	if err != nil {
		return 0
	}
	return w.shape.Numel()
}

// putRegion returns how many elements index_put replaces, at most.
func putRegion(c *Call) int {
	s, index := c.In[0].Shape(), c.In[1]
	if index.DType() == dtype.Bool {
		return s.Numel()
	}
	return index.Numel() * s[1:].Numel()
}

// scatterCost adds an element for each of the index.
func scatterCost(c *Call) Cost {
	n := c.In[1].Numel()
	k := c.costs(n, 2)
	k.Read += int64(n * c.In[2].DType().Size())
	return k
}

// spreadCost adds the first input up where the index says.
func spreadCost(c *Call) Cost { return c.costs(c.In[0].Numel(), 2) }

// wholeRow and firstK are how many elements of a row of n a sort keeps.
func wholeRow(c *Call, n int) int { return n }
func firstK(c *Call, n int) int   { return min(c.Args[0].Int+1, n) }

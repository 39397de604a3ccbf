package op

// multinomialCost adds the weights of each row up, draws, and finds each draw by
// bisection.
func multinomialCost(c *Call) Cost {
	s, n := c.In[0].Shape(), c.Spec[0].Shape.Numel()
	return c.costs(c.In[0].Numel() + n*(1+halvings(s[len(s)-1])))
}

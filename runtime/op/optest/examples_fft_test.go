package optest

import (
	"math/bits"

	"tpsh/runtime/op"
)

func init() {
	addExamples("fft_parts",
		call(values(5, 2), op.Int1(0), op.Bool1(false), op.Float1(1)),
		call(values(3, 4, 2), op.Int1(1), op.Bool1(true), op.Float1(0.25)),
		call(values(6, 3, 2), op.Int1(0), op.Bool1(false), op.Float1(0.5)))
	addExamples("fft_real",
		call(values(8), op.Int1(0), op.Float1(1), op.Bool1(false)),
		call(values(3, 6), op.Int1(1), op.Float1(0.5), op.Bool1(true)),
		call(values(4, 3), op.Int1(0), op.Float1(0.5), op.Bool1(false)))
	addLoop(func(k *count, c *op.Call) {
		k.loads(c.In[0])
		s := c.In[0].Shape()
		k.ops(c.In[0].Numel()/2*5*bits.Len(uint(max(s[c.Args[0].Int]-1, 0))), 1)
		k.stores(c)
	}, "fft_parts", "fft_real")
}

package op

import (
	goruntime "runtime"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
)

func init() {
	register(&Def{
		Name:    "places_in",
		Surface: Internal,
		Doc: "places_in(sorted, values, right) returns how many elements of sorted, a row or for each row of values one, are less than each of values, or with right no greater; all, of NaN.\n" +
			"It halves a row until one element is left.",
		Params: []Param{{Name: "sorted", Kind: Tensor, Doc: "a tensor sorted along its last dim"}, {Name: "values", Kind: Tensor, Doc: "a tensor of its dtype"},
			{Name: "right", Kind: Bool, Doc: "whether equal ones lie before"}},
		Infer: func(c *Call) error {
			sorted, values := c.In[0], c.In[1]
			if len(sorted.Shape()) == 0 {
				return c.Bad("sorted", Describe(sorted), "a tensor of at least one dim", "")
			}
			if values.DType() != sorted.DType() {
				return c.Bad("values", Describe(values), "a tensor of the dtype of sorted", "sorted is "+Describe(sorted))
			}
			if lead := len(sorted.Shape()) - 1; lead > 0 && (len(values.Shape()) != lead+1 || !values.Shape()[:lead].Equal(sorted.Shape()[:lead])) {
				return c.Bad("values", Describe(values), "as many rows as sorted has", "sorted is "+Describe(sorted))
			}
			return c.Result(dtype.Int64, values.Shape())
		},
		Run: func(c *Call) error {
			onOrdered(c.In[0].DType(), func() { searchRows[float32](c) }, func() { searchRows[float64](c) },
				func() { searchRows[int32](c) }, func() { searchRows[int64](c) }, func() { searchRows[uint8](c) })
			return nil
		},
		// The dims of values may be cut, and those of rows with them.
		Shard: func(c *Call) []Row {
			var rows []Row
			sorted := c.In[0].Shape()
			for d := range c.Spec[0].Shape {
				row := rowOf(c)
				row.In[1], row.Out[0] = mesh.Shard(d), mesh.Shard(d)
				if d < len(sorted)-1 {
					row.In[0] = mesh.Shard(d)
				}
				rows = append(rows, row)
			}
			return rows
		},
		Cost: func(c *Call) Cost {
			s := c.In[0].Shape()
			return c.costs(c.Spec[0].Shape.Numel() * halvings(s[len(s)-1]+1))
		},
	})
}

// searchRows looks for each row of the second input in its row of the first.
func searchRows[T dtype.Number](c *Call) {
	sorted, values, y := c.In[0], c.In[1], c.Out[0]
	n, right := sorted.Shape()[sorted.Ndim()-1], c.Args[0].Int != 0
	k, all := values.Numel(), values.Numel()
	if sorted.Ndim() > 1 {
		k = values.Shape()[values.Ndim()-1]
	}
	rows, keys, dst := newSource[T](sorted, sorted.Shape()), newSource[T](values, values.Shape()), newSink[int64](y)
	for row, lo := 0, 0; lo < all; row, lo = row+1, lo+k {
		within := rows.block(row*n, (row+1)*n)
		for at := lo; at < lo+k; at += blockSize {
			hi := min(at+blockSize, lo+k)
			kernel.SearchTo(dst.block(at, hi), within, keys.block(at, hi), right)
			dst.store(at, hi)
		}
	}
	goruntime.KeepAlive(c)
}

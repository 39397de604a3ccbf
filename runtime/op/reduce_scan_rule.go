package op

import (
	"tpsh/mesh"
	"tpsh/runtime/tensor"
)

// A scan along a dim that is cut: each rank scans its block, and adds the sums of the
// blocks before it, which all ranks exchange.

func init() {
	register(&Def{
		Name:    "part_sums",
		Surface: Internal,
		OfParts: true,
		Doc:     "part_sums(x, dim, parts) returns a tensor [parts, ...] of the sums of the ranks' blocks of x along dim, which keeps size 1.",
		Params:  []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "dim", Kind: Dim, Doc: "a dim"}, {Name: "parts", Kind: Int, Doc: "how many ranks there are along it"}},
		Infer: func(c *Call) error {
			s := append([]int{c.Args[1].Int}, c.In[0].Shape()...)
			s[c.Args[0].Int+1] = 1
			return c.Result(wideInt(c.In[0].DType()), s)
		},
		Run: func(c *Call) error {
			return c.compose(func(t *Tape) *tensor.Tensor {
				sum := t.Do("sum", one(c.In[0]), IntsN(c.Args[0].Int), Bool1(true))
				return t.subtensorPut(t.column(sum, 0), c.Spec[0].Shape, make([]int, sum.Ndim()+1))
			})
		},
		Shard: func(c *Call) []Row {
			var rows []Row
			for d := range c.In[0].Shape() {
				o := d + 1
				if d == c.Args[0].Int {
					o = 0
				}
				rows = append(rows, cutting(c, d, o))
			}
			return rows
		},
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			return b.Apply(b.Args[0], Int1(b.OutShape(0)[0]))
		},
		Cost: moves,
	})
	register(&Def{
		Name:    "scan_parts",
		Surface: Internal,
		OfParts: true,
		Doc:     "scan_parts(x, before, dim, reverse) returns the sums of x along dim up to each element, or with reverse from it; before is [parts, ...], the sums of what ranks before, or behind, hold.",
		Params: []Param{{Name: "x", Kind: Tensor, Doc: "a tensor"}, {Name: "before", Kind: Tensor, Doc: "sums"}, {Name: "dim", Kind: Dim, Doc: "a dim"},
			{Name: "reverse", Kind: Bool, Doc: "from the end"}},
		Infer: inferCumSum,
		Run:   func(c *Call) error { return runCumSum(c, c.Args[1].Int != 0) },
		Grad: func(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
			return []*tensor.Tensor{t.Do(scanName(c.Args[1].Int == 0), dy, c.Args[0]), nil}
		},
		Shard: func(c *Call) []Row {
			var rows []Row
			for d := range c.In[0].Shape() {
				row := cutting(c, d, d)
				row.In[1] = mesh.Shard(d + 1)
				if d == c.Args[0].Int {
					row.In[1] = mesh.Shard(0)
				}
				rows = append(rows, row)
			}
			return rows
		},
		Local: func(b *Blocks) ([]*tensor.Tensor, error) {
			y := b.T.Do(scanName(b.Args[1].Int != 0), b.X[:1], b.Args[0])
			if b.X[1].Shape()[0] != 1 { // the dim is whole
				return one(y), nil
			}
			return one(b.T.Add(y, b.T.Select(b.X[1], 0, 0))), nil
		},
		Cost: moves,
	})
}

// scanName returns the name of the scan from the first element, or from the last.
func scanName(reverse bool) string {
	if reverse {
		return "cumsum_back"
	}
	return "cumsum"
}

// scanByBlock is the Compose of a scan: nil where dim is not cut, and of summands.
func scanByBlock(reverse bool) func(t *Tape, c *Call) []*tensor.Tensor {
	return func(t *Tape, c *Call) []*tensor.Tensor {
		x := c.In[0]
		d, _ := c.axis(0, x.Shape())
		parts := partsAlong(x, []int{d})
		if parts < 2 || x.Numel() == 0 {
			return nil
		}
		sums := t.gatheredParts(t.Do("part_sums", one(x.Detach()), Int1(d), Int1(parts)))
		scan := t.Do(scanName(reverse), one(sums), Int1(0))
		none := t.Do("zeros_like", one(t.Narrow(sums, 0, 0, 1)), None)
		before := []*tensor.Tensor{none, t.Narrow(scan, 0, 0, parts-1)}
		if reverse {
			before = []*tensor.Tensor{t.Narrow(scan, 0, 1, parts-1), none}
		}
		return one(t.Do("scan_parts", []*tensor.Tensor{x, t.Do("cat", before, Int1(0))}, Int1(d), Bool1(reverse)))
	}
}

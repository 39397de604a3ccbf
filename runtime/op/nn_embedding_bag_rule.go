package op

import (
	"fmt"
	"math"

	"tpsh/mesh"
	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// embeddingBagRows is the rule of embedding_bag: bags that are rows of x may be
// cut, and the weight by its columns. Cut by its rows, each rank gives what its
// rows have of each bag; so does each rank of a bag's numbers, if the sums or
// the means of all of them are known without the others' numbers.
func embeddingBagRows(c *Call) []Row {
	x, mode := c.In[0], c.Args[0].Str
	columns, owned := rowOf(c), rowOf(c)
	columns.In[1], columns.Out[0] = mesh.Shard(1), mesh.Shard(1)
	owned.In[1], owned.Out[0] = mesh.Shard(0), summands
	if mode == "max" {
		owned.Out[0] = mesh.Partial(mesh.Max)
	}
	rows := []Row{columns, owned}
	if x.Ndim() == 2 {
		row := rowOf(c)
		row.In[0], row.In[3], row.Out[0] = mesh.Shard(0), mesh.Shard(0), mesh.Shard(0)
		rows = append(rows, row)
	}
	if mode == "sum" || mode == "mean" && !c.Args[2].Set {
		row := rowOf(c)
		row.In[0], row.In[3], row.Out[0] = mesh.Shard(x.Ndim()-1), mesh.Shard(x.Ndim()-1), summands
		rows = append(rows, row)
	}
	if mode == "max" {
		return append(rows, togetherIn(c, []int{1}, mesh.Max)...)
	}
	return append(rows, separately(c, 1, 3)...)
}

// A bagPart is what one rank's rows of the weight give to bags: the numbers of
// its rows, bag by bag, in the order of the numbers x.
type bagPart struct {
	ids     []int64   // counted from the rank's first row
	places  []int64   // in the rank's block of x
	offsets []int64   // where the bags begin, and the end
	counts  []float64 // the size of each bag of the whole, without padding
	held    []bool    // by bag: whether it has any of the ids
}

// bagBlock returns the bag of each number of the rank's block of x, and the
// size of each bag of the whole. last is as in bagPart.
func (b *Blocks) bagBlock(last bool) (bag []int64, sizes []float64, err error) {
	x, bags := b.X[0], b.OutShape(0)[0]
	sizes = make([]float64, bags)
	if x.Ndim() == 2 {
		bag = make([]int64, x.Numel())
		for i := range bag {
			bag[i] = int64(i / x.Shape()[1])
		}
		for i := range sizes {
			sizes[i] = float64(b.whole(0)[1])
		}
		return bag, sizes, nil
	}
	bag, err = b.bagsAt(b.X[2], last, b.whole(0)[0], bags)
	if err != nil {
		return nil, nil, err
	}
	for _, k := range bag {
		sizes[k]++
	}
	lo, hi := b.Span(0, 0)
	return bag[lo:hi], sizes, nil
}

// bagPart returns the part of the bags that the rank's rows give. last says whether
// the offsets end with the length of x.
func (b *Blocks) bagPart(last bool, padding Arg) (*bagPart, error) {
	n := b.whole(1)[0]
	ids, err := b.rowNumbers(b.X[0], n, "rows of weight "+Describe(b.In[1]))
	if err != nil {
		return nil, err
	}
	bag, sizes, err := b.bagBlock(last)
	if err != nil {
		return nil, err
	}
	pad, _ := b.padding(padding, n)
	p := &bagPart{offsets: make([]int64, len(sizes)+1), counts: sizes, held: make([]bool, len(sizes))}
	lo, hi := b.Span(1, 0)
	for i, id := range ids {
		if pad.Set && int(id) == pad.Int {
			p.counts[bag[i]]--
			continue
		}
		if int(id) >= lo && int(id) < hi {
			p.ids, p.places = append(p.ids, id-int64(lo)), append(p.places, int64(i))
			p.offsets[bag[i]+1]++
			p.held[bag[i]] = true
		}
	}
	for k := range sizes {
		p.offsets[k+1] += p.offsets[k]
	}
	return p, nil
}

func embeddingBagLocal(b *Blocks) ([]*tensor.Tensor, error) {
	inBag := b.whole(0)
	if !b.Cut(1, 0) && !b.Cut(0, len(inBag)-1) {
		return b.Apply(b.Args...)
	}
	p, err := b.bagPart(b.Args[1].Int != 0, b.Args[2])
	if err != nil {
		return nil, err
	}
	mode, samples := b.Args[0].Str, b.X[3]
	if samples != nil {
		samples = b.T.indexSelect(b.T.flat(samples), 0, b.ints(p.places))
	}
	reduce := "sum"
	if mode == "max" {
		reduce = mode
	}
	y := b.T.Do("embedding_bag", []*tensor.Tensor{b.ints(p.ids), b.X[1], b.ints(p.offsets), samples}, Str1(reduce), Bool1(true), None, None, Float1(2), Bool1(false), Bool1(false))
	switch mode {
	case "mean":
		counts := make([]float64, len(p.counts))
		for i, n := range p.counts {
			counts[i] = max(n, 1)
		}
		y = b.T.Div(y, b.bagColumn(y.DType(), counts))
	case "max":
		lacks := make([]float64, len(p.counts))
		for i, n := range p.counts {
			if n > 0 && !p.held[i] {
				lacks[i] = 1
			}
		}
		y = b.T.Where(b.bagColumn(dtype.Bool, lacks), tensor.Number(math.Inf(-1)), y)
	}
	return one(b.T.Cast(y, b.Spec[0].DType)), nil
}

// bagColumn returns a tensor [b, 1] of a number for each bag.
func (b *Blocks) bagColumn(dt dtype.DType, list []float64) *tensor.Tensor {
	x, err := FromFloats(b.Ctx, dt, shape.Shape{len(list), 1}, list)
	if err != nil {
		panic(&TapeError{err})
	}
	return x
}

// bagFirstRows is the rule of bag_first: as that of embedding_bag, but that the
// first of the ranks' elements counts.
func bagFirstRows(c *Call) []Row {
	columns, owned := rowOf(c), rowOf(c)
	columns.In[1], columns.In[3], columns.Out[0] = mesh.Shard(1), mesh.Shard(1), mesh.Shard(1)
	owned.In[1], owned.Out[0] = mesh.Shard(0), mesh.Partial(mesh.Min)
	rows := []Row{columns, owned}
	if c.In[0].Ndim() == 2 {
		row := rowOf(c)
		row.In[0], row.In[3], row.Out[0] = mesh.Shard(0), mesh.Shard(0), mesh.Shard(0)
		rows = append(rows, row)
	}
	return rows
}

func bagFirstLocal(b *Blocks) ([]*tensor.Tensor, error) {
	p, err := b.bagPart(b.Args[0].Int != 0, b.Args[1])
	if err != nil {
		return nil, err
	}
	in := []*tensor.Tensor{b.ints(p.ids), b.X[1], b.ints(p.offsets), b.X[3]}
	first := Int64s(b.T.Do("bag_first", in, Bool1(true), None))
	before, _ := b.Span(0, 0)
	before *= b.whole(0)[1:].Numel()
	for i, k := range first {
		if k < int64(len(p.places)) {
			first[i] = p.places[k] + int64(before)
		} else {
			first[i] = int64(b.In[0].Numel())
		}
	}
	y, err := FromInts(b.Ctx, dtype.Int64, b.OutShape(0), first)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Def.Name, err)
	}
	return one(y), nil
}

package op

import (
	"fmt"
	"math"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	corners := Param{Name: "align_corners", Kind: OptBool, Doc: "whether -1 and 1 are the middles of the first and last elements, and not their outer sides; None for not", Default: Default(None)}
	compositeOf(&Def{
		Name: "grid_sample", Surface: Namespace,
		Doc: "grid_sample(x, grid, mode=\"bilinear\", padding_mode=\"zeros\", align_corners=None) returns what x [n, c, (d,) h, w] has at the places of grid [n, (d',) h', w', 2 or 3].\n" +
			"A place is (x, y) or (x, y, z), from -1 to 1 along the last dim of x, the dim before and so on.\n" +
			"Between elements it is mixed of the nearest 4 or 8 (\"bilinear\"), the nearest one (\"nearest\") or\n" +
			"the nearest 16 or 64 (\"bicubic\"). Outside of x there are zeros, the elements at the \"border\", or x mirrored (\"reflection\").\n" +
			">>> F.grid_sample(tensor([[[[1.0, 3.0]]]]), tensor([[[[0.0, 0.0]]]])).tolist()\n[[[[2.0]]]]",
		Params: []Param{inX, {Name: "grid", Kind: Tensor, Doc: "places, as many dims as x has, the last for coordinates"},
			{Name: "mode", Kind: Choice, Doc: "what lies between elements", Default: Default(Str1("bilinear")), Choices: []string{"bilinear", "nearest", "bicubic"}},
			{Name: "padding_mode", Kind: Choice, Doc: "what lies outside of x", Default: Default(Str1("zeros")), Choices: []string{"zeros", "border", "reflection"}}, corners},
	}, func(m *maker) []*tensor.Tensor { return one(m.sampledGrid()) })
	compositeOf(&Def{
		Name: "affine_grid", Surface: Namespace,
		Doc: "affine_grid(theta, size, align_corners=None) returns the places [n, (d,) h, w, 2 or 3] that matrices theta [n, 2, 3] or [n, 3, 4] map the elements of images of shape size to, for grid_sample.\n" +
			">>> F.affine_grid(tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), [1, 1, 1, 2]).tolist()\n[[[[-0.5, 0.0], [0.5, 0.0]]]]",
		Params: []Param{{Name: "theta", Kind: Tensor, Doc: "affine maps"}, {Name: "size", Kind: IntOrSeq, Doc: "the shape [n, c, (d,) h, w] of images"}, corners},
	}, func(m *maker) []*tensor.Tensor { return one(m.affineGrid()) })
}

// A gridSampler samples images at places.
type gridSampler struct {
	*maker
	flat  *tensor.Tensor // x as [n, c, elements]
	sizes []int          // of the dims of images
	pad   string
	align bool
	shape shape.Shape // of the result
}

// sampledGrid is torch.nn.functional.grid_sample.
func (m *maker) sampledGrid() *tensor.Tensor {
	x, grid := m.floats(m.x(0)), m.x(1)
	n := len(x.Shape()) - 2
	if n != 2 && n != 3 {
		m.refuse("x", Describe(x), "a tensor [n, c, h, w] or [n, c, d, h, w]", "")
	}
	if s := grid.Shape(); len(s) != n+2 || s[0] != x.Shape()[0] || s[n+1] != n || !grid.DType().IsFloat() {
		m.refuse("grid", Describe(grid), fmt.Sprintf("a float tensor of %d dims, %d places first and %d coordinates last", n+2, x.Shape()[0], n), "x is "+Describe(x))
	}
	mode := m.c.Args[0].Str
	xs := x.Shape()
	if xs[2:].Numel() == 0 {
		m.refuse("x", Describe(x), "images of at least one element", "")
	}
	g := &gridSampler{maker: m, sizes: xs[2:], pad: m.c.Args[1].Str, align: m.bool(2)}
	g.flat = m.Reshape(x, shape.Shape{xs[0], xs[1], xs[2:].Numel()})
	g.shape = append(shape.Shape{xs[0], xs[1]}, grid.Shape()[1:n+1]...)
	at := make([]*tensor.Tensor, n) // by dim of x; the grid has the last dim first
	for d := range at {
		at[d] = g.placed(m.do("select", grid, Int1(-1), Int1(n-1-d)), g.sizes[d])
		if mode != "bicubic" {
			at[d] = g.within(at[d], g.sizes[d])
		}
	}
	switch mode {
	case "nearest":
		for d := range at {
			at[d] = m.unary("rounded", at[d])
		}
		return g.elements(at)
	case "bicubic":
		return g.bicubic(at)
	}
	return g.linear(at)
}

// placed returns coordinates from -1 to 1 as indices of a dim of a size.
func (g *gridSampler) placed(v *tensor.Tensor, size int) *tensor.Tensor {
	if g.align {
		return g.Scale(g.AddNumber(v, 1), float64(size-1)/2)
	}
	return g.Scale(g.AddNumber(g.Scale(g.AddNumber(v, 1), float64(size)), -1), 0.5)
}

// within returns the indices at brought into the dim, unless zeros lie outside.
func (g *gridSampler) within(at *tensor.Tensor, size int) *tensor.Tensor {
	if g.pad == "zeros" {
		return at
	}
	if g.pad == "reflection" {
		lo, span := -0.5, float64(size)
		if g.align {
			lo, span = 0, float64(size-1)
		}
		at = g.mirrored(at, lo, span)
	}
	return g.do("clamp", at, Float1(0), Float1(float64(size-1)))
}

// mirrored returns at mirrored at lo and lo + span, as often as it takes.
func (g *gridSampler) mirrored(at *tensor.Tensor, lo, span float64) *tensor.Tensor {
	if span == 0 {
		return g.Scale(at, 0)
	}
	away := g.unary("abs", g.AddNumber(at, -lo))
	turns := g.unary("floor", g.Scale(away.Detach(), 1/span))
	rest := g.Sub(away, g.Scale(turns, span))
	odd := g.same(g.binary("mod", turns, number(2)), number(1))
	return g.Where(odd, g.AddNumber(g.Neg(rest), span+lo), g.AddNumber(rest, lo))
}

// elements returns the elements at whole indices, 0 outside of x.
func (g *gridSampler) elements(at []*tensor.Tensor) *tensor.Tensor {
	var index, inside *tensor.Tensor
	for d, size := range g.sizes {
		i := at[d].Detach()
		ok := g.and(g.binary("ge", i, number(0)), g.binary("le", i, number(float64(size-1))))
		i = g.Cast(g.do("clamp", g.do("nan_to_num", i, Float1(0), None, None), Float1(0), Float1(float64(size-1))), dtype.Int64)
		if inside == nil {
			index, inside = i, ok
			continue
		}
		index, inside = g.Add(g.Mul(index, integer(size)), i), g.and(inside, ok)
	}
	n, places := g.shape[0], g.shape[2:].Numel()
	wide := g.Expand(g.Reshape(index, shape.Shape{n, 1, places}), shape.Shape{n, g.shape[1], places})
	y := g.Reshape(g.Do("gather", []*tensor.Tensor{g.flat, wide}, Int1(2)), g.shape)
	return g.Where(g.do("unsqueeze", inside, Int1(1)), y, number(0))
}

// linear returns what lies between the two neighbours along each dim.
func (g *gridSampler) linear(at []*tensor.Tensor) *tensor.Tensor {
	n := len(at)
	first := make([]*tensor.Tensor, n)
	for d := range at {
		first[d] = g.unary("floor", at[d].Detach())
	}
	var sum *tensor.Tensor
	for corner := range 1 << n {
		place, weight := make([]*tensor.Tensor, n), (*tensor.Tensor)(nil)
		for d := range at {
			part := g.Sub(at[d], first[d])
			place[d] = first[d]
			if corner>>d&1 == 1 {
				place[d] = g.AddNumber(first[d], 1)
			} else {
				part = g.Sub(number(1), part)
			}
			weight = g.times(weight, part)
		}
		sum = g.sum(sum, g.Mul(g.elements(place), g.do("unsqueeze", weight, Int1(1))))
	}
	return sum
}

// times returns x y, of which x may be nil for 1.
func (m *maker) times(x, y *tensor.Tensor) *tensor.Tensor {
	if x == nil {
		return y
	}
	return m.Mul(x, y)
}

// bicubic mixes the 4 neighbours along each dim. Keys, "Cubic convolution interpolation for
// digital image processing", IEEE TASSP 29(6), 1981, with a = -0.75.
func (g *gridSampler) bicubic(at []*tensor.Tensor) *tensor.Tensor {
	first, weights := make([]*tensor.Tensor, len(at)), make([][4]*tensor.Tensor, len(at))
	for d := range at {
		first[d] = g.unary("floor", at[d].Detach())
		weights[d] = g.cubicWeights(g.Sub(at[d], first[d]))
	}
	var sum *tensor.Tensor
	for neighbour := range 1 << (2 * len(at)) {
		place, weight := make([]*tensor.Tensor, len(at)), (*tensor.Tensor)(nil)
		for d := range at {
			i := neighbour >> (2 * (len(at) - 1 - d)) & 3
			place[d] = g.within(g.AddNumber(first[d], float64(i-1)), g.sizes[d])
			weight = g.times(weight, weights[d][i])
		}
		sum = g.sum(sum, g.Mul(g.elements(place), g.do("unsqueeze", weight, Int1(1))))
	}
	return sum
}

// cubicWeights returns the weights of the neighbours at -1, 0, 1 and 2 for t between 0
// and 1.
func (g *gridSampler) cubicWeights(t *tensor.Tensor) (w [4]*tensor.Tensor) {
	const a = -0.75
	near := func(x *tensor.Tensor) *tensor.Tensor { // ((a+2)x - (a+3))x² + 1
		return g.AddNumber(g.Mul(g.AddNumber(g.Scale(x, a+2), -(a+3)), g.Mul(x, x)), 1)
	}
	far := func(x *tensor.Tensor) *tensor.Tensor { // ((ax - 5a)x + 8a)x - 4a
		return g.AddNumber(g.Mul(g.AddNumber(g.Mul(g.AddNumber(g.Scale(x, a), -5*a), x), 8*a), x), -4*a)
	}
	u := g.Sub(number(1), t)
	return [4]*tensor.Tensor{far(g.AddNumber(t, 1)), near(t), near(u), far(g.AddNumber(u, 1))}
}

// affineGrid is torch.nn.functional.affine_grid.
func (m *maker) affineGrid() *tensor.Tensor {
	theta, size := m.floats(m.x(0)), m.c.Args[0].Ints
	n := len(size) - 2
	if n != 2 && n != 3 {
		m.refuse("size", listText(size), "[n, c, h, w] or [n, c, d, h, w]", "")
	}
	for _, k := range size {
		if k < 1 || k > math.MaxInt32 {
			m.refuse("size", listText(size), "sizes from 1 on", "")
		}
	}
	if want := (shape.Shape{size[0], n, n + 1}); !theta.Shape().Equal(want) {
		m.refuse("theta", Describe(theta), "shape "+want.String(), fmt.Sprintf("size is %s", listText(size)))
	}
	places, dt := shape.Shape(size[2:]), Int1(int(theta.DType()))
	var columns []*tensor.Tensor
	for d := n - 1; d >= 0; d-- {
		k := places[d]
		v := m.Do("zeros", nil, IntsN(1), dt)
		if k > 1 {
			step := 2.0 / float64(k-1)
			if !m.bool(1) {
				step = 2.0 / float64(k)
			}
			v = m.AddNumber(m.Scale(m.Cast(m.upTo(k), theta.DType()), step), -step*float64(k-1)/2)
		}
		v = m.Reshape(v, replaced(make1s(n), d, k))
		columns = append(columns, m.Reshape(m.Expand(v, places), shape.Shape{places.Numel()}))
	}
	columns = append(columns, m.Do("ones", nil, IntsN(places.Numel()), dt))
	grid := m.MatMul(m.Do("stack", columns, Int1(-1)), m.Transpose(theta, 1, 2))
	return m.Reshape(grid, append(append(shape.Shape{size[0]}, places...), n))
}

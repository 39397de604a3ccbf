package op

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tpsh/runtime/dtype"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

func init() {
	register(&Def{
		Name:    "einsum",
		Surface: Method | Function,
		Doc: "einsum(spec, *tensors) returns the sum of products that spec, in Einstein's notation, describes.\n" +
			"spec names the dims of each tensor by letters, and after -> those of the result:\n" +
			"\"ij,jk->ik\" is matmul. What the result does not name is summed over. A letter\n" +
			"twice in one tensor is its diagonal, ... stands for dims that broadcast. Without\n" +
			"-> the result has the dims of ... and the letters that occur once, in order. As a\n" +
			"method, x.einsum(spec, *others), x is the first tensor.\n" +
			">>> einsum(\"ij,j->i\", tensor([[1, 2], [3, 4]]), tensor([1, 10])).tolist()\n" +
			"[21, 43]",
		Params: []Param{
			{Name: "spec", Also: []string{"equation"}, Kind: String, Doc: "the dims of the tensors and of the result"},
			{Name: "tensors", Kind: Tensors, Doc: "tensors of numbers"},
		},
		Infer: inferEinsum,
		Run:   runEinsum,
		Reads: ReadsFactors,
		Grad:  einsumGrad,
		Apart: true,

		Shard:   einsumRows,
		Spoils:  spoilsProduct,
		Compose: summedDiagonals,
		Cost:    einsumCost,
	})
}

// An einsumSpec says which dims the tensors and the result of an einsum have.
// A dim is named by a letter, those of an ellipsis by letters that the text
// does not use.
type einsumSpec struct {
	in   []string
	out  string
	size map[byte]int // of the dims; a size of 1 gives way to others
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// parseEinsum returns the spec Args[0] for the tensors c.In.
func parseEinsum(c *Call) (*einsumSpec, error) {
	left, right, explicit := strings.Cut(strings.ReplaceAll(c.Args[0].Str, " ", ""), "->")
	p := &einsumSpec{in: strings.Split(left, ","), out: right, size: map[byte]int{}}
	if !explicit {
		p.out = "..."
	}
	if len(p.in) != len(c.In) {
		return nil, badSpec(c, fmt.Sprintf("terms for %d tensors", len(c.In)))
	}
	if err := p.nameEllipses(c); err != nil {
		return nil, err
	}
	for i, term := range p.in {
		if err := p.measure(c, i, term); err != nil {
			return nil, err
		}
	}
	if !explicit {
		p.out += p.once()
	}
	for i := range len(p.out) {
		if _, known := p.size[p.out[i]]; !known || strings.IndexByte(p.out[:i], p.out[i]) >= 0 {
			return nil, badSpec(c, fmt.Sprintf("%q once in the result, and in a tensor", p.out[i:i+1]))
		}
	}
	return p, nil
}

// badSpec returns an error about the spec.
func badSpec(c *Call, want string) error {
	return c.Bad("spec", strconv.Quote(c.Args[0].Str), want, "")
}

// nameEllipses checks the characters of the terms and puts letters in place of
// ellipses. Letters name the dims of an ellipsis from the last on, so that
// dims that broadcast have the same.
func (p *einsumSpec) nameEllipses(c *Call) error {
	used, free, most := strings.Join(p.in, "")+p.out, "", 0
	for _, l := range letters {
		if !strings.ContainsRune(used, l) {
			free += string(l)
		}
	}
	for i, term := range p.in {
		before, after, found := strings.Cut(term, "...")
		n := 0
		if found {
			n = c.In[i].Ndim() - len(before) - len(after)
		}
		if strings.Trim(before+after, letters) != "" || n > len(free) {
			return badSpec(c, `at most 52 letters, ",", "->", and "..." once in a term`)
		}
		p.in[i] = before + free[len(free)-max(n, 0):] + after
		most = max(most, n)
	}
	before, after, found := strings.Cut(p.out, "...")
	if strings.Trim(before+after, letters) != "" {
		return badSpec(c, `letters, and "..." once, in the result`)
	}
	if found {
		p.out = before + free[len(free)-most:] + after
	}
	return nil
}

// measure notes the sizes of the dims of tensor i.
func (p *einsumSpec) measure(c *Call, i int, term string) error {
	s := c.In[i].Shape()
	if len(term) != len(s) {
		return c.Bad("tensors", fmt.Sprintf("%s at index %d", Describe(c.In[i]), i), fmt.Sprintf("%d dims", len(term)), fmt.Sprintf("spec %q", c.Args[0].Str))
	}
	for d, size := range s {
		l := term[d]
		known, ok := p.size[l]
		first := strings.IndexByte(term, l)
		if first < d && s[first] != size || ok && known != size && known != 1 && size != 1 {
			return c.Bad("tensors", fmt.Sprintf("%s at index %d", Describe(c.In[i]), i), fmt.Sprintf("a size of %d in dim %d", known, d), fmt.Sprintf("spec %q", c.Args[0].Str))
		}
		if !ok || known == 1 {
			p.size[l] = size
		}
	}
	return nil
}

// once returns, in order, the letters that occur once in the terms and not in
// the result.
func (p *einsumSpec) once() string {
	all, list := strings.Join(p.in, ""), ""
	for _, l := range letters {
		if strings.Count(all, string(l)) == 1 && !strings.ContainsRune(p.out, l) {
			list += string(l)
		}
	}
	return list
}

// shape returns the sizes of the dims called term.
func (p *einsumSpec) shape(term string) shape.Shape {
	s := make(shape.Shape, len(term))
	for i := range s {
		s[i] = p.size[term[i]]
	}
	return s
}

func inferEinsum(c *Call) error {
	if len(c.In) == 0 {
		return c.Bad("tensors", "no tensor", "at least one tensor", "")
	}
	dt := c.In[0].DType()
	for i, x := range c.In {
		if x.DType() == dtype.Bool {
			return c.Bad("tensors", fmt.Sprintf("%s at index %d", Describe(x), i), "a tensor of numbers", "no arithmetic on bools")
		}
		dt = dtype.Promote(dt, x.DType())
	}
	p, err := parseEinsum(c)
	if err != nil {
		return err
	}
	return c.Result(dt, p.shape(p.out))
}

// runEinsum contracts the tensors from left to right: the product so far with
// the next one, each time summing over what nothing further names.
func runEinsum(c *Call) error {
	p, err := parseEinsum(c)
	if err != nil {
		return err
	}
	return c.compose(func(t *Tape) *tensor.Tensor {
		var sofar named
		for i, x := range c.In {
			next := p.operand(t, t.Cast(x, c.Spec[0].DType.Compute()), p.in[i])
			later := strings.Join(p.in[i+1:], "") + p.out
			if i == 0 {
				sofar = next.sumBut(t, later)
			} else {
				sofar = contract(t, p, sofar, next, later)
			}
		}
		return sofar.order(t, p.out).x
	})
}

// A named tensor has a letter for each dim, all different.
type named struct {
	x    *tensor.Tensor
	dims string
}

// distinct returns the letters of term, each once.
func distinct(term string) string {
	return filter(term, func(i int) bool { return strings.IndexByte(term, term[i]) == i })
}

// filter returns the letters of term at the indices that keep accepts.
func filter(term string, keep func(i int) bool) string {
	var b strings.Builder
	for i := range len(term) {
		if keep(i) {
			b.WriteByte(term[i])
		}
	}
	return b.String()
}

// common returns the letters of a that are in b, or with in false those that
// are not.
func common(a, b string, in bool) string {
	return filter(a, func(i int) bool { return (strings.IndexByte(b, a[i]) >= 0) == in })
}

// diagonal returns the place that shows the diagonals of elements at strides,
// where dims of the same letter are walked together.
func diagonal(strides []int, term string) []int {
	dims := distinct(term)
	sums := make([]int, len(dims))
	for d := range term {
		sums[strings.IndexByte(dims, term[d])] += strides[d]
	}
	return sums
}

// operand returns x with the diagonals that term asks for, and with dims of
// size 1 broadcast.
func (p *einsumSpec) operand(t *Tape, x *tensor.Tensor, term string) named {
	dims := distinct(term)
	if len(dims) < len(term) {
		x = x.View(sizesOf(x, term), diagonal(x.Strides(), term), x.Offset())
	}
	return named{t.Expand(x, p.shape(dims)), dims}
}

// sizesOf returns the sizes of x's dims, which term names, each letter once.
func sizesOf(x *tensor.Tensor, term string) shape.Shape {
	dims := distinct(term)
	s := make(shape.Shape, len(dims))
	for i := range s {
		s[i] = x.Shape()[strings.IndexByte(term, dims[i])]
	}
	return s
}

// order returns a with its dims in the order of the letters of dims.
func (a named) order(t *Tape, dims string) named {
	if dims == a.dims {
		return a
	}
	order := make([]int, len(dims))
	for i := range order {
		order[i] = strings.IndexByte(a.dims, dims[i])
	}
	return named{t.Permute(a.x, order), dims}
}

// sumBut returns a summed over the dims that keep does not name.
func (a named) sumBut(t *Tape, keep string) named {
	var sum []int
	for d := range a.dims {
		if strings.IndexByte(keep, a.dims[d]) < 0 {
			sum = append(sum, d)
		}
	}
	if sum == nil {
		return a
	}
	return named{t.Sum(a.x, sum, false), common(a.dims, keep, true)}
}

// contract returns the product of a and b, summed over the dims that later
// does not name: as a batch of matrix products.
func contract(t *Tape, p *einsumSpec, a, b named, later string) named {
	a, b = a.sumBut(t, b.dims+later), b.sumBut(t, a.dims+later)
	both := common(a.dims, b.dims, true)
	batch, inner := common(both, later, true), common(both, later, false)
	rows, cols := common(a.dims, b.dims, false), common(b.dims, a.dims, false)
	x, y := a.order(t, batch+rows+inner).x, b.order(t, batch+inner+cols).x
	bs, m, n, k := p.shape(batch), p.shape(rows).Numel(), p.shape(cols).Numel(), p.shape(inner).Numel()
	x = t.Reshape(x, append(slices.Clone(bs), m, k))
	y = t.Reshape(y, append(slices.Clone(bs), k, n))
	dims := batch + rows + cols
	if inner == "" {
		return named{t.Reshape(t.Mul(x, y), p.shape(dims)), dims}
	}
	return named{t.Reshape(t.MatMul(x, y), p.shape(dims)), dims}
}

// The gradient of one tensor is the einsum of dy and the other tensors whose
// result has its dims. A dim that only this tensor has was summed over, so its
// gradient is repeated along it; a diagonal's gradient lies on the diagonal.
func einsumGrad(t *Tape, c *Call, dy []*tensor.Tensor) []*tensor.Tensor {
	p, err := parseEinsum(c)
	if err != nil {
		panic(&TapeError{err})
	}
	grads := make([]*tensor.Tensor, len(c.In))
	for i, x := range c.In {
		if x.RequiresGrad() {
			grads[i] = p.grad(t, c, i, dy[0])
		}
	}
	return grads
}

// grad returns the gradient of tensor i.
func (p *einsumSpec) grad(t *Tape, c *Call, i int, dy *tensor.Tensor) *tensor.Tensor {
	x, term := c.In[i], p.in[i]
	dims := distinct(term)
	terms := append(slices.Delete(slices.Clone(p.in), i, i+1), p.out)
	tensors := append(slices.Delete(slices.Clone(c.In), i, i+1), dy)
	seen := common(dims, strings.Join(terms, ""), true)
	g := t.Do("einsum", tensors, Str1(strings.Join(terms, ",")+"->"+seen))
	s := p.shape(dims)
	for d := range s {
		if strings.IndexByte(seen, dims[d]) < 0 {
			s[d] = 1
		}
	}
	g = t.SumTo(t.Expand(t.Reshape(g, s), p.shape(dims)), sizesOf(x, term))
	return t.onDiagonal(g, term)
}

// onDiagonal returns g, which has a dim for each letter of term in the order of
// their first occurrence, as a tensor that has it on the diagonals of the dims
// of the same letter, and zeros beside them.
func (t *Tape) onDiagonal(g *tensor.Tensor, term string) *tensor.Tensor {
	s := make(shape.Shape, len(term))
	dims := distinct(term)
	for d := range term {
		s[d] = 1
		if strings.IndexByte(term, term[d]) == d {
			s[d] = g.Shape()[strings.IndexByte(dims, term[d])]
		}
	}
	g = t.Reshape(g, s)
	for d := range term {
		if first := strings.IndexByte(term, term[d]); first < d {
			g = t.Where(t.diagonalMask(s, first, d), g, tensor.Number(0.0))
		}
	}
	return g
}

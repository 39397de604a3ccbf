package optest

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"

	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// A ringTrial is a call on the whole, and what it gives. Ranks read it at the
// same time.
type ringTrial struct {
	*trial
	want    []*tensor.Tensor
	err     error            // with which the call is refused
	draws   int              // of random numbers
	after   []*tensor.Tensor // the inputs after the call
	grads   []*tensor.Tensor // by input, nil for none; nil if gradients are not tested
	second  []*tensor.Tensor // the same of second gradients
	inexact float64          // how far a sum of results may be off, relative to them
}

func newRingTrial(d *op.Def, ex example, dt dtype.DType) *ringTrial {
	tr := newTrial(d, ex, dt)
	pt := &ringTrial{trial: newTrial(d, ex, dt)}
	c, draws, err := drawing(tr)
	if err != nil {
		pt.err = err
		return pt
	}
	pt.want, pt.draws, pt.after = c.Out, draws, tr.in
	pt.inexact = 64 * roundoffOf(tr, c)
	pt.addGradients(dt)
	return pt
}

// roundoffOf returns the largest rounding of a dtype of the call.
func roundoffOf(tr *trial, c *op.Call) float64 {
	r := 0.0
	for _, x := range slices.Concat(tr.in, c.Out) {
		if x != nil && x.DType().IsFloat() && !x.Weak() {
			r = max(r, roundoff(x.DType()))
		}
	}
	if r == 0 {
		r = roundoff(dtype.Float32) // floats that are made of integers
	}
	return r
}

// A ringCase is one call on tensors that the ranks of a mesh hold together.
type ringCase struct {
	tr     *ringTrial
	sizes  []int              // of the mesh
	place  [][]mesh.Placement // by input; nil for a plain one
	seed   uint64             // of how gradients of the results are placed
	record bool               // with gradients
	second bool               // and second ones
	traced bool               // say what is sent

	// act, if set, is done instead of the call; what it refuses it may refuse.
	act func(p *performance) error
}

func (c *ringCase) String() string {
	var p []string
	for i, x := range c.tr.in {
		switch {
		case x == nil || x.Weak():
			p = append(p, "-")
		case c.place[i] == nil:
			p = append(p, "plain")
		default:
			p = append(p, mesh.List(c.place[i]))
		}
	}
	s := fmt.Sprintf("%v, placed as %s on %s", c.tr, strings.Join(p, " "), newMesh(c.sizes...).Short())
	if c.record {
		s += ", recorded"
	}
	return s
}

// count returns what the case adds to a tally.
func (c *ringCase) count(all []verdict) tally {
	n := tally{cases: 1}
	switch {
	case len(all) == 0 || all[0].err != nil:
		n.refused = 1
	case c.second:
		n.seconds = 1
		fallthrough
	case c.record:
		n.gradients = 1
	}
	return n
}

// mayRefuse returns "" if every rank may refuse the call with err, or why not:
// only what would give the target of a call in place, or another tensor that it
// changes, other placements.
func (c *ringCase) mayRefuse(err error) string {
	var bad *op.ArgError
	errors.As(err, &bad)
	switch {
	case c.act != nil:
		return ""
	case c.tr.d.InPlace && bad.Func == c.tr.d.Name && (c.place[0] == nil || isPartial(c.place[0])):
		return ""
	}
	for i := range c.tr.ex.writes {
		if isPartial(c.place[i]) || c.tr.d.InPlace && !slices.Equal(c.place[i], c.place[0]) {
			return ""
		}
	}
	return "refused: " + err.Error()
}

func isPartial(list []mesh.Placement) bool {
	return slices.ContainsFunc(list, func(p mesh.Placement) bool { _, ok := p.Partial(); return ok })
}

// trusting lists the operators of gradients that need not look at indices, which
// the operator itself has looked at.
var trusting = set2("embedding_scale")

// sampleCases returns at most n cases of the trial on g: all combinations of
// placements if there are no more, or else some that the seed chooses.
func sampleCases(pt *ringTrial, g ring, seed uint64, n int) []*ringCase {
	if len(pt.in) == 0 {
		return nil
	}
	if pt.err != nil {
		n = min(n, 6)
		if trusting[pt.d.Name] {
			return nil
		}
	}
	choices := make([][][]mesh.Placement, len(pt.in))
	total := 1.0
	for i, x := range pt.in {
		choices[i] = placementsOf(x, g.sizes)
		total *= float64(len(choices[i]))
	}
	rng := rand.New(rand.NewPCG(seed, nameSeed(pt.d.Name, g.sizes)))
	var list []*ringCase
	add := func(pick func(i, n int) int) {
		c := &ringCase{tr: pt, sizes: g.sizes, seed: rng.Uint64()}
		some := false
		for i := range choices {
			c.place = append(c.place, choices[i][pick(i, len(choices[i]))])
			some = some || c.place[i] != nil
		}
		c.record = pt.grads != nil && (!pt.d.InPlace || rng.IntN(2) == 0)
		c.second = c.record && pt.second != nil && rng.IntN(4) == 0
		if some {
			list = append(list, c)
		}
	}
	if total <= float64(n) {
		at := make([]int, len(choices))
		for more := true; more; more = advance(at, choices) {
			add(func(i, _ int) int { return at[i] })
		}
		return list
	}
	for range n {
		add(func(_, n int) int { return rng.IntN(n) })
	}
	return list
}

// advance counts at on, the last digit fastest; false when it is at its largest.
func advance(at []int, choices [][][]mesh.Placement) bool {
	for i := len(at) - 1; i >= 0; i-- {
		if at[i]++; at[i] < len(choices[i]) {
			return true
		}
		at[i] = 0
	}
	return false
}

func nameSeed(name string, sizes []int) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, name, sizes)
	return h.Sum64()
}

// placementsOf returns all ways to place x on a mesh of the given sizes, whose dims cut in
// their order or the reverse, into equal blocks or by units; nil, which is the first, stands for
// a plain tensor.
func placementsOf(x *tensor.Tensor, sizes []int) [][]mesh.Placement {
	all := [][]mesh.Placement{nil}
	if x == nil || x.Weak() {
		return all
	}
	one := []mesh.Placement{mesh.Replicate()}
	for d := range x.Shape() {
		one = append(one, mesh.Shard(d))
	}
	for _, by := range []mesh.ReduceOp{mesh.Sum, mesh.Mean, mesh.Prod, mesh.Max, mesh.Min} {
		if p := mesh.Partial(by); canBe(p, x.DType()) {
			one = append(one, p)
		}
	}
	lists := [][]mesh.Placement{{}}
	m, reverse := newMesh(sizes...), []int{}
	for d := range sizes {
		reverse = append([]int{d}, reverse...)
		var longer [][]mesh.Placement
		for _, l := range lists {
			for _, p := range one {
				longer = append(longer, append(slices.Clone(l), p))
			}
		}
		lists = longer
	}
	for _, l := range lists {
		all = append(all, l)
		if r := mesh.InOrder(m, l, reverse); !slices.Equal(r, l) {
			all = append(all, r)
		}
		if r := ragged(l, x.Shape(), sizes); !slices.Equal(r, l) {
			all = append(all, r)
		}
	}
	return all
}

// ragged returns placements with RaggedShards in place of Shards: along the first dim of the
// mesh of units 1, 2, 1 and so on, if a tensor of the shape has them, else all on the last rank.
func ragged(placements []mesh.Placement, shape, sizes []int) []mesh.Placement {
	out := slices.Clone(placements)
	for k, p := range placements {
		d, cut := p.Shard()
		if !cut || sizes[k] == 1 {
			continue
		}
		units, sum := make([]int, sizes[k]), 0
		for i := range units {
			units[i] = 1 + i%2
			sum += units[i]
		}
		if k > 0 || shape[d]%sum != 0 {
			clear(units)
			units[len(units)-1] = 1
		}
		out[k], _ = mesh.RaggedShard([]int{d}, units)
	}
	return out
}

// onRank runs the case on one rank.
func (c *ringCase) onRank(r *runtime.Rank) (v verdict) {
	v.rank = r.ID()
	defer func() {
		if p := recover(); p != nil {
			v.err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	p := &performance{c: c, r: r, m: r.Layouts().Mesh(newMesh(c.sizes...))}
	r.SetRNG(7, 1)
	if c.act != nil {
		v.err = c.act(p)
	} else {
		v.err = p.run()
	}
	v.lies, v.wrong, v.traffic = strings.Join(p.lies, ", "), p.wrong, p.traffic
	return v
}

// A performance is what one rank does in a case.
type performance struct {
	c     *ringCase
	r     *runtime.Rank
	m     *mesh.Mesh
	lies  []string
	wrong string
	traffic
}

// read notes what the call has sent, and where its results lie.
func (p *performance) read(trace *runtime.Trace, in, out []*tensor.Tensor) {
	least := math.MaxInt // of the blocks of inputs that are cut
	for _, x := range in {
		if x != nil && x.Placed() && isCut(x.Layout()) {
			least = min(least, x.Local().Numel())
		}
	}
	for _, rec := range trace.Records {
		p.sent += rec.Wire
		p.gathers = p.gathers || rec.Op == "all_gather" && shape.Shape(rec.Shape).Numel() >= least
	}
	for _, y := range out {
		p.to = append(p.to, y.Layout())
	}
}

// isCut reports whether l cuts a dim.
func isCut(l *mesh.Placed) bool {
	return slices.ContainsFunc(l.Placements(), func(p mesh.Placement) bool { _, ok := p.Shard(); return ok })
}

// fail notes that something is wrong, if nothing was before.
func (p *performance) fail(format string, args ...any) {
	if p.wrong == "" {
		p.wrong = fmt.Sprintf(format, args...)
	}
}

func (p *performance) member() bool {
	_, ok := p.m.Position(p.r.ID())
	return ok
}

// run makes the call and compares what it gives.
func (p *performance) run() error {
	leaves, in, err := p.inputs()
	if err != nil {
		return err
	}
	target := in[0]
	trace := p.r.StartTrace()
	out, err := p.r.Tape.Apply(p.c.tr.d, in, p.c.tr.args)
	p.r.StopTrace(trace)
	if err != nil {
		return err
	}
	if p.c.traced {
		p.read(trace, in, out)
		return nil
	}
	if p.c.tr.d.InPlace && (len(out) != 1 || out[0] != target) {
		p.fail("the result is not the target")
	}
	if p.c.tr.err != nil { // the call was to be refused
		return nil
	}
	_, draws := p.r.RNG()
	if want := uint64(p.c.tr.draws + 1); draws != want && p.member() {
		p.fail("%d random draws, want %d", draws-1, want-1)
	}
	if err := p.checkResults(out); err != nil {
		return err
	}
	if err := p.checkWritten(in); err != nil {
		return err
	}
	if p.c.record {
		if err := p.checkGradients(leaves, out); err != nil {
			return err
		}
	}
	if p.c.second {
		return p.checkSecond()
	}
	return nil
}

// inputs returns the tensors of the case, and what the call takes: copies of
// targets that require grad.
func (p *performance) inputs() (leaves, in []*tensor.Tensor, err error) {
	for i, x := range p.c.tr.in {
		y, err := p.input(i, x)
		if err != nil {
			return nil, nil, err
		}
		leaves = append(leaves, y)
	}
	in = slices.Clone(leaves)
	if p.c.record && p.c.tr.d.InPlace {
		in[0], err = p.r.Do("clone", leaves[:1])
	}
	return leaves, in, err
}

// input returns input i, whose whole is x, as the case places it.
func (p *performance) input(i int, x *tensor.Tensor) (*tensor.Tensor, error) {
	if x == nil || x.Weak() {
		return x, nil
	}
	var y *tensor.Tensor
	if p.c.place[i] == nil {
		y = packed(x)
	} else {
		var err error
		if y, err = p.placed(x, p.c.place[i], i); err != nil {
			return nil, err
		}
	}
	if p.c.record && p.c.tr.varies(i) {
		y.Auto = &tensor.Auto{Requires: true}
	}
	return y, nil
}

// placed returns the tensor whose whole is x, placed so.
func (p *performance) placed(x *tensor.Tensor, placements []mesh.Placement, salt int) (*tensor.Tensor, error) {
	l, err := p.r.Layouts().Place(p.m, x.Shape(), placements)
	if err != nil {
		return nil, err
	}
	if p.member() {
		return tensor.NewPlaced(l, blockOf(x, l, p.r.ID(), salt)), nil
	}
	empty, err := tensor.New(testAlloc, x.DType(), make(shape.Shape, max(1, x.Ndim())))
	if err != nil {
		return nil, err
	}
	return tensor.NewPlaced(l, empty), nil
}

// whole returns the whole of y, plain; nil on a rank outside the mesh.
func (p *performance) whole(y *tensor.Tensor) (*tensor.Tensor, error) {
	defer p.r.Tape.SetEnabled(false)()
	if !y.Placed() {
		return y, nil
	}
	if got, want := y.Local().Shape(), shape.Shape(y.Layout().LocalShape(p.r.ID())); p.member() && !got.Equal(want) {
		p.fail("a block of shape %v, want %v of %v", got, want, y.Layout())
	}
	z, err := p.r.Shard.Move(y, p.r.Shard.Replicated(p.m, y.Shape()))
	if err != nil || !p.member() {
		return nil, err
	}
	return z.Local(), nil
}

// checkResults compares the results with those of the whole.
func (p *performance) checkResults(out []*tensor.Tensor) error {
	want := p.c.tr.want
	if len(out) != len(want) {
		p.fail("%d results, want %d", len(out), len(want))
		return nil
	}
	for i, y := range out {
		if y.DType() != want[i].DType() || !y.Shape().Equal(want[i].Shape()) {
			p.fail("result %d is %v, want %v", i, op.Describe(y), op.Describe(want[i]))
			return nil
		}
		if !y.Placed() {
			p.fail("result %d is plain", i)
			return nil
		}
		p.lies = append(p.lies, y.Layout().String())
		if p.c.tr.d.InPlace && !slices.Equal(y.Layout().Placements(), p.c.place[0]) {
			p.fail("the target lies as %v", y.Layout())
		}
		if err := p.compare(fmt.Sprintf("result %d, as %s,", i, mesh.List(y.Layout().Placements())), y, want[i], p.tolerance(y, want[i])); err != nil {
			return err
		}
	}
	return nil
}

// compare compares the whole of y with want.
func (p *performance) compare(what string, y, want *tensor.Tensor, tol float64) error {
	z, err := p.whole(y)
	if err != nil || z == nil {
		return err
	}
	got, w := list(z), list(want)
	for i := range w {
		if i >= len(got) || class(got[i]) != class(w[i]) || class(w[i]) == "finite" && math.Abs(got[i]-w[i]) > tol {
			p.fail("%s is %v, want %v within %.3g", what, got, w, tol)
			return nil
		}
	}
	return nil
}

// tolerance returns how far a result may be from want: not at all where nothing
// is added, and where elements are only moved.
func (p *performance) tolerance(y, want *tensor.Tensor) float64 {
	tr := p.c.tr
	if !want.DType().IsFloat() {
		return 0
	}
	added := tr.d.Compose != nil || y.Layout().IsPartial()
	for _, l := range p.c.place {
		added = added || isPartial(l)
	}
	if !added || want.DType() == dtype.Float64 && (tr.d.View || movers[tr.d.Name]) {
		return 0
	}
	return tr.near(want)
}

// near returns how far sums in another order may be from those in want.
func (pt *ringTrial) near(want *tensor.Tensor) float64 {
	size := pt.magnitude()
	for _, v := range list(want) {
		if class(v) == "finite" {
			size = max(size, math.Abs(v))
		}
	}
	return pt.inexact*size + 8*tiny(want.DType())
}

// movers lists the operators whose results consist of elements of their inputs.
var movers = set2("cat", "clone", "contiguous", "copy", "copy_", "embedding", "flip", "gather", "index", "index_copy", "index_put",
	"index_put_", "index_select", "masked_fill", "masked_select", "pad", "repeat", "roll", "scatter_put", "setitem", "setitem_", "sort", "split",
	"stack", "topk", "tril", "triu", "where", "window_get", "window_put")

// checkWritten compares the inputs that the call changes without being one in
// place.
func (p *performance) checkWritten(in []*tensor.Tensor) error {
	for i := range in {
		if !p.c.tr.ex.writes[i] {
			continue
		}
		want := p.c.tr.after[i]
		if err := p.compare(fmt.Sprintf("input %d, which the call changes,", i), in[i], want, p.c.tr.near(want)); err != nil {
			return err
		}
	}
	return nil
}

package shard

import (
	"fmt"
	"slices"

	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// Ranks that exchange the elements that they lack: for an operator that says so (op.Exchange),
// and for a move between meshes.

// An exchange is how the rank takes part in one for an operator.
type exchange struct {
	out      *mesh.Placed // how the result lies
	src, dst mesh.Layout  // of the elements exchanged, in the input and in the result
	plan     *stepPlan    // nil on a rank outside the mesh
}

// exchanges reports whether dec is for an operator whose result the ranks make by
// an exchange of the elements that they lack of it.
func (dec *decision) exchanges() bool {
	x := dec.call.Def.Exchange
	return dec.moves && x != nil && x.To(dec.call, dec.from[0]) != nil
}

// exchange carries out dec, which exchanges, on x. A sum is reduced before.
func (e *Engine) exchange(dec *decision, x *tensor.Tensor, args []op.Arg) (*op.Call, error) {
	if err := e.mayExchange(dec); err != nil {
		return nil, err
	}
	if x.Layout().IsPartial() {
		y, err := e.move(x, e.GradLayout(x.Layout()))
		if err != nil {
			return nil, err
		}
		x = y
	}
	if dec.exchange == nil {
		ex, err := e.newExchange(dec, x.Layout())
		if err != nil {
			return nil, err
		}
		dec.exchange = ex
	}
	block, err := e.exchangeBlock(dec.exchange, x)
	if err != nil {
		return nil, err
	}
	d := dec.call.Def
	y := tensor.NewPlaced(dec.exchange.out, block)
	y.Copied = d.View
	return &op.Call{Def: d, Ctx: e.host.Ops(), In: []*tensor.Tensor{x}, Args: args, Spec: dec.call.Spec, Out: []*tensor.Tensor{y}}, nil
}

// newExchange returns how the rank takes part in the exchange for dec of a tensor
// placed as l.
func (e *Engine) newExchange(dec *decision, l *mesh.Placed) (*exchange, error) {
	how := dec.call.Def.Exchange
	out, err := e.place(l.Mesh(), dec.call.Spec[0].Shape, how.To(dec.call, l))
	if err != nil {
		return nil, err
	}
	ex := &exchange{out: out}
	if !e.member(l.Mesh()) {
		return ex, nil
	}
	ranks := l.Mesh().Line(e.host.Self(), cutDims(l)...)
	if ex.src, ex.dst, err = how.Parts(dec.call, l, out, ranks); err != nil {
		return nil, err
	}
	if e.host.Alike() {
		e.partExchange(dec, l, out)
	}
	group, err := e.host.LineGroup(l.Mesh(), cutDims(l)...)
	if err != nil {
		return nil, err
	}
	if ex.plan, err = planExchange(ex.src, ex.dst, ranks, e.host.Self()); err != nil {
		return nil, OfMesh(dec.call.Def.Name, err)
	}
	ex.plan.group = group
	ex.plan.mesh = l.Mesh()
	if _, flat := ex.dst.(*mesh.Flat); flat { // the tensors say more than their elements in order
		ex.plan.whole, ex.plan.detail = out.Shape(), l.String()+" to "+out.String()
	}
	return ex, nil
}

// planExchange returns the call in which the rank me comes to hold in dst the elements that it
// holds in src, among ranks, without its group.
func planExchange(src, dst mesh.Layout, among []int, me int) (*stepPlan, error) {
	x, err := mesh.NewExchange(src, dst, among)
	if err != nil {
		return nil, err
	}
	return planOf(x, src, dst, me), nil
}

// planOf returns the call in which the rank me takes part in x, from src to dst, without its
// group.
func planOf(x *mesh.Exchange, src, dst mesh.Layout, me int) *stepPlan {
	p := &stepPlan{name: "exchange", kind: comm.AllToAll, whole: dst.Shape(), detail: src.String() + " to " + dst.String()}
	p.want = boxOf(dst, me).Shape()
	p.exchange(x, src, dst, me)
	return p
}

// partExchange tells apart the ranks that exchange as newExchange says and of which one
// does something else than others.
func (e *Engine) partExchange(dec *decision, l, out *mesh.Placed) {
	type line struct {
		src, dst mesh.Layout
		x        *mesh.Exchange
		err      error
	}
	lines := map[int]*line{} // by rank
	for _, ranks := range l.Mesh().Lines(cutDims(l)...) {
		n := &line{}
		if n.src, n.dst, n.err = dec.call.Def.Exchange.Parts(dec.call, l, out, ranks); n.err == nil {
			n.x, n.err = mesh.NewExchange(n.src, n.dst, ranks)
		}
		for _, rank := range ranks {
			lines[rank] = n
		}
	}
	e.host.Part(l.Mesh(), func(rank int) string {
		n := lines[rank]
		if n.err != nil {
			return n.err.Error()
		}
		return exchangeSizes(n.x, n.src, n.dst, rank)
	})
}

// exchangeSizes returns a text that tells the rank me apart in x, from src to dst, by sizes.
func exchangeSizes(x *mesh.Exchange, src, dst mesh.Layout, me int) string {
	return fmt.Sprint(boxOf(src, me).Shape(), boxOf(dst, me).Shape()) + x.Sizes(me)
}

// exchangeBlock returns the rank's block of the result.
func (e *Engine) exchangeBlock(ex *exchange, x *tensor.Tensor) (*tensor.Tensor, error) {
	if !e.member(ex.out.Mesh()) {
		return e.outside(op.Spec{DType: x.DType(), Shape: ex.out.Shape()})
	}
	s := shape.Shape(e.LocalShape(ex.out))
	if x.Local().Buffer() == nil {
		return tensor.ShapeOnly(x.DType(), s), nil
	}
	part, err := e.partOf(ex.src, x)
	if err != nil {
		return nil, err
	}
	got, err := e.carry(ex.plan, part)
	if err != nil {
		return nil, err
	}
	if _, flat := ex.dst.(*mesh.Flat); flat {
		return got.View(s, s.Strides(), got.Offset()), nil
	}
	return e.amidZeros(ex, got, s)
}

// partOf returns the elements that the rank's block of x has of part, a layout of x's elements.
func (e *Engine) partOf(part mesh.Layout, x *tensor.Tensor) (*tensor.Tensor, error) {
	if _, flat := part.(*mesh.Flat); !flat {
		return view(x.Local(), inBlockOf(x.Layout(), part, e.host.Self())), nil
	}
	block, err := e.contiguous(x.Local())
	if err != nil {
		return nil, err
	}
	return block.View(shape.Shape{block.Numel()}, []int{1}, block.Offset()), nil
}

// amidZeros returns the rank's block, of shape s, of the result, of which it got
// the elements in dst; got itself if those are all.
func (e *Engine) amidZeros(ex *exchange, got *tensor.Tensor, s shape.Shape) (*tensor.Tensor, error) {
	if slices.Equal(got.Shape(), s) {
		return got, nil
	}
	block, err := tensor.New(e.host.Ops().Alloc, got.DType(), s)
	if err != nil {
		return nil, &op.ResourceError{Func: ex.plan.name, Err: err}
	}
	if !block.Hollow() {
		clear(block.Bytes())
	}
	if got.Numel() == 0 {
		return block, nil
	}
	to := view(block, inBlockOf(ex.out, ex.dst, e.host.Self()))
	_, err = op.Apply(e.host.Ops(), copyOp, []*tensor.Tensor{to, got}, nil)
	return block, err
}

// cutDims returns the dims of the mesh that cut the tensor of l.
func cutDims(l *mesh.Placed) []int {
	var dims []int
	for i, p := range l.Placements() {
		if _, ok := p.Shard(); ok {
			dims = append(dims, i)
		}
	}
	return dims
}

// inBlockOf returns where in the rank's block of the tensor of l the elements lie
// that it has of part, which is l itself or a window of it.
func inBlockOf(l *mesh.Placed, part mesh.Layout, rank int) mesh.Box {
	block, _ := l.Box(rank)
	at := boxOf(part, rank)
	if w, ok := part.(*mesh.Window); ok {
		if at.Numel() == 0 {
			return mesh.Box{Lo: make([]int, len(block.Lo)), Hi: make([]int, len(block.Lo))}
		}
		at = w.Whole(at)
	}
	return relative(at, block)
}

// A crossing is a move from a layout on one mesh to one on another.
type crossing struct{ src, dst *mesh.Placed }

// cross returns the rank's block of x moved to l, which is on another mesh: one
// exchange among the ranks of both. A sum is reduced before.
func (e *Engine) cross(x *tensor.Tensor, l *mesh.Placed) (*tensor.Tensor, error) {
	src := x.Layout()
	if src.IsPartial() {
		src = e.GradLayout(src)
		block, err := e.moveBlock(x, src)
		if err != nil {
			return nil, err
		}
		x = tensor.NewPlaced(src, block)
	}
	if !e.member(src.Mesh()) && !e.member(l.Mesh()) {
		return e.outside(op.Spec{DType: x.DType(), Shape: x.Shape()})
	}
	if x.Local().Buffer() == nil {
		if !e.member(l.Mesh()) {
			return x.Local(), nil
		}
		return tensor.ShapeOnly(x.DType(), e.LocalShape(l)), nil
	}
	p, err := e.crossPlan(crossing{src, l})
	if err != nil {
		return nil, err
	}
	return e.carry(p, x.Local())
}

// crossGroup returns the group in which c exchanges x. Where the ranks of one of its
// meshes are of the other, too, each rank means its own by both.
func (e *Engine) crossGroup(c crossing, x *mesh.Exchange) (*comm.Group, error) {
	if !e.host.Alike() {
		return e.host.SharedGroup(x.Ranks())
	}
	part, all := c.src.Mesh(), c.dst.Mesh()
	if part.Size() > all.Size() {
		part, all = all, part
	}
	for _, rank := range part.Ranks() {
		if _, ok := all.Position(rank); !ok {
			return e.host.SharedGroup(x.Ranks())
		}
	}
	e.host.SameRanks(all, part)
	e.host.Part(all, func(rank int) string {
		return exchangeSizes(x, c.src, c.dst, rank)
	})
	return e.host.GroupIn(all, x.Ranks())
}

// crossPlan returns the stepPlan of c, made when it is first asked for.
func (e *Engine) crossPlan(c crossing) (*stepPlan, error) {
	if p := e.crossings[c]; p != nil {
		return p, nil
	}
	x, err := mesh.NewExchange(c.src, c.dst, nil)
	if err != nil {
		return nil, OfMesh("redistribute", err)
	}
	group, err := e.crossGroup(c, x)
	if err != nil {
		return nil, err
	}
	p := planOf(x, c.src, c.dst, e.host.Self())
	p.group = group
	if p.group.Size() == c.dst.Mesh().Size() { // else ranks call that may have skipped calls of the mesh
		p.mesh = c.dst.Mesh()
	}
	if len(e.crossings) >= maxDecisions {
		clear(e.crossings)
	}
	e.crossings[c] = p
	return p, nil
}

// MoveFlat returns the rank's part of a tensor that lies as to says, where x is the part as
// from says: one exchange in g, whose places are the ranks of both. Each rank has one range
// in either. There is no gradient.
func (e *Engine) MoveFlat(g *comm.Group, from, to *mesh.Flat, x *tensor.Tensor) (*tensor.Tensor, error) {
	p, err := planExchange(inOneDim(from), inOneDim(to), nil, g.Place())
	if err != nil {
		return nil, err
	}
	p.name, p.group, p.whole = "all_to_all", g, from.Shape()
	p.detail = from.String() + " to " + to.String()
	p.back = p.detail + " " + comm.InBackward
	return e.carry(p, x)
}

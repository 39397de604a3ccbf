package shard

import (
	"slices"

	"tpsh/comm"
	"tpsh/mesh"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// The operators window_get and window_put take a box out of a tensor and put one
// into zeros. Where the box cuts a dim that ranks hold in blocks, they exchange
// what they lack of the result, which keeps the placements of the input; nothing
// else moves.

var (
	windowGet = op.Lookup("window_get")
	windowPut = op.Lookup("window_put")
)

func isWindow(d *op.Def) bool { return d == windowGet || d == windowPut }

// A window is how a rank takes part in such an exchange.
type window struct {
	stepPlan *stepPlan
	out      *mesh.Placed
	take     mesh.Box // of the rank's block of the input, what is exchanged
	put      mesh.Box // of its block of the result, where what comes goes
}

// window carries out dec, which is for a window, on x.
func (e *Engine) window(dec *decision, x *tensor.Tensor, args []op.Arg) (*op.Call, error) {
	if x.Layout().IsPartial() {
		y, err := e.move(x, e.GradLayout(x.Layout()))
		if err != nil {
			return nil, err
		}
		x = y
	}
	if dec.window == nil {
		w, err := e.newWindow(dec, x.Layout(), args)
		if err != nil {
			return nil, err
		}
		dec.window = w
	}
	w := dec.window
	c := &op.Call{Def: dec.call.Def, Ctx: e.host.Ops(), In: []*tensor.Tensor{x}, Args: args, Spec: dec.call.Spec}
	block, err := e.windowBlock(w, x)
	if err != nil {
		return nil, err
	}
	c.Out = []*tensor.Tensor{tensor.NewPlaced(w.out, block)}
	return c, nil
}

// windowBlock returns the rank's block of the result.
func (e *Engine) windowBlock(w *window, x *tensor.Tensor) (*tensor.Tensor, error) {
	spec := op.Spec{DType: x.DType(), Shape: w.out.Shape()}
	if !e.member(w.out.Mesh()) {
		return e.outside(spec)
	}
	shape := w.out.LocalShape(e.host.ID())
	if x.Local().Buffer() == nil {
		return tensor.ShapeOnly(x.DType(), shape), nil
	}
	got, err := e.carry(w.stepPlan, view(x.Local(), w.take))
	if err != nil || slices.Equal(got.Shape(), shape) {
		return got, err
	}
	block, err := tensor.New(e.host.Ops().Alloc, x.DType(), shape)
	if err != nil {
		return nil, &op.ResourceError{Func: w.stepPlan.name, Err: err}
	}
	clear(block.Bytes())
	if got.Numel() == 0 {
		return block, nil
	}
	_, err = op.Apply(e.host.Ops(), copyOp, []*tensor.Tensor{view(block, w.put), got}, nil)
	return block, err
}

// newWindow returns how the rank takes part in the exchange for a window of a
// tensor placed as l.
func (e *Engine) newWindow(dec *decision, l *mesh.Placed, args []op.Arg) (*window, error) {
	d, me := dec.call.Def, e.host.ID()
	out, err := e.place(l.Mesh(), dec.call.Spec[0].Shape, l.Placements())
	if err != nil {
		return nil, err
	}
	w := &window{out: out}
	if !e.member(l.Mesh()) {
		return w, nil
	}
	var src, dst mesh.Layout = l, out
	if d == windowGet {
		src = mesh.NewWindow(l, boxAt(args[0].Ints, args[1].Ints))
	} else {
		dst = mesh.NewWindow(out, boxAt(args[1].Ints, l.Shape()))
	}
	ranks := l.Mesh().Line(me, cutDims(l)...)
	x, err := mesh.NewExchange(src, dst, ranks)
	if err != nil {
		return nil, argError(d.Name, err)
	}
	r := &stepPlan{name: "exchange", kind: comm.AllToAll, whole: dst.Shape(), mesh: l.Mesh(), detail: src.String() + " to " + dst.String()}
	r.want = boxOf(dst, me).Shape()
	if r.group, err = e.host.SharedGroup(ranks); err != nil {
		return nil, err
	}
	r.exchange(x, src, dst, me)
	w.stepPlan = r
	w.take, w.put = inBlockOf(l, src, me), inBlockOf(out, dst, me)
	return w, nil
}

// boxAt returns the box of the given sizes that begins at lo.
func boxAt(lo, sizes []int) mesh.Box {
	b := mesh.Box{Lo: slices.Clone(lo), Hi: slices.Clone(lo)}
	for d, n := range sizes {
		b.Hi[d] += n
	}
	return b
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

// inBlockOf returns where in the rank's block of the tensor of l lies what it has
// of part, which is l itself or a window of it.
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

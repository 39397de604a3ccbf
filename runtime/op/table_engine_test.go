package op_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"sync"
	"testing"

	"tpsh/mesh"
	"tpsh/runtime"
	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// Ranks that hold the inputs of an example together, placed at random, get what
// a rank gets that has the whole: the results, and the gradients of their
// weighted sum.
func TestTableOnRanks(t *testing.T) {
	for _, sizes := range [][]int{{2}, {3}, {2, 2}} {
		t.Run(fmt.Sprint(sizes), func(t *testing.T) {
			m := newMesh(sizes...)
			onRanks(t, m.Size(), func(r *runtime.Rank) {
				cases := 0
				for _, d := range op.All() {
					for i, ex := range examples[d.Name] {
						for seed := range seedsOf(sizes) {
							c := &placedCase{t: t, r: r, m: r.Layouts().Mesh(m), d: d, ex: ex, random: rand.New(rand.NewSource(int64(1000*seed + i)))}
							cases += c.run()
						}
					}
				}
				if r.ID() == 0 {
					t.Logf("%d cases", cases)
				}
			})
		})
	}
}

// onRanks runs body on n ranks.
func onRanks(t *testing.T, n int, body func(r *runtime.Rank)) {
	t.Helper()
	var ended sync.WaitGroup
	ended.Add(n)
	job, err := runtime.Start(context.Background(), runtime.Config{Size: n, Transport: runtime.Transports[0]}, func(ctx context.Context, r *runtime.Rank) {
		defer ended.Done()
		r.Begin(ctx)
		err := caught(func() { body(r) })
		if err = r.End(err); err != nil {
			t.Errorf("rank %d: %v", r.ID(), err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ended.Wait()
	job.Stop()
}

// A placedCase is an example on tensors that ranks hold together.
type placedCase struct {
	t      *testing.T
	r      *runtime.Rank
	m      *mesh.Mesh
	d      *op.Def
	ex     example
	random *rand.Rand // the same on every rank
	text   string     // how the inputs are placed
}

// run compares the case with the example on plain tensors, and returns how many
// cases that were.
func (p *placedCase) run() int {
	tr, dt, ok := p.reference()
	if !ok || !slices.ContainsFunc(tr.in, func(x *tensor.Tensor) bool { return x != nil && !x.Weak() }) {
		return 0
	}
	layouts := p.layouts(tr)
	grads := differentiable(p.d, p.ex, dt)
	seed, draws := p.r.RNG()
	want, wantGrads, err := p.apply(tr, nil, grads)
	if err != nil {
		return 0
	}
	p.r.SetRNG(seed, draws)
	got, gotGrads, err := p.apply(newTrial(p.d, p.ex, dt), layouts, grads)
	var bad *op.ArgError
	if errors.As(err, &bad) && strings.Contains(bad.Rule, "in-place operation") {
		return 0
	}
	if err != nil {
		p.t.Errorf("%v, %s: %v", tr, p.text, err)
		return 1
	}
	p.compare(tr, "result", got, want)
	p.compare(tr, "gradient", gotGrads, wantGrads)
	return 1
}

// reference returns the example in the first dtype that the operator takes.
func (p *placedCase) reference() (*trial, dtype.DType, bool) {
	for _, dt := range []dtype.DType{dtype.Float64, dtype.Int64, dtype.Bool} {
		if _, err := newTrial(p.d, p.ex, dt).apply(); err == nil {
			return newTrial(p.d, p.ex, dt), dt, true
		}
	}
	return nil, 0, false
}

// layouts draws a layout for each tensor of tr.
func (p *placedCase) layouts(tr *trial) []*mesh.Placed {
	out := make([]*mesh.Placed, len(tr.in))
	for i, x := range tr.in {
		if x == nil || x.Weak() {
			continue
		}
		placements := make([]mesh.Placement, p.m.NDim())
		for k := range placements {
			choices := []mesh.Placement{mesh.Replicate()}
			for d := range x.Shape() {
				choices = append(choices, mesh.Shard(d), mesh.Shard(d))
			}
			if canBe(mesh.Partial(mesh.Sum), x.DType()) && !p.ex.fixed[i] {
				choices = append(choices, mesh.Partial(mesh.Sum))
			}
			placements[k] = choices[p.random.Intn(len(choices))]
		}
		l, err := p.r.Layouts().Place(p.m, x.Shape(), placements)
		if err != nil {
			panic(err)
		}
		out[i] = l
		p.text += fmt.Sprintf("%v ", l)
	}
	return out
}

// apply applies the operator to the inputs of tr, placed if layouts is not nil,
// and returns its results, and the gradients of their weighted sum if grads is
// set, whole and plain.
func (p *placedCase) apply(tr *trial, layouts []*mesh.Placed, grads bool) (out, dx []*tensor.Tensor, err error) {
	if e := caught(func() { out, dx, err = p.applied(tr, layouts, grads) }); e != nil {
		err = e
	}
	return out, dx, err
}

func (p *placedCase) applied(tr *trial, layouts []*mesh.Placed, grads bool) (out, dx []*tensor.Tensor, err error) {
	in, vars := slices.Clone(tr.in), []*tensor.Tensor(nil)
	for i, x := range in {
		if x == nil || x.Weak() {
			continue
		}
		if layouts != nil {
			if in[i], err = p.r.Shard.FromLocal(blockOf(x, layouts[i], p.r.ID(), i), layouts[i]); err != nil {
				return nil, nil, err
			}
		}
		if grads && x.DType() == dtype.Float64 && !p.ex.fixed[i] {
			in[i].Auto = &tensor.Auto{Requires: true}
			vars = append(vars, in[i])
		}
	}
	if p.d.InPlace {
		y, err := p.r.Do("clone", in[:1])
		if err != nil {
			return nil, nil, err
		}
		in[0] = y
	}
	if out, err = p.r.Apply(p.d, in, tr.args); err != nil {
		return nil, nil, err
	}
	if len(vars) > 0 {
		if dx, err = p.gradients(p.r.Tape, out, vars); err != nil {
			return nil, nil, fmt.Errorf("gradients: %w", err)
		}
	}
	out = slices.Clone(out)
	for i := range out {
		if out[i], err = p.full(out[i]); err != nil {
			return nil, nil, err
		}
	}
	return out, dx, nil
}

// gradients returns those of the weighted sum of out.
func (p *placedCase) gradients(rec *grad.Recorder, out, vars []*tensor.Tensor) ([]*tensor.Tensor, error) {
	s := &scene{d: p.d}
	weights := make([]*tensor.Tensor, len(out))
	any := false
	for k, y := range out {
		if y.DType().IsFloat() && y.RequiresGrad() {
			weights[k], any = unit(y.Shape()...).make(testAlloc, dtype.Float64, k+3), true
		}
	}
	if !any {
		return nil, nil
	}
	dx, err := rec.Grad([]*tensor.Tensor{s.weighted(rec, out, weights)}, vars, false)
	if err != nil {
		return nil, err
	}
	for i, g := range dx {
		if g == nil {
			dx[i] = zerosLike(vars[i])
		} else if dx[i], err = p.full(g); err != nil {
			return nil, err
		}
	}
	return dx, nil
}

// full returns the whole of x as a plain tensor.
func (p *placedCase) full(x *tensor.Tensor) (*tensor.Tensor, error) {
	if !x.Placed() {
		return x, nil
	}
	return p.r.Shard.Full("full_tensor", x, nil)
}

func (p *placedCase) compare(tr *trial, what string, got, want []*tensor.Tensor) {
	if len(got) != len(want) {
		p.t.Errorf("%v, %s: %d %ss, want %d", tr, p.text, len(got), what, len(want))
		return
	}
	for i := range got {
		compareClose(p.t, fmt.Sprintf("%v, %s: rank %d: %s %d", tr, p.text, p.r.ID(), what, i), tr, got[i], want[i])
	}
}

// seedsOf returns how often each example is placed on a mesh.
func seedsOf(sizes []int) int {
	if len(sizes) > 1 {
		return 1
	}
	return 3
}

package optest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// A scene is an example whose gradients are tested: a function of its float
// inputs and of weights, to one number, the weighted sum of its results.
type scene struct {
	d       *op.Def
	args    []op.Arg
	in      []*tensor.Tensor
	weights []*tensor.Tensor // one for each result; nil if it is no float
	fixed   map[int]bool     // inputs that get no gradient
}

// newScene returns the scene of tr, which is in float64.
func newScene(tr *trial) (*scene, error) {
	s := &scene{d: tr.d, args: tr.args, fixed: tr.ex.fixed}
	s.in = s.fresh(tr.in) // the call may change its inputs
	c, err := tr.apply()
	if err != nil {
		return nil, err
	}
	for k, y := range c.Out {
		var w *tensor.Tensor
		if y.DType().IsFloat() {
			w = unit(y.Shape()...).make(testAlloc, dtype.Float64, k+3)
		}
		s.weights = append(s.weights, w)
	}
	return s, nil
}

// variables returns the inputs and weights that gradients are taken for; none
// if there is no float result.
func (s *scene) variables() []*tensor.Tensor {
	var vars []*tensor.Tensor
	for i, x := range slices.Concat(s.in, s.weights) {
		if x != nil && !x.Weak() && x.DType() == dtype.Float64 && !s.fixed[i] {
			vars = append(vars, x)
		}
	}
	if !slices.ContainsFunc(s.weights, func(w *tensor.Tensor) bool { return w != nil }) {
		return nil
	}
	return vars
}

// must returns the only result of an operator.
func (s *scene) must(rec *grad.Recorder, name string, in []*tensor.Tensor, args ...op.Arg) *tensor.Tensor {
	out, err := rec.Apply(op.Lookup(name), in, args)
	if err != nil {
		panic(fmt.Errorf("%s: %w", name, err))
	}
	return out[0]
}

// value applies the operator to in and returns the weighted sum of its
// results.
func (s *scene) value(rec *grad.Recorder, in, weights []*tensor.Tensor) *tensor.Tensor {
	in = slices.Clone(in)
	if s.d.InPlace { // a leaf cannot be changed
		in[0] = s.must(rec, "clone", in[:1])
	}
	out, err := rec.Apply(s.d, in, s.args)
	if err != nil {
		panic(err)
	}
	return s.weighted(rec, out, weights)
}

// weighted returns the sum of the results times their weights.
func (s *scene) weighted(rec *grad.Recorder, out, weights []*tensor.Tensor) *tensor.Tensor {
	var sum *tensor.Tensor
	for k, y := range out {
		if weights[k] == nil {
			continue
		}
		part := s.must(rec, "sum", []*tensor.Tensor{s.must(rec, "mul", []*tensor.Tensor{y, weights[k]})}, op.None, op.Bool1(false))
		if sum == nil {
			sum = part
		} else {
			sum = s.must(rec, "add", []*tensor.Tensor{sum, part})
		}
	}
	return sum
}

// leaves returns the inputs and weights anew, requiring grad where they are
// variables, and the list of these.
func (s *scene) leaves() (in, weights, vars []*tensor.Tensor) {
	list := s.variables()
	fresh := func(x *tensor.Tensor) *tensor.Tensor {
		if x == nil || x.Weak() {
			return x
		}
		y := packed(x)
		if slices.Contains(list, x) {
			y.Auto = &tensor.Auto{Requires: true}
			vars = append(vars, y)
		}
		return y
	}
	for _, x := range s.in {
		in = append(in, fresh(x))
	}
	for _, w := range s.weights {
		weights = append(weights, fresh(w))
	}
	return in, weights, vars
}

// gradients returns the gradients of the value with respect to the variables,
// zeros where there are none, and the recorder, if twice they can be
// differentiated with.
func (s *scene) gradients(twice bool) (rec *grad.Recorder, grads, vars []*tensor.Tensor) {
	rec = grad.New(newCtx())
	// Somebody counts what is kept, so that records let go of all that is not read.
	rec.Keep, rec.Leaf = func(any, ...[]*tensor.Tensor) {}, func(*tensor.Tensor) {}
	in, weights, vars := s.leaves()
	y := s.value(rec, in, weights)
	grads, err := rec.Grad([]*tensor.Tensor{y}, vars, twice)
	if err != nil {
		panic(err)
	}
	for i, g := range grads {
		if g == nil {
			grads[i] = zerosLike(vars[i])
		}
	}
	return rec, grads, vars
}

// gradientAlone returns the gradient with respect to variable i where nothing else
// requires grad.
func (s *scene) gradientAlone(i int) *tensor.Tensor {
	rec := grad.New(newCtx())
	rec.Keep, rec.Leaf = func(any, ...[]*tensor.Tensor) {}, func(*tensor.Tensor) {}
	in, weights, vars := s.leaves()
	for j, x := range vars {
		if j != i {
			x.Auto = nil
		}
	}
	y := s.value(rec, in, weights)
	if !y.RequiresGrad() {
		return zerosLike(vars[i])
	}
	grads, err := rec.Grad([]*tensor.Tensor{y}, vars[i:i+1], false)
	if err != nil {
		panic(err)
	}
	if grads[0] == nil {
		return zerosLike(vars[i])
	}
	return grads[0]
}

func zerosLike(x *tensor.Tensor) *tensor.Tensor {
	z, err := tensor.New(testAlloc, x.DType(), x.Shape())
	if err != nil {
		panic(err)
	}
	clear(z.Bytes())
	return z
}

// differences returns the central differences of f with respect to the
// elements of x.
func differences(x *tensor.Tensor, f func() float64) []float64 {
	const h = 1e-5
	out := make([]float64, x.Numel())
	for i := range out {
		v := get(x, i)
		put(x, i, v+h)
		up := f()
		put(x, i, v-h)
		down := f()
		put(x, i, v)
		out[i] = (up - down) / (2 * h)
	}
	return out
}

// differentiable reports whether gradients of the example can be tested.
func differentiable(d *op.Def, ex example, dt dtype.DType) bool {
	return d.Grad != nil && dt == dtype.Float64 && ex.rough == "" ||
		d.InPlace && dt == dtype.Float64 && ex.rough == "" && op.Lookup(d.Base).Grad != nil
}

// caught runs f and returns its panic as an error.
func caught(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	f()
	return nil
}

// Gradients are the central differences of the value, in float64.
func TestTableGradients(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if !differentiable(d, ex, dt) {
			return 0
		}
		tr := newTrial(d, ex, dt)
		s, err := newScene(tr)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.variables()) == 0 {
			return 0
		}
		if err := caught(func() { s.checkFirst(t, tr) }); err != nil {
			t.Errorf("%v: %v", tr, err)
		}
		return len(s.variables())
	})
}

func (s *scene) checkFirst(t *testing.T, tr *trial) {
	t.Helper()
	_, grads, _ := s.gradients(false)
	value := func() float64 { return list(s.value(grad.New(newCtx()), s.fresh(s.in), s.weights))[0] }
	for i, x := range s.variables() {
		want := differences(x, value)
		checkGradient(t, fmt.Sprintf("%v, variable %d", tr, i), grads[i], want)
		// What a record keeps hangs on which inputs require grad.
		checkGradient(t, fmt.Sprintf("%v, variable %d alone", tr, i), s.gradientAlone(i), want)
	}
}

// fresh returns copies of in, for operators that write into their inputs.
func (s *scene) fresh(in []*tensor.Tensor) []*tensor.Tensor {
	out := slices.Clone(in)
	for i, x := range in {
		if x != nil && !x.Weak() {
			out[i] = packed(x)
		}
	}
	return out
}

// checkGradient compares a gradient with central differences, whose error is
// about 1e-10 of the values.
func checkGradient(t *testing.T, what string, got *tensor.Tensor, want []float64) {
	t.Helper()
	scale := 1.0
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i, g := range list(got) {
		if !(math.Abs(g-want[i]) <= 1e-6*scale) {
			t.Errorf("%s, element %d: gradient %v, differences %v", what, i, g, want[i])
			return
		}
	}
}

// Gradients are made of operators that have gradients: those of a weighted sum
// of the gradients are their central differences.
func TestTableSecondGradients(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if !differentiable(d, ex, dt) {
			return 0
		}
		tr := newTrial(d, ex, dt)
		s, err := newScene(tr)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.variables()) == 0 {
			return 0
		}
		if err := caught(func() { s.checkSecond(t, tr) }); err != nil {
			t.Errorf("%v: %v", tr, err)
		}
		return len(s.variables())
	})
}

func (s *scene) checkSecond(t *testing.T, tr *trial) {
	t.Helper()
	var directions []*tensor.Tensor
	for i, x := range s.variables() {
		directions = append(directions, unit(x.Shape()...).make(testAlloc, dtype.Float64, i+1))
	}
	rec, grads, vars := s.gradients(true)
	dot := s.along(rec, grads, directions)
	value := func() float64 {
		rec, grads, _ := s.gradients(false)
		return list(s.along(rec, grads, directions))[0]
	}
	second := make([]*tensor.Tensor, len(vars))
	if dot.RequiresGrad() {
		var err error
		if second, err = rec.Grad([]*tensor.Tensor{dot}, vars, false); err != nil {
			panic(err)
		}
	}
	for i, x := range s.variables() {
		if second[i] == nil {
			second[i] = zerosLike(x)
		}
		checkGradient(t, fmt.Sprintf("%v, variable %d", tr, i), second[i], differences(x, value))
	}
}

// along returns the sum of the products of grads and directions.
func (s *scene) along(rec *grad.Recorder, grads, directions []*tensor.Tensor) *tensor.Tensor {
	var sum *tensor.Tensor
	for i, g := range grads {
		part := s.must(rec, "sum", []*tensor.Tensor{s.must(rec, "mul", []*tensor.Tensor{g, directions[i]})}, op.None, op.Bool1(false))
		if sum == nil {
			sum = part
		} else {
			sum = s.must(rec, "add", []*tensor.Tensor{sum, part})
		}
	}
	return sum
}

// checkGradientShapes runs tr backwards, whatever its sizes. Package grad
// compares the shapes.
func (tr *trial) checkGradientShapes(t *testing.T) {
	t.Helper()
	if !differentiable(tr.d, tr.ex, tr.tested()) {
		return
	}
	err := caught(func() {
		s, err := newScene(tr)
		if err != nil {
			panic(err)
		}
		if len(s.variables()) > 0 {
			s.gradients(false)
		}
	})
	if err != nil {
		t.Errorf("%v: gradients: %v", tr, err)
	}
}

// tested returns the dtype of the inputs under test.
func (tr *trial) tested() dtype.DType {
	for i, in := range tr.ex.in {
		if !in.fixed {
			return tr.in[i].DType()
		}
	}
	return dtype.Float64
}

// A gradient that arrives transposed, sliced or expanded gives what a
// contiguous one of the same elements gives, bit for bit.
func TestTableGradientLayouts(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if !differentiable(d, ex, dt) || d.InPlace {
			return 0
		}
		cases := 0
		for _, layout := range []func(*tensor.Tensor) *tensor.Tensor{turned, sliced, expanded} {
			tr := newTrial(d, ex, dt)
			err := caught(func() {
				odd := arrived(tr, layout)
				even := arrived(tr, func(x *tensor.Tensor) *tensor.Tensor {
					if x = layout(x); x != nil {
						x = packed(x)
					}
					return x
				})
				if !slices.EqualFunc(odd, even, sameGrad) {
					t.Errorf("%v: gradients depend on how the results' gradients lie", tr)
				}
			})
			if err != nil {
				t.Errorf("%v: gradients: %v", tr, err)
			}
			cases++
		}
		return cases
	})
}

// sameGrad reports whether two leaves have the same gradient, or none.
func sameGrad(x, y *tensor.Tensor) bool {
	g, h := x.Auto.Grad, y.Auto.Grad
	return g == nil && h == nil || g != nil && h != nil && same(g, h)
}

// arrived runs tr backwards from gradients of its results that layout lays
// out, and returns its float inputs, which then have theirs.
func arrived(tr *trial, layout func(*tensor.Tensor) *tensor.Tensor) []*tensor.Tensor {
	rec := grad.New(newCtx())
	var leaves []*tensor.Tensor
	in := slices.Clone(tr.in)
	for i, x := range in {
		if x != nil && !x.Weak() && x.DType() == tr.tested() && x.DType().IsFloat() && !tr.ex.fixed[i] {
			in[i] = packed(x)
			in[i].Auto = &tensor.Auto{Requires: true}
			leaves = append(leaves, in[i])
		}
	}
	out, err := rec.Apply(tr.d, in, tr.args)
	if err != nil {
		panic(err)
	}
	for k, y := range out {
		dy := layout(unit(y.Shape()...).make(testAlloc, y.DType(), k))
		if dy == nil || !y.RequiresGrad() {
			continue
		}
		if err := rec.Backward(y, dy, false); err != nil {
			panic(err)
		}
	}
	return leaves
}

// Inputs of every float dtype get gradients of their own dtype.
func TestTableGradientDTypes(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if !differentiable(d, ex, dt) {
			return 0
		}
		cases := 0
		for _, dt := range []dtype.DType{dtype.Float32, dtype.Float16, dtype.BFloat16} {
			tr := newTrial(d, ex, dt)
			if _, err := tr.apply(); err != nil || d.InPlace {
				continue
			}
			err := caught(func() {
				for i, x := range arrived(tr, packed) {
					if g := x.Auto.Grad; g != nil && g.DType() != dt {
						t.Errorf("%v: gradient %d is %v, want %v", tr, i, g.DType(), dt)
					}
				}
			})
			if err != nil {
				t.Errorf("%v: gradients: %v", tr, err)
			}
			cases++
		}
		return cases
	})
}

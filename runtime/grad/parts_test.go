package grad

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel/crew"
	"tpsh/runtime/op"
	"tpsh/runtime/shape"
	"tpsh/runtime/tensor"
)

// partsSize is a size of tensors that two cores share, in three parts of which the last is short.
var partsSize = shape.Shape{259, 257}

// Cores that no rank needs change no bit of what is computed element by element, of any operator
// on any layout, or of its gradients.
func TestPartsOfElements(t *testing.T) {
	tried, compared := 0, 0
	for _, d := range op.All() {
		if !d.Pointwise {
			continue
		}
		for _, test := range []struct {
			dt     dtype.DType
			turned bool
		}{{dtype.Float32, false}, {dtype.Float32, true}, {dtype.BFloat16, false}} {
			t.Run(fmt.Sprintf("%s/%v/turned=%t", d.Name, test.dt, test.turned), func(t *testing.T) {
				made := inParts(t, func(w workbench, draw *rand.Rand) ([]*tensor.Tensor, error) {
					in, args := w.arguments(draw, d, test.dt, partsSize)
					leaves := slices.Clone(in)
					if test.turned && len(in) > 0 && in[0] != nil {
						leaves[0] = w.random(draw, test.dt, shape.Shape{partsSize[1], partsSize[0]})
						in[0] = w.do("transpose", leaves[:1], op.Int1(0), op.Int1(1))
					}
					return w.withGradients(draw, leaves, false, func() ([]*tensor.Tensor, error) { return w.r.Apply(d, in, args) })
				})
				if tried++; made {
					compared++
				}
			})
		}
	}
	if 4*compared < 3*tried {
		t.Errorf("of %d cases %d made something to compare, want three quarters", tried, compared)
	}
}

// They change no bit of what is computed row by row or head by head, either.
func TestPartsOfRows(t *testing.T) {
	row := op.IntsN(partsSize[1])
	rows := []shape.Shape{partsSize, {partsSize[1]}, {partsSize[1]}}
	heads := []shape.Shape{{3, 7, 65, 16}, {3, 7, 70, 16}, {3, 7, 70, 24}}
	attention := func(causal bool) []op.Arg {
		return []op.Arg{op.Float1(0), op.Bool1(causal), op.None, op.Bool1(false), op.None}
	}
	for _, test := range []struct {
		name   string
		shapes []shape.Shape
		none   int // optional inputs that are not given
		args   []op.Arg
	}{
		{"softmax", rows[:1], 0, []op.Arg{op.Int1(1), op.None}},
		{"softmax", rows[:1], 0, []op.Arg{op.Int1(0), op.None}},
		{"log_softmax", rows[:1], 0, []op.Arg{op.Int1(1), op.None}},
		{"layer_norm", rows, 0, []op.Arg{row, op.Float1(1e-5)}},
		{"layer_norm", rows[:1], 2, []op.Arg{row, op.Float1(1e-5)}},
		{"rms_norm", rows[:2], 0, []op.Arg{row, op.Float1(1e-5)}},
		{"rms_norm", rows[:1], 1, []op.Arg{row, op.Float1(1e-5)}},
		{"linear", []shape.Shape{{515, 9}, {257, 9}, {257}}, 0, nil},
		{"scaled_dot_product_attention", heads, 1, attention(false)},
		{"scaled_dot_product_attention", heads, 1, attention(true)},
		{"scaled_dot_product_attention", append(heads[:3:3], shape.Shape{65, 70}), 0, attention(false)},
	} {
		for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.BFloat16} {
			t.Run(test.name+"/"+dt.String(), func(t *testing.T) {
				inParts(t, func(w workbench, draw *rand.Rand) ([]*tensor.Tensor, error) {
					var in []*tensor.Tensor
					for _, s := range test.shapes {
						in = append(in, w.random(draw, dt, s))
					}
					in = append(in, make([]*tensor.Tensor, test.none)...)
					out, err := w.withGradients(draw, in, false, func() ([]*tensor.Tensor, error) { return w.r.Apply(op.Lookup(test.name), in, test.args) })
					if err != nil {
						t.Fatal(err)
					}
					return out, nil
				})
			})
		}
	}
}

// inParts compares what f makes on several cores with what it makes on one, and reports whether it
// makes anything of such arguments.
func inParts(t *testing.T, f func(w workbench, draw *rand.Rand) ([]*tensor.Tensor, error)) bool {
	t.Helper()
	several, one := newSpacious(t), newSpacious(t)
	several.r.Ctx.Workers = crew.NewWorkers(3)
	got, gotErr := f(several, rand.New(rand.NewPCG(5, 6)))
	want, wantErr := f(one, rand.New(rand.NewPCG(5, 6)))
	sameResults(t, got, gotErr, want, wantErr)
	return wantErr == nil
}

package optest

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/kernel"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

var update = flag.Bool("update", false, "write testdata anew")

// roundoff is half the distance from 1 to the next number of a float dtype.
func roundoff(dt dtype.DType) float64 {
	switch dt {
	case dtype.Float64:
		return 0x1p-53
	case dtype.Float32:
		return 0x1p-24
	case dtype.Float16:
		return 0x1p-11
	case dtype.Float8E4M3FN:
		return 0x1p-4
	case dtype.Float8E5M2:
		return 0x1p-3
	}
	return 0x1p-8
}

// tiny is half the distance from 0 to the next number of a float dtype.
func tiny(dt dtype.DType) float64 {
	switch dt {
	case dtype.Float16:
		return 0x1p-25
	case dtype.BFloat16:
		return 0x1p-134
	case dtype.Float8E4M3FN:
		return 0x1p-10
	case dtype.Float8E5M2:
		return 0x1p-17
	}
	return 0
}

// In every dtype that an operator takes, it gives the result of float64 (of
// int64 where it takes no floats) within the rounding of that dtype: that of
// one operation for the half types, whose arithmetic is done in float32. Other
// dtypes it refuses with an *op.ArgError.
func TestTableDTypes(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		cases := 0
		for _, dt := range dtype.Reals {
			tr := newTrial(d, ex, dt)
			ref := tr.reference(dt) // before the call changes its inputs
			c, err := tr.run(t)
			if cases++; err == nil && ex.inexact == "" && ref != nil {
				tr.compare(t, c, ref, dt)
			}
		}
		return cases
	})
}

// reference returns the call of tr on the same numbers in float64 or, unless
// they are bools, int64; nil if it does not take that.
func (tr *trial) reference(dt dtype.DType) *op.Call {
	for _, wide := range []dtype.DType{dtype.Float64, dtype.Int64} {
		ref := &trial{d: tr.d, ex: tr.ex, args: tr.args}
		for i, in := range tr.ex.in {
			var x *tensor.Tensor
			if !in.fixed {
				x = newTrial(tr.d, tr.ex, wide).in[i]
				for at, v := range list(tr.in[i]) {
					put(x, at, v)
				}
			} else {
				x = in.make(testAlloc, dt, i)
			}
			ref.in = append(ref.in, x)
		}
		if c, err := ref.apply(); err == nil {
			return c
		}
		if dt == dtype.Bool {
			return nil // arithmetic on bits differs
		}
	}
	return nil
}

// compare compares the results of tr, in dtype dt, with those of ref.
func (tr *trial) compare(t *testing.T, c, ref *op.Call, dt dtype.DType) {
	t.Helper()
	for k, y := range c.Out {
		want := list(ref.Out[k])
		if !y.Shape().Equal(ref.Out[k].Shape()) {
			t.Errorf("%v: result %d is %v, that of float64 %v", tr, k, op.Describe(y), op.Describe(ref.Out[k]))
			continue
		}
		for i, got := range list(y) {
			if msg := tr.differs(y.DType(), got, want[i], dt); msg != "" {
				t.Errorf("%v: result %d (%v), element %d: got %v, want %v%s", tr, k, y.DType(), i, got, want[i], msg)
				break
			}
		}
	}
}

// differs returns "" if got, of dtype dt, is want as dt has it; in is the
// dtype of the inputs.
func (tr *trial) differs(dt dtype.DType, got, want float64, in dtype.DType) string {
	if !dt.IsFloat() {
		if exact := convert(dt, want); got != exact {
			return fmt.Sprintf(", which is %v", exact)
		}
		return ""
	}
	if class(got) != class(want) {
		return ", another kind of number"
	}
	if class(want) != "finite" {
		return ""
	}
	compute := roundoff(dt.Compute())
	if in.IsFloat() {
		compute = max(compute, roundoff(in.Compute()))
	}
	tol := 16 * compute * (math.Abs(want) + tr.magnitude())
	if dt != dt.Compute() {
		tol += roundoff(dt)*math.Abs(want) + tiny(dt)
	}
	if math.Abs(got-want) > tol {
		return fmt.Sprintf(" within %.3g", tol)
	}
	return ""
}

// magnitude returns the largest absolute value among the inputs, at least 1.
func (tr *trial) magnitude() float64 {
	m := 1.0
	for _, x := range tr.in {
		if x == nil {
			continue
		}
		for _, v := range list(x) {
			if math.Abs(v) > m && class(v) == "finite" {
				m = math.Abs(v)
			}
		}
	}
	return m
}

// convert returns v as an integer or bool dtype has it: its low bits.
func convert(dt dtype.DType, v float64) float64 { return converter(dt)(v) }

// converter returns convert for many numbers of a dtype.
func converter(dt dtype.DType) func(v float64) float64 {
	x, err := tensor.New(testAlloc, dt, nil)
	if err != nil {
		panic(err)
	}
	write, read := writer(x), reader(x)
	return func(v float64) float64 {
		write(0, v)
		return read(0)
	}
}

func class(v float64) string {
	switch {
	case v != v:
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return "finite"
}

// Each operator takes the dtypes that testdata/dtypes.txt lists for it; -update
// writes the list anew.
func TestTableDTypesTaken(t *testing.T) {
	var b strings.Builder
	for _, d := range ofReals() {
		if names := taken(d); names != nil {
			fmt.Fprintf(&b, "%s: %s\n", d.Name, strings.Join(names, " "))
		}
	}
	golden := filepath.Join("testdata", "dtypes.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(b.String(), "\n")
	for i, line := range strings.Split(string(want), "\n") {
		if i >= len(got) || got[i] != line {
			t.Fatalf("%s, line %d: got %q, want %q\nrun: go test ./runtime/op/optest -run DTypesTaken -update", golden, i+1, got[min(i, len(got)-1)], line)
		}
	}
}

// taken returns the dtypes in which an example of d succeeds, nil if no
// example depends on the dtype.
func taken(d *op.Def) []string {
	var names []string
	for _, dt := range dtype.Reals {
		if slices.ContainsFunc(examples[d.Name], func(ex example) bool {
			if !slices.ContainsFunc(ex.in, func(in input) bool { return !in.fixed }) {
				return false
			}
			_, err := newTrial(d, ex, dt).apply()
			return err == nil
		}) {
			names = append(names, dt.String())
		}
	}
	return names
}

// NaN and infinities give results, or an *op.ArgError; those of float32 are
// NaN and infinite where those of float64 are, in every set of instructions.
func TestTableNotFinite(t *testing.T) {
	defer kernel.Use(kernel.Best())
	for _, set := range kernel.Sets() {
		kernel.Use(set)
		t.Run(set.String(), tableNotFinite)
	}
}

func tableNotFinite(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if dt != dtype.Float64 {
			return 0
		}
		cases := 0
		for k, in := range ex.in {
			if in.fixed || in.shape.Numel() == 0 {
				continue
			}
			for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				notFiniteCase(t, d, ex, k, v)
				cases++
			}
		}
		return cases
	})
}

// notFiniteCase runs ex with v in the middle of input k.
func notFiniteCase(t *testing.T, d *op.Def, ex example, k int, v float64) {
	t.Helper()
	with := func(dt dtype.DType) (*trial, *op.Call, error) {
		tr := newTrial(d, ex, dt)
		put(tr.in[k], tr.in[k].Numel()/2, v)
		c, err := tr.run(t)
		return tr, c, err
	}
	_, want, errWant := with(dtype.Float64)
	tr, got, errGot := with(dtype.Float32)
	if (errWant == nil) != (errGot == nil) {
		t.Errorf("%v with %v in input %d: error %v, of float64 %v", tr, v, k, errGot, errWant)
		return
	}
	if errWant != nil || ex.inexact != "" || strings.HasPrefix(d.Name, "fft_") {
		return // where in a row a transform spreads what is not finite, its algorithm says: float32 has another
	}
	for r, y := range got.Out {
		if !y.Shape().Equal(want.Out[r].Shape()) {
			continue // it depends on the elements
		}
		ref := list(want.Out[r])
		for i, g := range list(y) {
			if class(g) != class(ref[i]) {
				t.Errorf("%v with %v in input %d: result %d, element %d is %v, of float64 %v", tr, v, k, r, i, g, ref[i])
				break
			}
		}
	}
}

package optest

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"tpsh/runtime/dtype"
	"tpsh/runtime/grad"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

// complexNames are the operators that take complex tensors. What is not here
// refuses them.
var complexNames = set2("reshape", "flatten", "squeeze", "unsqueeze", "select", "narrow", "slice", "getitem", "at", "split", "chunk", "transpose",
	"permute", "T", "expand", "contiguous", "clone", "settle", "neg", "exp", "log", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "sinh", "cosh",
	"tanh", "sigmoid", "sign", "add", "sub", "mul", "div", "add_", "sub_", "mul_", "div_", "matmul", "dot", "outer", "pow", "linear", "addmm", "einsum",
	"eq", "ne", "equal", "allclose", "isnan", "isfinite", "abs", "norm", "any", "all", "var", "std", "prod", "cat", "stack", "sum", "mean", "cumsum",
	"cumsum_back", "repeat", "flip", "roll", "tril", "triu", "index_select", "index_spread", "gather", "index", "masked_select", "scatter_add", "scatter_put",
	"index_copy", "index_put", "setitem", "masked_fill", "where", "copy", "zero", "fill", "window_get", "window_put", "combine", "copy_", "zero_",
	"fill_", "setitem_", "index_put_", "combine_", "pad", "nonzero", "to", "zeros", "ones", "empty", "full", "zeros_like", "ones_like", "empty_like",
	"full_like", "rand", "randn", "rand_like", "randn_like", "log2", "log10", "tan", "matrix_inverse", "matrix_solve", "matrix_exp", "matrix_triangular",
	"matrix_cholesky", "matrix_qr", "matrix_svd", "matrix_eigh", "matrix_svdvals", "matrix_eigvalsh", "matrix_lu", "matrix_info", "matrix_reflectors", "matrix_eig", "matrix_eigvals", "log_det", "lattice_view", "region_get", "region_set", "region_spread")

// An operator that takes complex tensors makes of real numbers in them what it
// makes of the numbers; every other refuses with an *op.ArgError of its own.
func TestTableComplex(t *testing.T) {
	eachExample(t, func(t *testing.T, d *op.Def, ex example, dt dtype.DType) int {
		if dt != dtype.Float64 || ofRegions[d.Name] || d.Name == "full" { // the examples of full ask for real dtypes
			return 0
		}
		tr, real := newTrial(d, ex, dt), newTrial(d, ex, dt)
		some := false
		for i, in := range ex.in {
			if !in.fixed && tr.in[i] != nil && !tr.in[i].Weak() {
				tr.in[i], some = asComplex(t, tr.in[i]), true
			}
		}
		if !some {
			return 0
		}
		out, err := applyRecorded(tr)
		var bad *op.ArgError
		switch {
		case err != nil && !errors.As(err, &bad):
			t.Errorf("%v: got error %v, want an *op.ArgError", tr, err)
		case err != nil && complexNames[d.Name]:
			t.Errorf("%v: got error %v, want a result", tr, err)
		case err == nil && !complexNames[d.Name]:
			t.Errorf("%v: got a result, want a refusal", tr)
		}
		if err == nil && ex.inexact == "" && d.Name != "sort" && d.Name != "matrix_svd" && d.Name != "matrix_eig" /* whose vectors may be turned */ {
			compareComplex(t, tr, out, real)
		}
		return 1
	})
}

// applyRecorded is apply through a recorder, which makes complex forms.
func applyRecorded(tr *trial) (out []*tensor.Tensor, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return grad.New(newCtx()).Apply(tr.d, tr.in, tr.args)
}

// asComplex returns x as a complex tensor.
func asComplex(t *testing.T, x *tensor.Tensor) *tensor.Tensor {
	elems := make([]complex128, 0, x.Numel())
	for _, v := range list(x) {
		elems = append(elems, complex(v, 0))
	}
	y, err := op.FromComplex(newCtx(), dtype.Complex128, x.Shape(), elems)
	if err != nil {
		t.Fatal(err)
	}
	return y
}

// compareComplex compares out, of complex inputs, with what the same numbers as
// real ones give: where that is a number, there is no imaginary part.
func compareComplex(t *testing.T, tr *trial, out []*tensor.Tensor, real *trial) {
	t.Helper()
	want, err := applyRecorded(real)
	if err != nil {
		t.Errorf("%v: %v of real numbers", tr, err)
		return
	}
	for i, y := range out {
		if !y.Shape().Equal(want[i].Shape()) {
			t.Errorf("%v: result %d has shape %v, want %v", tr, i, y.Shape(), want[i].Shape())
			continue
		}
		re, im := list(want[i]), make([]float64, want[i].Numel())
		got := [2][]float64{op.Float64s(partOf(t, y, 0)), im}
		if y.DType().IsComplex() {
			got[1] = op.Float64s(partOf(t, y, 1))
		}
		for k, v := range re {
			if class(v) != "finite" {
				continue
			}
			if math.Abs(got[0][k]-v) > 1e-12*(1+math.Abs(v)) || math.Abs(got[1][k]) > 1e-12*(1+math.Abs(v)) {
				t.Errorf("%v: result %d, element %d is %v + %vi, want %v", tr, i, k, got[0][k], got[1][k], v)
				break
			}
		}
	}
}

// partOf returns a part of y, or y if it is real.
func partOf(t *testing.T, y *tensor.Tensor, i int) *tensor.Tensor {
	if !y.DType().IsComplex() {
		return y
	}
	r := grad.New(newCtx())
	v, err := r.Apply(op.Lookup("view_as_real"), []*tensor.Tensor{y}, nil)
	if err == nil {
		v, err = r.Apply(op.Lookup("select"), v, []op.Arg{op.Int1(-1), op.Int1(i)})
	}
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

// The views between complex tensors and their parts share storage, of any strides.
func TestComplexViews(t *testing.T) {
	r := grad.New(newCtx())
	do := func(name string, x *tensor.Tensor, args ...op.Arg) (*tensor.Tensor, error) {
		out, err := r.Apply(op.Lookup(name), []*tensor.Tensor{x}, args)
		if err != nil {
			return nil, err
		}
		return out[0], nil
	}
	x := asComplex(t, newTrial(op.Lookup("exp"), call(values(3, 4)), dtype.Float64).in[0])
	turned, _ := do("T", x)
	part, _ := do("narrow", turned, op.Int1(0), op.Int1(1), op.Int1(2))
	v, err := do("view_as_real", part)
	if err != nil || v.Buffer() != x.Buffer() || !v.Shape().Equal([]int{2, 3, 2}) {
		t.Fatalf("view_as_real of a part: %v, %v", v, err)
	}
	back, err := do("view_as_complex", v)
	if err != nil || back.Buffer() != x.Buffer() || tensor.Format(back) != tensor.Format(part) {
		t.Fatalf("view_as_complex of that: %v, %v, want %v", back, err, part)
	}
	odd, _ := do("transpose", v, op.Int1(0), op.Int1(2))
	if _, err := do("view_as_complex", odd); err == nil {
		t.Error("view_as_complex of parts that do not lie side by side: no error")
	}
}

package optest

import (
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
	"tpsh/runtime/tensor"
)

func TestMatmul(t *testing.T) {
	a := counting(dtype.Float32, 2, 3)
	b := counting(dtype.Float32, 3, 2)
	v := row(dtype.Float32, 1, 10, 100)
	batch := counting(dtype.Int64, 2, 2, 3)
	testCalls(t, []callTest{
		{of("matmul", a, b), "float32(2, 2)[10 13 28 40]"},
		{of("matmul", a, v), "float32(2,)[210 543]"},
		{of("matmul", v, b), "float32(2,)[420 531]"},
		{of("matmul", v, v), "float32()[10101]"},
		{of("matmul", batch, counting(dtype.Int64, 3, 2)), "int64(2, 2, 2)[10 13 28 40 46 67 64 94]"},
		{of("matmul", counting(dtype.Int64, 3), counting(dtype.Int64, 2, 3, 1)), "int64(2, 1)[5 14]"},
		{of("matmul", counting(dtype.Int64, 2, 1, 1, 2), counting(dtype.Int64, 3, 2, 1)), "int64(2, 3, 1, 1)[1 3 5 3 13 23]"},
		{of("matmul", counting(dtype.Uint8, 1, 2), holding(dtype.Uint8, []int{2, 1}, 9, 255)), "uint8(1, 1)[255]"},
		{of("matmul", holding(dtype.Uint8, []int{1, 1}, 16), holding(dtype.Uint8, []int{1, 1}, 17)), "uint8(1, 1)[16]"},
		{of("matmul", batch, row(dtype.Float16, 1, 1, 1)), "float16(2, 2)[3 12 21 30]"},
		{of("matmul", row(dtype.BFloat16, 256, 1, 1), row(dtype.BFloat16, 1, 1, 1)), "bfloat16()[258]"},
		{of("matmul", counting(dtype.Float32, 2, 0), counting(dtype.Float32, 0, 3)), "float32(2, 3)[0 0 0 0 0 0]"},
		{of("matmul", counting(dtype.Float32, 0, 2), b), `matmul: for parameter "other": got float32[3, 2], want float32[2, 2] (inner sizes differ: x is float32[0, 2])`},
		{of("matmul", counting(dtype.Float32, 0, 3), b), "float32(0, 2)[]"},
		{of("matmul", counting(dtype.Float32, 0, 2, 3), b), "float32(0, 2, 2)[]"},
		{of("matmul", a, a), `matmul: for parameter "other": got float32[2, 3], want float32[3, 3] (inner sizes differ: x is float32[2, 3])`},
		{of("matmul", a, row(dtype.Float32, 1)), `matmul: for parameter "other": got float32[1], want float32[3] (inner sizes differ: x is float32[2, 3])`},
		{of("matmul", batch, counting(dtype.Int64, 3, 3, 2)), `matmul: for parameter "other": got int64[3, 3, 2], want batch dims that broadcast with (2,) (x is int64[2, 2, 3])`},
		{of("matmul", a, counting(dtype.Float32)), `matmul: for parameter "other": got float32[], want at least one dim (mul multiplies by a number)`},
		{of("matmul", a, counting(dtype.Bool, 3)), `matmul: for parameter "other": got bool[3], want a tensor of numbers (no arithmetic on bools)`},
		{of("dot", v, v), "float32()[10101]"},
		{of("dot", v, row(dtype.Float32, 1)), `dot: for parameter "other": got float32[1], want 3 elements (as many as x)`},
		{of("dot", a, v), `dot: for parameter "x": got float32[2, 3], want a tensor of one dim`},
		{of("outer", v, row(dtype.Int32, 2, 3)), "float32(3, 2)[2 3 20 30 200 300]"},
		{of("outer", v, row(dtype.Int32)), "float32(3, 0)[]"},
		{of("addmm", row(dtype.Float32, 1, 2), a, b), "float32(2, 2)[11 15 29 42]"},
		{of("addmm", row(dtype.Float32, math.NaN(), 2), a, b, op.Float1(0), op.Float1(2)), "float32(2, 2)[20 26 56 80]"},
		{of("addmm", counting(dtype.Int64), counting(dtype.Int64, 1, 2), counting(dtype.Int64, 2, 1), op.Float1(1), op.Float1(-3)), "int64(1, 1)[-3]"},
		{of("addmm", counting(dtype.Int64), counting(dtype.Int64, 1, 2), counting(dtype.Int64, 2, 1), op.Float1(0.5)), `addmm: for parameter "beta": got 0.5, want an int (the tensors are of int64)`},
		{of("addmm", row(dtype.Float32, 1, 2, 3), a, b), `addmm: for parameter "c": got float32[3], want a shape that broadcasts to (2, 2)`},
		{of("addmm", row(dtype.Float32, 1, 2), a, a), `addmm: for parameter "b": got float32[2, 3], want float32[3, n] (a is float32[2, 3])`},
		{of("addmm", holding(dtype.BFloat16, nil, 256), row2(dtype.BFloat16, 1, 1), column2(dtype.BFloat16, 1, 1)), "bfloat16(1, 1)[258]"},
	})
}

func row2(dt dtype.DType, elems ...float64) *tensor.Tensor {
	return holding(dt, []int{1, len(elems)}, elems...)
}

func column2(dt dtype.DType, elems ...float64) *tensor.Tensor {
	return holding(dt, []int{len(elems), 1}, elems...)
}

// The product of views is that of their contiguous copies, bit for bit.
func TestMatmulOfAnyStrides(t *testing.T) {
	thirds := func(sizes ...int) *tensor.Tensor {
		return ok(applied("div", counting(dtype.Float32, sizes...), 3.0))[0]
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := thirds(2, 3, 4), thirds(2, 4, 5)
		for range rapid.IntRange(0, 3).Draw(t, "views of a") {
			a = drawView(t, a)
		}
		for range rapid.IntRange(0, 3).Draw(t, "views of b") {
			b = drawView(t, b)
		}
		got := result("matmul", a, b)
		want := result("matmul", ok(applied("contiguous", a))[0], ok(applied("contiguous", b))[0])
		if got != want {
			t.Fatalf("%v %v by %v %v: got %s, want %s", a.Shape(), a.Strides(), b.Shape(), b.Strides(), got, want)
		}
	})
}

func TestEinsum(t *testing.T) {
	a, b := counting(dtype.Int64, 2, 3), counting(dtype.Int64, 3, 2)
	square := counting(dtype.Int64, 3, 3)
	cube := counting(dtype.Int64, 2, 2, 3)
	spec := func(s string, in ...any) []any { return append(of("einsum", op.Str1(s)), in...) }
	testCalls(t, []callTest{
		{spec("ij,jk->ik", a, b), "int64(2, 2)[10 13 28 40]"},
		{spec("ij, jk", a, b), "int64(2, 2)[10 13 28 40]"},
		{spec("bij,jk->bik", cube, b), "int64(2, 2, 2)[10 13 28 40 46 67 64 94]"},
		{spec("...ij,jk->...ik", cube, b), "int64(2, 2, 2)[10 13 28 40 46 67 64 94]"},
		{spec("...ij,...jk", cube, b), "int64(2, 2, 2)[10 13 28 40 46 67 64 94]"},
		{spec("ij->ji", a), "int64(3, 2)[0 3 1 4 2 5]"},
		{spec("ba", a), "int64(3, 2)[0 3 1 4 2 5]"},
		{spec("ij->", a), "int64()[15]"},
		{spec("ii->i", square), "int64(3,)[0 4 8]"},
		{spec("ii", square), "int64()[12]"},
		{spec("i,i->", row(dtype.Int64, 1, 2), row(dtype.Int64, 3, 4)), "int64()[11]"},
		{spec("i,j->ij", row(dtype.Int64, 1, 2), row(dtype.Int64, 3, 4)), "int64(2, 2)[3 4 6 8]"},
		{spec("ij,ij->ij", a, a), "int64(2, 3)[0 1 4 9 16 25]"},
		{spec("i,ij->j", row(dtype.Int64, 2), a), "int64(3,)[6 10 14]"},
		{spec("ij,kl->", a, b), "int64()[225]"},
		{spec("ij,jk,ki->", a, b, holding(dtype.Int64, []int{2, 2}, 1, 0, 0, 1)), "int64()[50]"},
		{spec("...,...->...", row(dtype.Int64, 2, 3), counting(dtype.Int64, 2, 1)), "int64(2, 2)[0 0 2 3]"},
		{spec("i...->...", a), "int64(3,)[3 5 7]"},
		{spec("ij,jk->ik", counting(dtype.Float32, 2, 0), counting(dtype.Float16, 0, 1)), "float32(2, 1)[0 0]"},
		{spec("i,i,i->", row(dtype.BFloat16, 1.0078125), row(dtype.BFloat16, 1.0078125), row(dtype.BFloat16, 1)), "bfloat16()[1.015625]"},
		{spec("ij,jk->ik", a), `einsum: for parameter "spec": got "ij,jk->ik", want terms for 1 tensors`},
		{spec("ij,jk->ik", a, a), `einsum: for parameter "tensors": got int64[2, 3] at index 1, want a size of 3 in dim 0 (spec "ij,jk->ik")`},
		{spec("ijk->i", a), `einsum: for parameter "tensors": got int64[2, 3] at index 0, want 3 dims (spec "ijk->i")`},
		{spec("ii->i", a), `einsum: for parameter "tensors": got int64[2, 3] at index 0, want a size of 2 in dim 1 (spec "ii->i")`},
		{spec("ij->ik", a), `einsum: for parameter "spec": got "ij->ik", want "k" once in the result, and in a tensor`},
		{spec("ij->ii", a), `einsum: for parameter "spec": got "ij->ii", want "i" once in the result, and in a tensor`},
		{spec("i1->i", a), `einsum: for parameter "spec": got "i1->i", want at most 52 letters, ",", "->", and "..." once in a term`},
		{spec("ij->i->j", a), `einsum: for parameter "spec": got "ij->i->j", want letters, and "..." once, in the result`},
		{spec("i", counting(dtype.Bool, 1)), `einsum: for parameter "tensors": got bool[1] at index 0, want a tensor of numbers (no arithmetic on bools)`},
		{spec(""), `einsum: for parameter "tensors": got no tensor, want at least one tensor`},
	})
}

// einsumLoop is the sum of products over all values of the letters.
func einsumLoop(in []string, out string, size map[byte]int, x []*tensor.Tensor) string {
	var letters []byte
	for _, l := range []byte("abcd") {
		if _, used := size[l]; used {
			letters = append(letters, l)
		}
	}
	at := map[byte]int{}
	position := func(term string, sizes []int) int {
		i := 0
		for d := range term {
			i = i*sizes[d] + at[term[d]]
		}
		return i
	}
	var sizes []int
	for i := range out {
		sizes = append(sizes, size[out[i]])
	}
	sums := make([]float64, counting(dtype.Bool, sizes...).Numel())
	var walk func(k int)
	walk = func(k int) {
		if k < len(letters) {
			for at[letters[k]] = 0; at[letters[k]] < size[letters[k]]; at[letters[k]]++ {
				walk(k + 1)
			}
			return
		}
		product := 1.0
		for i, term := range in {
			product *= list(x[i])[position(term, x[i].Shape())]
		}
		sums[position(out, sizes)] += product
	}
	walk(0)
	return show(holding(dtype.Int64, sizes, sums...))
}

func TestEinsumLikeLoops(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := map[byte]int{}
		var in []string
		var x []*tensor.Tensor
		for range rapid.IntRange(1, 3).Draw(t, "tensors") {
			term := rapid.StringOfN(rapid.RuneFrom([]rune("abcd")), 0, 3, -1).Draw(t, "term")
			var sizes []int
			for _, l := range []byte(term) {
				if size[l] == 0 {
					size[l] = rapid.IntRange(1, 3).Draw(t, "size")
				}
				sizes = append(sizes, size[l])
			}
			in, x = append(in, term), append(x, counting(dtype.Int64, sizes...))
		}
		out, text := "", ""
		for i, term := range in {
			text += []string{",", ""}[b2i(i == 0)] + term
		}
		for _, l := range rapid.Permutation([]byte("abcd")).Draw(t, "order") {
			if size[l] > 0 && rapid.Bool().Draw(t, "kept") {
				out += string(l)
			}
		}
		args := of("einsum", op.Str1(text+"->"+out))
		for _, y := range x {
			args = append(args, y)
		}
		if got, want := result(args...), einsumLoop(in, out, size, x); got != want {
			t.Fatalf("%s: got %s, want %s", fmt.Sprint(args[1]), got, want)
		}
	})
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

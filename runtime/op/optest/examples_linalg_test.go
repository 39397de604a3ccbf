package optest

import (
	"tpsh/runtime/dtype"
	"tpsh/runtime/op"
)

func init() {
	f, s := op.Float1, op.Str1

	addExamples("distances",
		call(values(3, 4), values(2, 4), op.Bool1(false)),
		call(values(2, 3, 4), values(2, 5, 4), op.Bool1(true)))
	addExamples("matmul",
		call(values(2, 3), values(3, 4)),
		call(values(5, 2, 3), values(3, 4)),
		call(values(2, 3), values(5, 3, 4)),
		call(values(5, 1, 2, 3), values(6, 3, 4)),
		call(values(3), values(3)),
		call(values(2, 3), values(3)),
		call(values(3), values(3, 4)),
		call(values(3), values(5, 3, 4)),
		call(values(5, 2, 3), values(3)))
	addExamples("rows_product", call(values(5, 2, 3), values(5, 2, 4)), call(values(3), values(4)), call(values(2, 3), values(2, 4)))
	many, two := op.IntsN, func(v int) op.Arg { return op.IntsN(v, v) }
	addExamples("convolve",
		call(values(2, 3, 6, 5), values(4, 3, 3, 2), many(3, 5), many(2, 1), many(1, 0), two(1), op.Int1(1)),
		call(values(2, 4, 6), values(6, 2, 3), many(6), many(1), many(1), many(1), op.Int1(2)),
		call(values(2, 4, 5, 5), values(4, 1, 3, 3), two(3), two(2), two(1), two(1), op.Int1(0)),
		call(values(1, 2, 3, 2, 5), values(3, 2, 2, 1, 2), many(2, 2, 3), many(1, 1, 1), many(0, 0, 0), many(1, 1, 2), op.Int1(1)))
	addExamples("convolve_data",
		call(values(2, 4, 3, 5), values(4, 3, 3, 2), many(6, 5), many(2, 1), many(1, 0), two(1), op.Int1(1)),
		call(values(2, 6, 6), values(6, 2, 3), many(6), many(1), many(1), many(1), op.Int1(2)),
		call(values(2, 4, 3, 3), values(4, 1, 3, 3), two(5), two(2), two(1), two(1), op.Int1(0)))
	addExamples("convolve_weight",
		call(values(2, 3, 6, 5), values(2, 4, 3, 5), many(3, 2), many(2, 1), many(1, 0), two(1), op.Int1(1)),
		call(values(2, 4, 6), values(2, 6, 6), many(3), many(1), many(1), many(1), op.Int1(2)),
		call(values(2, 4, 5, 5), values(2, 4, 3, 3), two(3), two(2), two(1), two(1), op.Int1(0)))
	for _, name := range []string{"matrix_inverse", "log_det", "matrix_exp"} {
		addExamples(name, call(dominant(2, 3, 3)), call(dominant(3, 3)))
	}
	addExamples("matrix_solve", call(dominant(2, 3, 3), values(2, 3, 2)), call(dominant(3, 3), values(3, 1)))
	addExamples("matrix_lstsq", call(dominant(2, 3, 3), values(2, 3, 2), op.Float1(1e-12)), call(dominant(4, 3), values(4, 2), op.Float1(1e-12)), call(dominant(2, 3), values(2, 1), op.Float1(1e-12)))
	addExamples("matrix_lu", call(dominant(3, 3)), call(dominant(2, 2, 3)), call(dominant(4, 3)))
	addExamples("matrix_pivots", call(literal(dtype.Float64, []int{1, 2}, 3, 2), op.Int1(3)))
	addExamples("matrix_info", call(dominant(3, 3), op.Bool1(false)), call(dominant(3, 3), op.Bool1(true)))
	addExamples("matrix_triangular",
		call(dominant(2, 3, 3), values(2, 3, 2), op.Bool1(true), op.Bool1(false)),
		call(dominant(3, 3), values(3, 2), op.Bool1(false), op.Bool1(true)))
	addExamples("matrix_reflectors", call(dominant(4, 3)), call(dominant(2, 3, 4)))
	addExamples("matrix_eig", call(dominant(3, 3)).notSmooth("vectors may be turned"))
	addExamples("matrix_eigvals", call(dominant(3, 3)), call(dominant(2, 2, 2)))
	addExamples("complex_log_det", call(dominant(3, 3), values(3, 3)), call(dominant(2, 2, 2), values(2, 2, 2)))
	addExamples("complex_svd", call(dominant(3, 2), values(3, 2)).notSmooth("vectors may be turned"), call(dominant(2, 3), values(2, 3)).notSmooth("vectors may be turned"))
	addExamples("complex_eigh", call(dominant(3, 3), values(3, 3)).notSmooth("it reads the lower triangle, and vectors may be turned"))
	addExamples("complex_lu", call(dominant(3, 3), values(3, 3)), call(dominant(2, 2, 3), values(2, 2, 3)), call(dominant(4, 3), values(4, 3)))
	addExamples("complex_info", call(dominant(3, 3), values(3, 3), op.Bool1(false)), call(dominant(3, 3), values(3, 3), op.Bool1(true)))
	addExamples("complex_reflectors", call(dominant(4, 3), values(4, 3)), call(dominant(2, 3, 4), values(2, 3, 4)))
	addExamples("complex_eig", call(dominant(3, 3), values(3, 3)).notSmooth("vectors may be turned"))
	addExamples("complex_eigvals", call(dominant(3, 3), values(3, 3)), call(dominant(2, 2, 2), values(2, 2, 2)))
	addExamples("matrix_ldl", call(dominant(3, 3), op.Bool1(true)), call(dominant(2, 2, 2), op.Bool1(false)))
	addExamples("complex_ldl", call(dominant(3, 3), values(3, 3), op.Bool1(true), op.Bool1(true)), call(dominant(2, 2, 2), values(2, 2, 2), op.Bool1(false), op.None))
	pivots := literal(dtype.Float64, []int{3, 1}, 2, 2, 3)
	addExamples("matrix_ldl_solve", call(dominant(3, 3), values(3, 2), pivots))
	addExamples("complex_ldl_solve", call(dominant(3, 3), values(3, 2), values(3, 3), values(3, 2), pivots, op.Bool1(true)))
	addExamples("matrix_cholesky", call(dominant(3, 3)).notSmooth("it reads the lower triangle, and its gradient is symmetric"))
	for _, name := range []string{"matrix_eigh", "matrix_eigvalsh"} {
		for _, upper := range []bool{false, true} {
			addExamples(name, call(dominant(3, 3), op.Bool1(upper)).notSmooth("it reads a triangle, and its gradient is symmetric"))
		}
	}
	for _, name := range []string{"matrix_qr", "matrix_svd", "matrix_svdvals"} {
		addExamples(name, call(dominant(3, 2)), call(dominant(2, 3)), call(dominant(2, 3, 3)))
	}
	addExamples("dot", call(values(5), values(5)))
	addExamples("outer", call(values(3), values(4)))
	addExamples("addmm",
		call(values(4), values(2, 3), values(3, 4)),
		call(values(2, 4), values(2, 3), values(3, 4), f(2), f(-3)),
		call(values(2, 1), values(2, 3), values(3, 4), f(0), f(1)))
	addExamples("einsum",
		call(s("ij,jk->ik"), values(2, 3), values(3, 4)),
		call(s("bij,bjk->bik"), values(5, 2, 3), values(5, 3, 4)),
		call(s("ij,jk,kl->il"), values(2, 3), values(3, 4), values(4, 5)),
		call(s("ii->i"), values(3, 3)),
		call(s("ii,ij->"), values(3, 3), values(3, 2)),
		call(s("ij->j"), values(2, 3)),
		call(s("i,j"), values(2), values(3)),
		call(s("...i,...i->..."), values(2, 3), values(4, 1, 3)),
		call(s("ij,kl->il"), values(2, 3), values(4, 5)))
}

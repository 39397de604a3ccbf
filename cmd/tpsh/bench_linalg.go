package main

import "fmt"

// linalgSize is the number of rows and columns of the matrices of linalgCases.
const linalgSize = 512

// linalgCalls are the functions of linalg that are measured, of a matrix x, a symmetric
// positive definite one s and right sides b.
var linalgCalls = []struct{ name, call string }{
	{"solve", "linalg.solve(x, b)"},
	{"inv", "linalg.inv(x)"},
	{"det", "linalg.det(x)"},
	{"slogdet", "linalg.slogdet(x)"},
	{"cholesky", "linalg.cholesky(s)"},
	{"qr", "linalg.qr(x)"},
	{"lstsq", "linalg.lstsq(x, b)"},
	{"pinv", "linalg.pinv(x)"},
	{"svd", "linalg.svd(x)"},
	{"svdvals", "linalg.svdvals(x)"},
	{"eigh", "linalg.eigh(s)"},
	{"eigvalsh", "linalg.eigvalsh(s)"},
	{"eig", "linalg.eig(x)"},
	{"eigvals", "linalg.eigvals(x)"},
	{"matrix_exp", "linalg.matrix_exp(x / 64)"},
	{"matrix_power", "linalg.matrix_power(x, 5)"},
	{"norm", "linalg.norm(x)"},
	{"norm2", "linalg.norm(x, 2)"},
	{"cond", "linalg.cond(x)"},
}

// linalgCases are functions of one matrix in float64, on one rank.
func (b *bench) linalgCases() []*benchCase {
	const n = linalgSize
	of := fmt.Sprintf("x, b = randn(%d, %d, dtype=float64), randn(%d, %d, dtype=float64)\ns = x @ x.T + %d * eye(%d, dtype=float64)", n, n, n, n, n, n)
	var all []*benchCase
	for _, c := range linalgCalls {
		all = append(all, &benchCase{suite: "linalg", name: "linalg/" + c.name, ranks: 1, before: of, body: c.call, cost: cost{bytes: 8 * n * n}})
	}
	return all
}
